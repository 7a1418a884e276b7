"""One compiled program run, with the files of -o and --raw."""

from __future__ import annotations

from sonde.cli import readers
from sonde.cli.arguments import Arguments
from sonde.cli.endings import require_command, status_of
from sonde.cli.messages import FatalError, Messages
from sonde.library.data import formats
from sonde.library.export import exporting
from sonde.library.foreground import Job, Watch, require_allowed, run_here
from sonde.library.holding import Held, of_filter
from sonde.library.outputs import STANDARD_OUTPUT, Files, is_capture


def run(job: Job, arguments: Arguments, messages: Messages, held: Held) -> int:
    """Trace to the end; returns the exit status. Raises FatalError, and the library's Error."""
    options = job.options
    require_allowed(job)
    require_command(arguments.commands, options)
    if "verbose" in arguments.flags and held.is_embedded and arguments.commands:
        for remark in of_filter(options):
            messages.error(remark)
    _require_apart(arguments)
    if options.text("record"):
        readers.outlive_reader()

    def begun(_: object) -> None:
        if options.on("destructive") and not options.on("quiet"):
            messages.error("allowing destructive actions")

    text, captures = (None, arguments.output) if is_capture(arguments.output) else (arguments.output, None)
    files = Files(arguments.raw, captures, arguments.recording, arguments.pictures, arguments.flame_diff)
    job = job._replace(files=files, program=messages.program, watch=_watch(arguments, messages))
    if options.text("format") == "text":
        ended = run_here(job, held, messages.error, output=text, begun=begun)
    else:
        ended = formats.run_in_format(job, held, messages.error, text, begun)
    return status_of(ended.status, ended.statuses, options, messages)


def _watch(arguments: Arguments, messages: Messages) -> Watch | None:
    """Who exports what is counted, if that is wanted."""
    if arguments.export is None:
        return None

    # A program that is quiet itself has no say in it: where its metrics are somebody has to know.
    is_quiet = any(each.name == "quiet" for each in arguments.settings)
    announce = None if is_quiet else messages.error
    return exporting.watch(arguments.export._replace(announce=announce))


def _require_apart(arguments: Arguments) -> None:
    """Records and text do not go to one standard output. Raises FatalError."""
    if arguments.raw == STANDARD_OUTPUT and arguments.output in (None, STANDARD_OUTPUT):
        text = "--raw -: what is printed goes to the standard output, too"
        raise FatalError(text, hint="give what is printed a file with -o")
