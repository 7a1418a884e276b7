"""Recordings read back: raw files, and what `sonde record` has written, as the events that they were."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress

from sonde.consume.consumer import Consumer
from sonde.consume.recorded import Replay
from sonde.consume.replaying import replay
from sonde.formats.allowance import TOO_LARGE, allowance
from sonde.formats.damage import DamagedError
from sonde.formats.perf_events import RECORD_SAMPLE
from sonde.formats.raw_file import MAGIC, Block, RawBlocks
from sonde.library.errors import ScriptError
from sonde.library.event_queue import EventQueue, Nobody
from sonde.library.event_sink import EventSink
from sonde.library.events import Event, Exit, Message
from sonde.library.given import path_of
from sonde.library.values import Values
from sonde.library.waking import Waking
from sonde.model.named_maps import WAITING
from sonde.model.options import OptionTable
from sonde.model.probe import Probe
from sonde.model.python_functions import NumberedFunction
from sonde.model.samples import SampledEvent
from sonde.recording import passed as recording_passed
from sonde.recording import reading
from sonde.session.names import Names
from sonde.session.tracing import setting, tell_waiting
from sonde.symbols.python.functions import PythonFunctions
from sonde.typed import BinaryIO
from sonde.untrusted import open_named_file


class Recording:
    """An iterator over what was recorded. Addresses have the names that are to be had now. `exit_status` is there at
    the end; what is missing because the file is damaged or cut off is told by a `Message`, as are samples, which are no
    events. The `time` of records is 0, as files of the command have none."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.exit_status: int | None = None

    def __iter__(self) -> Iterator[Event]:
        """The file is read as far as events are asked for, by a thread, which ends with the iteration: who reads tells
        of events as they are found."""
        events = EventQueue(Nobody(), Waking(), 1)
        failures: list[Exception] = []
        thread = threading.Thread(target=self._work, args=(events, failures), name="sonde-read", daemon=True)
        thread.start()
        try:
            while (found := events.get()) is not None:
                yield from found
            for failure in failures:
                raise failure
        finally:
            events.abandon()
            thread.join()

    def _work(self, events: EventQueue, failures: list[Exception]) -> None:
        try:
            with suppress(_AbandonedError):
                self._read_file(events)
        except Exception as error:
            # Whoever iterates raises it.
            failures.append(error)
        finally:
            events.close()

    def _read_file(self, events: EventQueue) -> None:
        try:
            with open_named_file(self.path) as file:
                self._read(file, events)
        except OSError as error:
            raise ScriptError(f"failed to open {self.path}: {error.strerror}") from None
        except DamagedError as error:
            raise ScriptError(f"{self.path}: {error}") from None
        except MemoryError:
            raise ScriptError(f"{self.path}: {TOO_LARGE}") from None

    def _read(self, file: BinaryIO, events: EventQueue) -> None:
        def put(found: list[Event]) -> None:
            events.put(found)
            _require_wanted(events)

        recorded, cut = _opened(file, events)
        options = OptionTable()
        names = Names(options)
        most = allowance(file, file.seek(0, os.SEEK_END))
        sink = EventSink(recorded.spec, recorded.options, Values(names, recorded.spec.types), put, most)
        shown = recorded.options

        functions = PythonFunctions()
        names.show_python(functions.frame)
        consumer = Consumer(
            recorded.spec, recorded, sink, shown, setting(options, shown), None, float("inf"),
            canonical=functions.with_names(names.canonical),
        )  # fmt: skip

        def learn(probes: Sequence[Probe]) -> None:
            consumer.learn(probes)
            sink.learn(probes)

        def learn_functions(found: Sequence[NumberedFunction]) -> None:
            for each in found:
                functions.learn(*each)

        recorded.learn, recorded.learn_functions = learn, learn_functions

        def end(is_whole: bool) -> None:
            if is_whole:
                if recorded.has_map(WAITING):
                    tell_waiting(recorded.spec, recorded.read_map, sink)
                recorded.require_end()

        try:
            replayed = replay(recorded, consumer, end)
            sink.close()
        finally:
            names.close()
        self.exit_status = consumer.exit_status or 0
        damage = replayed.damage or cut()
        put([*([Message(f"{self.path}: {damage}")] if damage else []), Exit(self.exit_status)])


class _AbandonedError(BaseException):
    """Nobody wants the rest."""


def _require_wanted(events: EventQueue) -> None:
    if events.is_abandoned:
        raise _AbandonedError


def _wanted(blocks: Iterable[Block], events: EventQueue) -> Iterator[Block]:
    """The blocks, as long as somebody wants what is in them."""
    for block in blocks:
        _require_wanted(events)
        yield block


class _Unshown:
    """A `SampleSink` that counts what it is given."""

    wants_names = False
    failure = ""

    def __init__(self) -> None:
        self.count = 0

    def begin(self, events: Sequence[SampledEvent]) -> None:
        """Nothing is shown of them."""

    def records(self, cpu: int, data: memoryview) -> None:
        self.count += int.from_bytes(data[:4], "little") == RECORD_SAMPLE

    def end_round(self) -> None:
        """Nothing waits."""

    def finish(self, lost: int) -> None:
        """Nothing waits."""


def _opened(file: BinaryIO, events: EventQueue) -> tuple[Replay, Callable[[], str]]:
    """The recording, and what is missing of it, asked at its end."""
    if file.read(len(MAGIC)) == MAGIC:
        file.seek(0)
        blocks = RawBlocks(file)
        return Replay(blocks, _wanted(blocks, events)), lambda: blocks.cut

    file.seek(0)
    recorded, passed, unshown = reading.RecordedFile(file), recording_passed.Passed(), _Unshown()
    passed.give_to(unshown, lambda _: None)

    def missing() -> str:
        samples = f"{unshown.count} samples are left out, which `sonde read` shows" if unshown.count else ""
        return "; ".join(filter(None, (recorded.damage, samples)))

    return Replay(recorded, _wanted(recorded.blocks(passed), events)), missing


def read(path: str) -> Recording:
    """What a raw file (`--raw`) or a perf.data file (`sonde record`) has. Iterating raises ScriptError."""
    return Recording(path_of(path))
