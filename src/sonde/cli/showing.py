"""What `raw` and `read` share: the recording's file and what becomes of it, and what is said behind its text."""

from __future__ import annotations

from sonde.cli import object_choices, settings
from sonde.cli.arguments import Arguments
from sonde.cli.messages import FatalError, Messages, UsageError
from sonde.library import TYPE_CHECKING, outputs, showing

if TYPE_CHECKING:
    from sonde.library.showing import Shown


_FLAGS = frozenset(("act", "verbose"))
"""Of those that are no settings, which a recording is shown with."""


def require_recording(arguments: Arguments, command: str, files: tuple[int, ...], verb: str, why: str) -> None:
    """Refuse what no recording takes. `files`: how many of them may be named; `why` there are no pictures, and by which
    `verb` commands make them instead. Raises UsageError and FatalError."""
    if arguments.choices:
        object_choices.refuse_choices(arguments)
    others = (
        arguments.programs, arguments.commands, arguments.pids, arguments.raw, arguments.save, arguments.spec,
        arguments.btf, arguments.bpf_object, arguments.export, arguments.flags - _FLAGS,
    )  # fmt: skip
    if len(arguments.operands) not in files or any(others):
        raise UsageError(f"{command} takes one file and the options -q, -F, -o, -x and --act -w")
    if arguments.pictures or arguments.flame_diff:
        text = f"{command} makes no pictures: {why}"
        raise FatalError(text, hint=f"give --flame, --heatmap and the like to the command that {verb}")


def how_to_show(arguments: Arguments, messages: Messages) -> showing.How:
    """As the command line says. system(), freopen() and ftruncate() are shown unless they are asked for, twice. Raises
    FatalError."""
    # What a command line that makes no sense does without.

    options = settings.option_table(arguments)
    outputs.settle_format(arguments.output, options)
    performs = "act" in arguments.flags
    if performs and not options.on("destructive"):
        text = "could not show the recording: Destructive actions not allowed"
        raise FatalError(text, hint="--act performs what its program did, as you: give -w, too, if you trust the file")
    captures = arguments.output if outputs.is_capture(arguments.output) else None
    output = arguments.output if captures is None else None
    return showing.How(options, output, captures, performs, messages.program, is_bounded=True)


def conclude(path: str, shown: Shown, messages: Messages) -> int:
    """Say what became of the recording; returns exit()'s argument. Raises FatalError where the file is damaged, and the
    library's Error where packets could not be written."""
    if shown.lost:
        messages.error(f"{path}: {shown.lost} records were lost when it was recorded")
    if shown.withheld:
        actions = "an action was" if shown.withheld == 1 else f"{shown.withheld} actions were"
        messages.aside(f"{path}: {actions} shown as a line with # and not performed; --act -w performs them")
    records = "1 record" if shown.records == 1 else f"{shown.records} records"
    if shown.damage:
        raise FatalError(f"{path}: {shown.damage}; before that {records} could be shown")
    if shown.cut:
        messages.error(f"{path}: {shown.cut}; what stands before that was shown ({records})")
    if shown.unwritten is not None:
        raise shown.unwritten
    return shown.exit_status
