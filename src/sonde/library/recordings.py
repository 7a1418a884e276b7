"""Recordings read back: raw files, and what `sonde record` has written, as the events that they were."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from sonde.consume.consumer import Consumer
from sonde.consume.description import RawFileError
from sonde.consume.options import Options
from sonde.consume.raw import MAGIC, RawBlocks, Replay
from sonde.consume.replaying import SENSELESS, replay
from sonde.formats.perf_data import PerfDataError
from sonde.formats.perf_events import RECORD_SAMPLE
from sonde.library.errors import ScriptError
from sonde.library.event_sink import EventSink
from sonde.library.events import Event, Exit, Message
from sonde.library.values import Values
from sonde.model.options import OptionTable
from sonde.model.probe import Probe
from sonde.model.samples import SampledEvent
from sonde.session.names import Names
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
        yield from self._events()

    def _events(self) -> list[Event]:
        try:
            with open_named_file(self.path) as file:
                return self._read(file)
        except OSError as error:
            raise ScriptError(f"failed to open {self.path}: {error.strerror}") from None
        except (RawFileError, PerfDataError) as error:
            raise ScriptError(f"{self.path}: {error}") from None
        except SENSELESS as error:
            raise ScriptError(f"{self.path} cannot be read: it is damaged: {error}") from None

    def _read(self, file: BinaryIO) -> list[Event]:
        recorded, cut = _opened(file)
        found: list[Event] = []
        names = Names(OptionTable())
        sink = EventSink(recorded.spec, recorded.options, Values(names, recorded.spec.types), found.extend)
        consumer = Consumer(recorded.spec, recorded, sink, Options(), lambda *_: None, None, float("inf"))

        def learn(probes: Sequence[Probe]) -> None:
            consumer.learn(probes)
            sink.learn(probes)

        recorded.learn = learn
        replayed = replay(recorded, consumer)
        sink.close()
        names.close()
        self.exit_status = consumer.exit_status or 0
        damage = replayed.damage or cut()
        return [*found, *([Message(f"{self.path}: {damage}")] if damage else []), Exit(self.exit_status)]


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


def _opened(file: BinaryIO) -> tuple[Replay, Callable[[], str]]:
    """The recording, and what is missing of it, asked at its end."""
    if file.read(len(MAGIC)) == MAGIC:
        file.seek(0)
        blocks = RawBlocks(file)
        return Replay(blocks), lambda: blocks.cut
    from sonde.recording.passed import Passed
    from sonde.recording.reading import RecordedFile

    file.seek(0)
    recorded, passed, unshown = RecordedFile(file), Passed(), _Unshown()
    passed.give_to(unshown, lambda _: None)

    def missing() -> str:
        samples = f"{unshown.count} samples are left out, which `sonde read` shows" if unshown.count else ""
        return "; ".join(filter(None, (recorded.damage, samples)))

    return Replay(recorded, recorded.blocks(passed)), missing


def read(path: str) -> Recording:
    """What a raw file (`--raw`) or a perf.data file (`sonde record`) has. Iterating raises ScriptError."""
    return Recording(path)
