"""`raw FILE`: what --raw has recorded, shown as it would have been at the time."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.cli.arguments import parse
from sonde.cli.messages import FatalError, Messages, UsageError
from sonde.untrusted import open_named_file


def show_file(words: Sequence[str], messages: Messages) -> int:
    """Print a raw file; takes -q, -F, -o, -x and --act -w besides its name. Returns exit()'s argument."""
    arguments = parse(words)
    if arguments.choices:
        from sonde.cli.object_choices import refuse_choices  # an import that most runs do without

        refuse_choices(arguments)
    if len(arguments.operands) != 1 or arguments.programs or arguments.commands or arguments.pids:
        raise UsageError("raw takes one file and the options -q, -F, -o, -x and --act -w")
    if arguments.pictures or arguments.flame_diff:
        text = "raw makes no pictures: the names of what has run are known only while it is traced"
        raise FatalError(text, hint="give --flame, --heatmap and the like to the command that traces")
    from sonde.cli.acting import act_of
    from sonde.cli.settings import option_table
    from sonde.cli.showing import bounded_memory, conclude
    from sonde.consume.description import RawFileError
    from sonde.consume.raw import RawBlocks, Replay
    from sonde.library.outputs import capture_file, is_capture, opened, require_written
    from sonde.session.names import Names
    from sonde.session.replaying import show_recorded

    path = arguments.operands[0]
    options = option_table(arguments)
    act = act_of(arguments, options)
    try:
        opened_file = open_named_file(path)
    except OSError as error:
        raise FatalError(f"failed to open {path}: {error.strerror}") from None
    try:
        with opened_file as file, bounded_memory(file):
            blocks = RawBlocks(file)
            recorded = Replay(blocks)
            plain = None if is_capture(arguments.output) else arguments.output
            captures = arguments.output if plain is None else None
            with opened(plain, "output file ") as output, capture_file(captures, recorded.spec) as packets:
                names = Names(options)
                status, replayed = show_recorded(recorded, options, output, messages.program, names, packets, act=act)
                conclude(path, replayed, blocks.cut, act, messages)
                require_written(packets, captures)
                return status
    except RawFileError as error:
        raise FatalError(f"{path}: {error}") from None
    except MemoryError:
        raise FatalError(f"{path}: it takes more memory than a file of its size may take") from None
