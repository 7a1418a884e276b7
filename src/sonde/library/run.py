"""A run: a script traced in a thread of its own, whose events come out of an iterator."""

from __future__ import annotations

import threading
import warnings
import weakref
from collections.abc import AsyncIterator, Callable, Iterator, Mapping

from sonde.library import arrow_extra, arrow_runs, tracing
from sonde.library.aggregations import LiveAggregation, NamedAggregations
from sonde.library.awaited_events import AwaitedEvents
from sonde.library.errors import Error
from sonde.library.event_queue import EventQueue
from sonde.library.events import Event, Exit, Loss, Record
from sonde.library.gate import Gate
from sonde.library.stop import Stop
from sonde.library.waking import Waking
from sonde.typed import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from sonde.library.foreground import Ended
    from sonde.library.request import Begun, Publish, Put, Request


_BEGUN = object()


class TraceFunction(Protocol):
    """Traces to the end, in the run's thread."""

    def __call__(self, stop: Stop, put: Put, publish: Publish, /) -> Ended: ...


def _method(reference: weakref.WeakMethod[Callable[[], None]]) -> Callable[[], None]:
    """The method, while there is its object."""

    def call() -> None:
        found = reference()
        if found is not None:
            found()

    return call


class Run:
    """A context manager: all is attached when its block begins, and detached when it ends, however it ends.

    Iterate over it, with `for` or `async for`, in any thread; without that, what it counts is in `aggregations`. Behind
    a block that Ctrl-C has left, what has come since, such as END's records, can be iterated over yet.
    `to_arrow`, `to_pandas` and readers of Arrow take what comes as a table. `losses` are those so far. `exit_status`,
    the argument of exit(), 0 without one, is None while the run goes on; `command_status` is the command's as wait(2)
    gives it, None unless it has ended by itself.
    """

    def __init__(self, duration: float | None, trace: TraceFunction) -> None:
        self.losses: list[Loss] = []
        self.exit_status: int | None = None
        self.command_status: int | None = None
        self._aggregations: Mapping[str, LiveAggregation] = NamedAggregations()
        self._begun: Begun | None = None
        self._trace_to_end = trace
        self._waking = Waking()
        # A run that nobody has begun goes as soon as nobody has it, and says so (`__del__`).
        self._stop = Stop(duration, _method(weakref.WeakMethod(self._keep)), self._waking)
        self._events = EventQueue(self._stop, self._waking)
        self._in_tasks: AwaitedEvents | None = None
        self._failure: Exception | None = None
        self._thread: threading.Thread | None = None
        self._over = Gate()

    def __enter__(self) -> Self:
        thread = self._prepare()
        try:
            thread.start()
            self._stop.begun.wait()
            self._raise_failure()
        except BaseException:
            # Also Ctrl-C, while it is compiled: nobody leaves the block then.
            self._abandon()
            if thread.ident is not None:
                self._over.wait()
            else:
                self._stop.finish()
            raise
        return self

    async def __aenter__(self) -> Self:
        thread = self._prepare()
        try:
            thread.start()
            await self._waking.until(self._stop.begun.is_open)
            self._raise_failure()
        except BaseException:
            self._abandon()
            if thread.ident is not None:
                await self._waking.until(self._over.is_open)
            else:
                self._stop.finish()
            raise
        return self

    def _prepare(self) -> threading.Thread:
        if self._thread is not None:
            raise RuntimeError("a run begins once; the script can be run again")
        self._stop.open()
        self._thread = threading.Thread(target=self._trace, name="sonde", daemon=True)
        return self._thread

    def _abandon(self) -> None:
        self._events.abandon()
        self._stop.stop()

    def __del__(self) -> None:
        """Of a run that never began: nothing was traced, whatever whoever wrote it thinks."""
        if getattr(self, "_thread", _BEGUN) is None:
            warnings.warn("a run begins with its block, and this one never began: with sonde.trace(...) as run:",
                          RuntimeWarning, stacklevel=2)  # fmt: skip

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, KeyboardInterrupt):
            self._stop.stop()
        else:
            self._abandon()
        assert self._thread is not None
        self._thread.join()
        if error is None:
            self._raise_failure()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.stop()
        if not isinstance(error, KeyboardInterrupt):
            self._abandon()
        await self._waking.until(self._over.is_open)
        self.__exit__(kind, error, trace)

    @property
    def aggregations(self) -> Mapping[str, LiveAggregation]:
        """By their names, `_` that without one. Raises RuntimeError before the run begins."""
        if self._thread is None:
            raise RuntimeError("aggregations of a run are there in its `with` block, and behind it")
        return self._aggregations

    @property
    def begun(self) -> Begun | None:
        """What is known of a run that has begun; None of one that gives text without records."""
        return self._begun

    def stop(self) -> None:
        """Ask for the end: END fires, and the iterator ends behind the last event. Any thread may."""
        self._stop.stop()

    def wait(self) -> int:
        """Until the run ends by itself, without its events; its exit status. Warns where there were records."""
        passed = 0
        for events in self.batches():
            passed += sum(isinstance(each, Record) for each in events)
        if passed:
            records = "1 record" if passed == 1 else f"{passed:,} records"
            warnings.warn(
                f"wait() passed over {records}: iterate over the run, or have it print them (output=sys.stdout)",
                stacklevel=2,
            )
        return self.exit_status or 0

    def batches(self) -> Iterator[list[Event]]:
        """The events in the lists in which they come."""
        while (found := self._next_list()) is not None:
            yield found

    def to_arrow(self) -> Any:
        """What is still to come, up to the end of the run, as a pyarrow.Table (docs/data.md). Raises Error where
        pyarrow is missing."""
        return self._tables().read_all()

    def to_pandas(self) -> Any:
        """The same as a pandas.DataFrame."""
        return arrow_extra.frame_of(self.to_arrow())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The same for any reader of Arrow's C stream interface, such as polars and duckdb, while it comes."""
        return self._tables().__arrow_c_stream__(requested_schema)

    def _tables(self) -> Any:
        """A pyarrow.RecordBatchReader."""
        arrow_extra.require_arrow()

        self._require_begun()
        if self._begun is None:
            raise Error("this run has no records: what it prints is text")
        return arrow_runs.tables_of(self.batches(), self._begun)

    def __iter__(self) -> Iterator[Event]:
        for events in self.batches():
            current = iter(events)
            try:
                yield from current
            finally:
                # Of a loop that was left in the middle: another goes on there.
                if rest := [*current]:
                    self._events.give_back(rest)

    def __aiter__(self) -> AsyncIterator[Event]:
        if self._in_tasks is None:
            self._in_tasks = AwaitedEvents(self._next_list_in_task)
        return self._in_tasks

    def _next_list(self) -> list[Event] | None:
        self._require_begun()
        found = self._events.get()
        if found is None:
            self._raise_failure()
        return found

    async def _next_list_in_task(self) -> list[Event] | None:
        self._require_begun()
        found = await self._events.get_in_task()
        if found is None:
            self._raise_failure()
        return found

    def _require_begun(self) -> None:
        if self._thread is None:
            raise RuntimeError("a run is iterated over in its `with` block")

    def _raise_failure(self) -> None:
        failure, self._failure = self._failure, None
        if isinstance(failure, Error):
            # What is wrong is told by its message: how the compiler came to it is nothing to the caller.
            raise failure.with_traceback(None) from None
        if failure is not None:
            raise failure

    # In the run's own thread.

    def _trace(self) -> None:
        try:
            ended = self._trace_to_end(self._stop, self._put, self._publish)
            self.command_status = next(iter(ended.statuses.values()), None)
            self.exit_status = ended.status
            self._put([Exit(ended.status)])
        except Exception as error:
            # Whoever has begun the run, or iterates over it, raises it.
            self._failure = error
        finally:
            self._stop.finish()
            for each in self._aggregations.values():
                each.let_go()
            self._over.open()
            self._events.close()

    def _put(self, events: list[Event]) -> None:
        self.losses += [each for each in events if isinstance(each, Loss)]
        self._events.put(events)

    def _publish(self, begun: Begun) -> None:
        self._aggregations = begun.aggregations
        self._begun = begun

    def _keep(self) -> None:
        """Tracing is about to end: aggregations can be had as they are now."""
        for each in self._aggregations.values():
            each.keep()


def run_of(request: Request) -> Run:
    """A run of a script."""

    def trace(stop: Stop, put: Put, publish: Publish) -> Ended:
        # The compiler and the engines are imported when something is traced.

        try:
            return tracing.trace(request, stop, put, publish)
        finally:
            if request.output is not None:
                request.output.close()

    return Run(request.duration, trace)
