"""`bt`: programs of bpftrace's language, with bpftrace's options."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence

from sonde.cli import bt_info, bt_listing, bt_stages
from sonde.cli import help as cli_help
from sonde.cli.bt_arguments import BtArguments, parse
from sonde.cli.bt_messages import BtMessages
from sonde.cli.messages import FatalError, Messages
from sonde.cli.output import show
from sonde.library import TYPE_CHECKING, spec_file
from sonde.library.bpftrace import dry_runs, programs, spec_files, usual_layout
from sonde.library.data import formats
from sonde.library.errors import Error
from sonde.library.export import exporting
from sonde.library.holding import chosen_engine, holding
from sonde.library.outputs import is_capture, settle_format
from sonde.library.settings import OptionTable, option_table

if TYPE_CHECKING:
    from sonde.library.bpftrace.programs import BtMaps
    from sonde.library.export.wanted import ExportRequest
    from sonde.library.foreground import Watch

_VERSION = "bpftrace v0.26.0 (sonde)\n"
"""Scripts look for the version of the language here."""

_NOTIFY = "__BPFTRACE_NOTIFY_PROBES_ATTACHED"
"""An environment variable by which bpftrace's own tests ask for a line when all is attached."""

_REFUSED = {
    "--traceable-functions": "sonde asks the kernel itself which of its functions can be probed",
    "--debuginfo": "debug information is found beside a file, below /usr/lib/debug, and by what files say of it",
}
"""Options of bpftrace that are not there, and why."""


def trace_bt(words: Sequence[str], messages: Messages, export: ExportRequest | None = None) -> int:
    """Compile and run a program, and export what it counts, if that is wanted; returns the exit status."""
    told = BtMessages(messages)
    try:
        arguments = parse(words)
        if arguments.program == ("file", "-"):
            text = programs.program_of_input()
            arguments = arguments._replace(values={**arguments.values, "-e": text}, words=arguments.operands)
        told.is_silent = "no_warnings" in arguments.flags
        return _asked(arguments, told, messages.program, export)
    except (FatalError, Error) as error:
        return told.failure(error)


def _asked(arguments: BtArguments, messages: BtMessages, name: str, export: ExportRequest | None) -> int:
    if "help" in arguments.flags:
        return cli_help.show_manual(["bt"], name)
    if "version" in arguments.flags:
        show(_VERSION)
        return 0
    if "info" in arguments.flags:
        show(bt_info.info(_VERSION.split()[1]))
        return 0
    _require_supported(arguments)
    if "fmt" in arguments.flags or arguments.values.get("--mode") == "format":
        if arguments.program is None:
            raise FatalError("USAGE: filename or -e 'program' required.")

        show(usual_layout.laid_out_program(arguments.program))
        return 0
    if "list" in arguments.flags:
        return bt_listing.list_bt(arguments, _options(arguments), messages)
    return _run(arguments, messages, export)


def _run(arguments: BtArguments, messages: BtMessages, export: ExportRequest | None) -> int:
    """Raises FatalError and Error."""
    program = arguments.program
    if program is None:
        raise FatalError("USAGE: filename or -e 'program' required.")
    options = _options(arguments)
    if "-f" not in arguments.values:
        settle_format(arguments.values.get("-o"), options)
    if is_capture(arguments.values.get("-o")):
        text = f"-o {arguments.values['-o']} is for packets, and `sonde bt` prints text"
        raise FatalError(f"USAGE: {text}: skboutput() names the file of its packets, and -o takes another name")
    if arguments.mode and options.text("format") != "text":
        raise FatalError("USAGE: tests and measurements have no tables: -o takes another name")
    if program[0] == "file" and _is_compiled(program[1]):
        return _run_compiled(program[1], arguments, options, messages)
    saved = arguments.values.get("--aot")
    if saved is not None:
        _require_plain(arguments)
    commands = [arguments.values["-c"]] if "-c" in arguments.values else []
    engine = chosen_engine(options, messages.warning, saved is not None)
    with holding(engine, commands, arguments.pids(), options, messages.warning) as held:
        _heed_signals()
        # The compiler comes when the processes are there.

        filter_, tells = arguments.values.get("--probe-filter", ""), "errors" in arguments.flags
        wanted = programs.pairs(program, filter_, tells, arguments.mode, next(iter(arguments.pids()), 0))
        made = programs.compile_program(
            wanted, options, arguments.operands, held, export is not None, saved is not None
        )
        messages.warnings(made.warnings())
        for remark in made.remarks():
            messages.warning(remark)
        if "-d" in arguments.values:
            bt_stages.show_stages(arguments, wanted, made)
        if saved is not None:
            spec_files.save_program(saved, made, options)
            return 0
        if held.is_embedded and not held.traced:
            programs.refuse_without_processes(made.made)
        if "dry_run" in arguments.flags:
            dry_runs.attach_only(programs.job_of(made, options, None), held)
            return 0
        # Programs leave their tracer out by that name, and send it signals.
        programs.take_name(programs.LANGUAGE, arguments.given)
        is_json = arguments.values.get("-f") == "json"

        def attached() -> None:
            if "quiet" not in arguments.flags and not arguments.mode:
                _tell_attached(made.attached, is_json, messages)
            if _NOTIFY in os.environ:
                show(f"{_NOTIFY}\n")

        watch = _watch(export, arguments, messages)
        output = arguments.values.get("-o")
        if options.text("format") != "text":
            job = programs.job_of(made, options, watch)
            return formats.run_in_format(job, held, messages.warning, output, lambda _: None, attached).status
        warns = "no_warnings" not in arguments.flags
        return programs.run_program(
            made, options, held, output, messages.warning, attached, is_json, warns, arguments.mode, watch
        )


