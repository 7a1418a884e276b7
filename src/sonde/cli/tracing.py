"""The programs of the command line compiled, shown if asked for, and run."""

from __future__ import annotations

from sonde.cli import remarks, run
from sonde.cli.arguments import Arguments
from sonde.cli.messages import FatalError, Messages
from sonde.cli.output import show
from sonde.library import attachments, disassembly, foreground, program_sizes, recorder, spec_file, transports
from sonde.library.compiling import Compiled, For, compiled, refuse_without_processes
from sonde.library.holding import Held
from sonde.library.inspection import stability, type_files
from sonde.library.outputs import settle_format
from sonde.library.settings import OptionTable, recording_of


def trace_processes(
    arguments: Arguments, options: OptionTable, messages: Messages, held: Held, only_compiles: bool
) -> int:
    """Compile and, unless that is all, trace these processes, or all; returns the exit status. Raises FatalError."""
    is_saved = arguments.save is not None
    wanted = For(held.engine, arguments.btf, is_saved, None if is_saved else held.process, held.prepare)
    settle_format(arguments.output, options)
    for_values = arguments.export is not None
    made = compiled("d", arguments.programs, options, arguments.operands, wanted, messages.program, for_values)
    _write_types(options, made)
    if held.is_embedded and not held.traced and not only_compiles and not recording_of(options):
        refuse_without_processes(made)
    _remark(made, arguments, messages)
    _warn(made, not only_compiles, arguments, options, messages)
    _announce(made, arguments, options, messages)
    if "verbose" in arguments.flags:
        _tell_ways(made, messages)
    _show_code(made, arguments, options)
    if arguments.save:
        spec_file.save(
            arguments.save, made.spec, made.registry, made.matched(), options.kept(), made.checked.is_destructive
        )
    if only_compiles:
        return 0
    if options.text("anonymise"):
        lost = recorder.lost_names(made.checked.program.clauses, made.spec, options)
        if lost is not None:
            messages.error(*lost)
    if not any(part.clauses for part in made.checked.parts):
        raise FatalError("no probes matched")

    job = foreground.Job(made.spec, options, made.checked.is_destructive, recorder=made.recorder)
    return run.run(job, arguments, messages, held)


def _remark(made: Compiled, arguments: Arguments, messages: Messages) -> None:
    """What may be meant otherwise, for people who have not written for dtrace(1)."""
    if messages.program == "dtrace" or not messages.has_hints:
        return
    for remark in made.checked.remarks():
        messages.error(*remark)
    if arguments.commands:
        for each in (each for command in arguments.commands for each in remarks.shells(command)):
            messages.error(*each)


def _warn(made: Compiled, is_run: bool, arguments: Arguments, options: OptionTable, messages: Messages) -> None:
    """What compiles and may do something else than its writer thinks. dtrace(1) has no warnings."""
    is_wanted = options.on("warn") if options.is_set("warn") else messages.program != "dtrace"
    if is_wanted and messages.has_hints:
        for warning in made.checked.warnings(
            not is_run or bool(arguments.commands or arguments.pids or recording_of(options))
        ):
            messages.error(*warning)


def _announce(made: Compiled, arguments: Arguments, options: OptionTable, messages: Messages) -> None:
    """How many probes each program matched, and with -v how stable it is."""
    is_announced = not options.on("quiet") and "compile_only" not in arguments.flags
    for number, (title, count) in enumerate(made.matched()):
        if is_announced:
            messages.error(f"{title} matched {count} probe{'' if count == 1 else 's'}")
        if "verbose" in arguments.flags:
            show(stability.stability(made, number, "compile_only" in arguments.flags))
    for remark in made.registry.remarks() if is_announced else ():
        messages.error(remark)


def _tell_ways(made: Compiled, messages: Messages) -> None:
    """With -v: which programs there are, by which of the kernel's ways probes of its functions are attached, and how
    records come."""
    for sentence in (
        *program_sizes.program_sizes(made.spec),
        *attachments.attachments(made.spec),
        *transports.transports(made.spec),
    ):
        messages.aside(sentence)


def _write_types(options: OptionTable, made: Compiled) -> None:
    """The files of -xctypes and -xdtypes."""
    if options.is_set("ctypes") or options.is_set("dtypes"):
        type_files.write_types(options, made.checked.types())


def _show_code(made: Compiled, arguments: Arguments, options: OptionTable) -> None:
    """The intermediate form (-S), the machine code (--disasm, -S -v; with -xverbose in dtrace's form, as a message)."""
    flags = arguments.flags
    if not flags & {"intermediate", "disassemble"} and not options.on("verbose"):
        return

    if "intermediate" in flags:
        show(disassembly.intermediate(made.compilation))
    if "disassemble" in flags or {"intermediate", "verbose"} <= flags:
        show(disassembly.machine_code(made.spec, made.checked.lines))
    if options.on("verbose"):
        show(disassembly.bare_code(made.spec), 2)
