"""Recordings read back: raw files, and what `sonde record` has written, as the events that they were."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from sonde.consume.consumer import Consumer
from sonde.consume.description import RawFileError
from sonde.consume.options import Options
from sonde.consume.raw import MAGIC, RawBlocks, Replay
from sonde.consume.replaying import SENSELESS, replay
from sonde.formats.perf_data import PerfDataError
from sonde.library.errors import ScriptError
from sonde.library.event_sink import EventSink
from sonde.library.events import Event, Exit, Message
from sonde.library.values import Values
from sonde.model.options import OptionTable
from sonde.model.probe import Probe
from sonde.session.names import Names
from sonde.typed import BinaryIO
from sonde.untrusted import open_named_file


class Recording:
    """An iterator over what was recorded. Addresses have the names that are to be had now. `exit_status` is there at
    the end; what a file says no more because it is damaged or cut off is a `Message`."""

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


def _opened(file: BinaryIO) -> tuple[Replay, Callable[[], str]]:
    if file.read(len(MAGIC)) == MAGIC:
        file.seek(0)
        blocks = RawBlocks(file)
        return Replay(blocks), lambda: blocks.cut
    from sonde.recording.passed import Passed
    from sonde.recording.reading import RecordedFile

    file.seek(0)
    recorded = RecordedFile(file)
    return Replay(recorded, recorded.blocks(Passed())), lambda: recorded.damage


def read(path: str) -> Recording:
    """What a raw file (`--raw`) or a perf.data file (`sonde record`) has. Iterating raises ScriptError."""
    return Recording(path)