def _is_compiled(path: str) -> bool:
    """Whether a plain file is a spec file, which begins with a brace, as no script does."""
    if not os.path.isfile(path):
        return False
    try:
        with open(path, "rb") as file:
            return file.read(1) == b"{"
    except OSError:
        return False


def _require_plain(arguments: BtArguments) -> None:
    """Raises FatalError for what goes with running, not with --aot."""
    given = {"-c": "-c" in arguments.values, "-p": "-p" in arguments.values, "-k": "errors" in arguments.flags}
    for name, is_given in (*given.items(), ("--test and --bench", bool(arguments.mode))):
        if is_given:
            raise FatalError(f"USAGE: Cannot use {name} with --aot")


def _run_compiled(path: str, arguments: BtArguments, options: OptionTable, messages: BtMessages) -> int:
    """Run what --aot has written. Raises FatalError and Error."""
    content = spec_file.spec_of(path, spec_file.content_of(path))
    spec_files.restore_options(content, options)
    made_for = spec_file.engine_of(content)
    given = options.text("engine") == "auto" and made_for == "embedded"
    engine = made_for if given else chosen_engine(options, messages.warning)
    spec_file.require_suitable(path, content, engine)
    commands = [arguments.values["-c"]] if "-c" in arguments.values else []
    is_json, output = arguments.values.get("-f") == "json", arguments.values.get("-o")

    def attached() -> None:
        if "quiet" not in arguments.flags:
            _tell_attached(sum(each.probes for each in content.parts), is_json, messages)

    with holding(engine, commands, arguments.pids(), options, messages.warning) as held:
        if "dry_run" in arguments.flags:
            dry_runs.attach_only(spec_files.job_of_file(content, options), held)
            return 0
        _heed_signals()
        programs.take_name(programs.LANGUAGE, arguments.given)
        warns = "no_warnings" not in arguments.flags
        return spec_files.run_compiled(path, content, options, held, output, messages.warning, attached, is_json, warns)


def _heed_signals() -> None:
    """What ends bpftrace ends sonde also where a shell has had it ignored, as it has for a script's `bpftrace ... &`,
    which the script ends by `kill -INT $!`; and SIGUSR1, which is for probes, ends nothing. The command of -c, which
    has started, has those of the shell."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGUSR1, lambda number, frame: None)


def _watch(
    export: ExportRequest | None, arguments: BtArguments, messages: BtMessages
) -> Callable[[BtMaps], Watch] | None:
    """Who exports what is counted, if that is wanted."""
    if export is None:
        return None

    announce = None if "quiet" in arguments.flags else lambda text: messages.plain(f"{text}\n")
    return exporting.watch_maps(export._replace(announce=announce))


def _tell_attached(count: int, is_json: bool, messages: BtMessages) -> None:
    if is_json:
        show(f'{{"type": "attached_probes", "count": {count}, "data": {{"probes": {count}}}}}\n')
    else:
        messages.plain(f"Attached {count} probe{'' if count == 1 else 's'}\n")


def _require_supported(arguments: BtArguments) -> None:
    """Raises FatalError for an option that is not there."""
    for name in arguments.values:
        if name in _REFUSED:
            raise FatalError(f"{name} is not supported by `sonde bt`: {_REFUSED[name]}")


def _options(arguments: BtArguments) -> OptionTable:
    given = [("quiet", "yes"), ("strsize", "1024"), ("evaltime", "fork"), ("maxloop", "8388607")]
    if "unsafe" in arguments.flags:
        given.append(("destructive", "yes"))
    given += [("incdir", each) for each in arguments.several.get("-I", ())]
    given += [("cppargs", each) for name in arguments.several.get("--include", ()) for each in ("-include", name)]
    if "--engine" in arguments.values:
        given.append(("engine", arguments.values["--engine"]))
    return option_table(given)
