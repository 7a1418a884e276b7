"""`read FILE`: what `record` has written, shown as it would have been at the time, with the samples."""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence

from sonde.cli.arguments import Arguments, parse
from sonde.cli.messages import FatalError, Messages, UsageError
from sonde.cli.record import FILE
from sonde.typed import TYPE_CHECKING
from sonde.untrusted import open_file

if TYPE_CHECKING:
    from sonde.model.options import OptionTable
    from sonde.recording.reading import RecordedFile
    from sonde.report.samples import SampleLines
    from sonde.symbols.symbolizer import SystemSymbolizer

_SENSELESS = (
    ArithmeticError, AttributeError, LookupError, MemoryError, RuntimeError, TypeError, ValueError, struct.error,
)  # fmt: skip
"""What comes of records that are not as a description says: it is believed until that fails."""


def read_file(words: Sequence[str], messages: Messages) -> int:
    """Print a perf.data file; takes -q, -F, -o, -x and --act -w besides its name. Returns exit()'s argument."""
    arguments = parse(words)
    if arguments.choices:
        from sonde.cli.object_choices import refuse_choices  # an import that most runs do without

        refuse_choices(arguments)
    if len(arguments.operands) > 1 or arguments.programs or arguments.commands or arguments.pids:
        raise UsageError("read takes one file and the options -q, -F, -o, -x and --act -w")
    if arguments.pictures or arguments.flame_diff:
        text = "read makes no pictures: aggregations are looked at while they are counted"
        raise FatalError(text, hint="give --flame, --heatmap and the like to the command that records")
    from sonde.cli.settings import option_table
    from sonde.consume.description import RawFileError
    from sonde.formats.perf_data import PerfDataError
    from sonde.symbols.process import ProcessNames
    from sonde.symbols.symbolizer import SystemSymbolizer

    path = (*arguments.operands, FILE)[0]
    options = option_table(arguments)
    demangles = options.on("demangle") or not options.is_set("demangle")
    # Processes of this moment have nothing to do with those of the file.
    names = SystemSymbolizer(processes=ProcessNames(proc=""), demangles=demangles)
    try:
        return _show(path, arguments, options, names, messages)
    except (RawFileError, PerfDataError) as error:
        raise FatalError(f"{path} cannot be read: {error}") from None
    except _SENSELESS as error:
        raise FatalError(f"{path} cannot be read: it is damaged: {error}") from None
    finally:
        names.close()


def _require_trusted(path: str, descriptor: int) -> None:
    """A file that nobody has named may be anybody's. Raises FatalError."""
    from sonde.private_files import is_trusted

    if not is_trusted(os.fstat(descriptor)):
        text = f"{path} in this directory is neither yours nor root's, or others may write to it"
        raise FatalError(text, hint=f"sonde read ./{path} reads it all the same")


def _show(path: str, arguments: Arguments, options: OptionTable, names: SystemSymbolizer, messages: Messages) -> int:
    from sonde.cli.acting import act_of
    from sonde.cli.showing import bounded_memory, conclude
    from sonde.consume.raw import Replay
    from sonde.library.outputs import capture_file, is_capture, opened, require_written
    from sonde.recording.passed import Passed
    from sonde.recording.reading import RecordedFile
    from sonde.session.replaying import show_recorded

    plain = None if is_capture(arguments.output) else arguments.output
    captures = arguments.output if plain is None else None
    act = act_of(arguments, options)
    try:
        opened_file = open_file(path)
    except OSError as error:
        raise FatalError(f"failed to open {path}: {error.strerror}") from None
    with opened_file as file, bounded_memory(file):
        if not arguments.operands:
            _require_trusted(path, file.fileno())
        recorded, passed = RecordedFile(file), Passed()

        def show_samples(lines: SampleLines) -> None:
            lines.begin(recorded.events())
            passed.give_to(lines, names.take)

        replay = Replay(recorded, recorded.blocks(passed))
        with opened(plain, "output file ") as output, capture_file(captures, replay.spec) as packets:
            status, replayed = show_recorded(
                replay, options, output, messages.program, names, packets, show_samples, act=act
            )
            if recorded.lost:
                messages.error(f"{path}: {recorded.lost} records were lost when it was recorded")
            if recorded.damage and not recorded.reader.is_cut:
                replayed = replayed._replace(damage=replayed.damage or recorded.damage)
            conclude(path, replayed, _end(recorded), act, messages)
            require_written(packets, captures)
            return status


def _end(recorded: RecordedFile) -> str:
    """What ended the file early, "" if nothing did."""
    if recorded.damage or recorded.reader.is_finished:
        return recorded.damage
    return "the recording was not ended properly"
