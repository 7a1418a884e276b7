"""Recordings shown as text: what was printed when they were recorded, but for what other options change."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext

from sonde import directory_walk
from sonde.consume.recorded import Replay
from sonde.consume.replaying import Replayed
from sonde.formats.allowance import TOO_LARGE
from sonde.formats.damage import DamagedError
from sonde.formats.raw_file import MAGIC, RawBlocks
from sonde.library import memory_bounds
from sonde.library.errors import Error, ScriptError
from sonde.library.given import descriptor_of
from sonde.library.outputs import capture_file, opened, require_apart, require_written
from sonde.library.settings import OptionTable, OptionValue, option_table, option_texts
from sonde.recording import passed as recording_passed
from sonde.recording import reading
from sonde.report.commands import ShownActions as NotPerformed
from sonde.report.commands import perform
from sonde.session.names import Names
from sonde.session.replaying import show_recorded
from sonde.symbols import process, symbolizer
from sonde.typed import TYPE_CHECKING, Any, BinaryIO, NamedTuple
from sonde.untrusted import open_file, open_named_file

if TYPE_CHECKING:
    from sonde.model.samples import SampleSink
    from sonde.symbols.symbolizer import SystemSymbolizer


class How(NamedTuple):
    """How a recording is shown: where to, a descriptor or as `outputs.opened` takes it; the pcapng file for packets;
    whether system(), freopen() and ftruncate() are performed, as whoever shows it, or are lines that begin with `#`;
    what messages within the text call the command; whether the memory of this process may be bounded meanwhile."""

    options: OptionTable
    output: int | str | None = None
    captures: str | None = None
    performs: bool = False
    program: str = "sonde"
    is_bounded: bool = False


class Shown(NamedTuple):
    """What became of it: the argument of exit(); how many `records` were shown; how many actions were `withheld`, shown
    as lines and not performed; how many records were `lost` when it was recorded, as far as the file tells.

    Where the file does not make sense from somewhere on, `damage` says what is wrong there, and what stands before was
    shown. `cut` says that it ends too early, as that of a session that was killed does. `unwritten`: not all packets
    could be written to the file that they were to go to.
    """

    exit_status: int
    records: int
    withheld: int = 0
    lost: int = 0
    damage: str = ""
    cut: str = ""
    unwritten: Error | None = None


def show(
    path: str, output: Any, *, options: Mapping[str, OptionValue] | None = None, captures: str | None = None,
    performs: bool = False,
) -> Shown:  # fmt: skip
    """Print what a raw file (`--raw`) or a perf.data file (`sonde record`) has to `output`, a file or descriptor, as it
    was printed at the time. Packets go to the pcapng file `captures`. What its program did besides, system() and the
    like, is shown as a line unless it `performs`: trust the file then. Raises ScriptError, or Error for an option."""
    how = How(option_table(option_texts(options)), descriptor_of(output), captures, performs)
    return show_raw(path, how) if _is_raw(path) else show_perf_data(path, how)


def _is_raw(path: str) -> bool:
    try:
        with open_file(path) as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        # What is no regular file is read from its beginning on: perf.data files have to be.
        return True


def show_raw(path: str, how: How) -> Shown:
    """Show what `--raw` has written. Raises ScriptError for a file that is none, Error where it cannot be shown."""
    with _file(lambda: open_named_file(path), path, how) as file:
        try:
            blocks = RawBlocks(file)
            return _show(Replay(blocks), Names(how.options), how, cut=lambda: blocks.cut)
        except DamagedError as error:
            raise ScriptError(f"{path}: {error}") from None
        except MemoryError:
            raise ScriptError(f"{path}: {TOO_LARGE}") from None


def show_perf_data(path: str, how: How, is_named: bool = True) -> Shown:
    """Show what `sonde record` has written, its samples as lines. A file that nobody has named has to be that of
    somebody who is trusted. Raises as show_raw."""
    demangles = how.options.on("demangle")
    # Processes of this moment have nothing to do with those of the file.
    names = symbolizer.SystemSymbolizer(processes=process.ProcessNames(proc=""), demangles=demangles)
    try:
        with _file(lambda: open_file(path), path, how) as file:
            if not is_named:
                _require_trusted(path, file.fileno())
            return _show_with_samples(file, names, how)
    except DamagedError as error:
        raise ScriptError(f"{path} cannot be read: {error}") from None
    except MemoryError:
        raise ScriptError(f"{path} cannot be read: {TOO_LARGE}") from None
    finally:
        names.close()


def _show_with_samples(file: BinaryIO, names: SystemSymbolizer, how: How) -> Shown:
    recorded, passed = reading.RecordedFile(file), recording_passed.Passed()

    def show_samples(lines: SampleSink) -> None:
        lines.begin(recorded.events())
        passed.give_to(lines, names.take)

    def cut() -> str:
        if recorded.damage or recorded.reader.is_finished:
            return recorded.damage or recorded.reader.cut_behind_data
        return "the recording was not ended properly"

    shown = _show(Replay(recorded, recorded.blocks(passed)), names, how, cut, show_samples)
    damage = "" if recorded.reader.is_cut else recorded.damage
    return shown._replace(damage=shown.damage or damage, lost=recorded.lost)


def _show(
    recorded: Replay, names: Names | SystemSymbolizer, how: How, cut: Callable[[], str],
    show_samples: Callable[[SampleSink], None] | None = None,
) -> Shown:  # fmt: skip
    name = how.options.text("format")
    if name != "text":
        text = f"a recording cannot be shown as {name}: its lines are text"
        raise Error(text, "sonde.read(FILE) gives Python programs its events")
    act = perform if how.performs else NotPerformed()
    with _descriptor(how.output) as output, capture_file(how.captures, recorded.spec) as packets:
        status, replayed = show_recorded(
            recorded, how.options, output, how.program, names, packets, show_samples, act=act
        )
        unwritten = None
        try:
            require_written(packets, how.captures)
        except Error as error:
            unwritten = error
    withheld = act.count if isinstance(act, NotPerformed) else 0
    return _shown(status, replayed, withheld, cut(), unwritten)


def _shown(status: int, replayed: Replayed, withheld: int, cut: str, unwritten: Error | None) -> Shown:
    return Shown(status, replayed.records, withheld, 0, replayed.damage, cut, unwritten)


@contextmanager
def _file(open_it: Callable[[], BinaryIO], path: str, how: How) -> Iterator[BinaryIO]:
    require_apart((how.output if isinstance(how.output, str) else None, how.captures), (path,))
    try:
        opened_file = open_it()
    except OSError as error:
        raise ScriptError(f"failed to open {path}: {error.strerror}") from None
    with opened_file as file, memory_bounds.bounded_memory(file) if how.is_bounded else nullcontext():
        yield file


@contextmanager
def _descriptor(output: int | str | None) -> Iterator[int]:
    if isinstance(output, int):
        yield output
        return
    with opened(output, "output file ") as descriptor:
        yield descriptor


def _require_trusted(path: str, descriptor: int) -> None:
    """A file that nobody has named may be anybody's. Raises ScriptError."""
    if not directory_walk.is_trusted(os.fstat(descriptor)):
        text = f"{path} in this directory is neither yours nor root's, or others may write to it"
        raise ScriptError(text, f"sonde read ./{path} reads it all the same")
