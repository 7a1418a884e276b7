"""The programs of the command line compiled, shown if asked for, and run."""

from __future__ import annotations

from collections.abc import Sequence, Set

from sonde.cli.arguments import Arguments
from sonde.cli.errors import without_btf
from sonde.cli.messages import FatalError, Messages
from sonde.cli.output import show
from sonde.codegen.compiler import Compilation
from sonde.frontends.d.programs.compiling import Compiled, Given, compile_programs, macros, read
from sonde.frontends.d.programs.destructive import is_destructive
from sonde.frontends.d.programs.mistakes import compile_error
from sonde.model.errors import DError
from sonde.model.options import OptionTable
from sonde.model.spec import TracingSpec
from sonde.session.engines import EMBEDDED, features, refused_functions
from sonde.session.kernels import registry_of
from sonde.session.registry import Registry
from sonde.session.traced import Traced
from sonde.session.tracing import compile_session


def trace_processes(
    arguments: Arguments, options: OptionTable, messages: Messages, engine: str, traced: Sequence[Traced],
    only_compiles: bool,
) -> int:  # fmt: skip
    """Compile and, unless that is all, trace these processes, or all; returns the exit status. Raises FatalError."""
    given = [read(*each, options) for each in arguments.programs]
    registry = registry_of(engine, arguments.btf, arguments.save is not None)
    variables = macros(arguments.operands, traced[0].pid if traced else 0, options)
    if arguments.save:
        variables = variables._replace(target=None)
    with without_btf(arguments.btf):
        compiled = compile_programs(given, options, registry, variables, messages.program)
        compilation, spec = generate(compiled, options, registry, engine)
    _write_types(options, compiled)
    if engine == EMBEDDED and not traced and not only_compiles:
        _require_none_followed(compiled, options)
    _remark(arguments, given, messages)
    _warn(compiled, not only_compiles, arguments, options, messages)
    _announce(compiled, registry, arguments, options, messages)
    if "verbose" in arguments.flags:
        _tell_ways(spec, messages)
    _show_code(arguments.flags, options, compilation, spec, compiled)
    if arguments.save:
        from sonde.cli.specs import save

        save(arguments.save, spec, registry, options, _parts(compiled, registry), is_destructive(compiled.program))
    if only_compiles:
        return 0
    if not any(compiled.clauses):
        raise FatalError("no probes matched")
    from sonde.cli.run import run

    return run(spec, is_destructive(compiled.program), arguments, options, messages, traced, engine)


def _remark(arguments: Arguments, given: Sequence[Given], messages: Messages) -> None:
    """What may be meant otherwise, for people who have not written for dtrace(1)."""
    is_doubtful = arguments.commands or any("'" in each.original for each in given)
    if messages.program == "dtrace" or not is_doubtful:
        return
    # Most programs have nothing of it.
    from sonde.cli.remarks import characters, shells

    found = [*characters(given), *(each for command in arguments.commands for each in shells(command))]
    for remark in found if messages.has_hints else ():
        messages.error(remark.text, remark.hint)


def _warn(compiled: Compiled, is_run: bool, arguments: Arguments, options: OptionTable, messages: Messages) -> None:
    """What compiles and may do something else than its writer thinks. dtrace(1) has no warnings."""
    is_wanted = options.on("warn") if options.is_set("warn") else messages.program != "dtrace"
    if not is_wanted or not messages.has_hints:
        return
    for each in compiled.checker.warnings():
        from sonde.frontends.d.programs.excerpts import placed

        error = DError("", each.text, each.position)
        given = compiled.containing(each.position)
        place, _, lines = placed(error, given.original, each.remedy, given.source.file).partition("\n")
        messages.error(f"{place.rstrip(':')}: warning: {each.text}", lines)
    is_alone = is_run and not arguments.commands and not arguments.pids
    if is_alone and any("$target" in each.original for each in compiled.given):
        from sonde.cli.remarks import targets

        for remark in targets(compiled.given):
            messages.error(remark.text, remark.hint)


def _require_none_followed(compiled: Compiled, options: OptionTable) -> None:
    """Refuse probes of processes where none are traced. Raises FatalError."""
    from sonde.engines.embedded.offer import needs_processes

    for clause in compiled.program.clauses:
        text, remedy = needs_processes(clause.probes)
        if text:
            given = compiled.containing(clause.position)
            error = DError("D_PDESC_ZERO", text, clause.position, remedy)
            raise compile_error(error, given.failure, given.original, given.is_script, options.on("errtags"))


def generate(
    compiled: Compiled, options: OptionTable, registry: Registry, engine: str
) -> tuple[Compilation, TracingSpec]:
    target = registry.target
    if not target.portable:
        found = features(engine, compiled.program, target)
        refused = refused_functions(compiled.program) if "fentry" in found else frozenset()
        target = target._replace(features=found, refused_functions=refused)
    try:
        compilation = compile_session(compiled.program, options, target, registry, compiled.lines)
        return compilation, compilation.spec()
    except DError as error:
        given = compiled.containing(error.position)
        with_tag = options.on("errtags")
        raise compile_error(error, given.failure, given.original, given.is_script, with_tag) from None


def _parts(compiled: Compiled, registry: Registry) -> list[tuple[str, int]]:
    """How messages call each program, and how many probes it has matched."""
    # A probe that follows from several others has a clause for each.
    matched = ({(c.position, probe) for c in clauses for probe in c.probes} for clauses in compiled.clauses)
    counts = [sum(map(registry.count, {(place, p.id): p for place, p in found}.values())) for found in matched]
    return [(given.title, count) for given, count in zip(compiled.given, counts, strict=True)]


def _announce(
    compiled: Compiled, registry: Registry, arguments: Arguments, options: OptionTable, messages: Messages
) -> None:
    """How many probes each program matched, and with -v how stable it is."""
    is_announced = not options.on("quiet") and "compile_only" not in arguments.flags
    for given, (title, count) in zip(compiled.given, _parts(compiled, registry), strict=True):
        if is_announced:
            messages.error(f"{title} matched {count} probe{'' if count == 1 else 's'}")
        if "verbose" in arguments.flags:
            from sonde.cli.stability import report

            show(report(given, compiled.checker, registry, "compile_only" in arguments.flags))
    for remark in registry.remarks() if is_announced else ():
        messages.error(remark)


def _tell_ways(spec: TracingSpec, messages: Messages) -> None:
    """With -v: by which of the kernel's ways probes of its functions are attached, and how records come."""
    from sonde.cli.attachments import attachments
    from sonde.cli.transports import transports

    for sentence in (*attachments(spec), *transports(spec)):
        messages.aside(sentence)


def _write_types(options: OptionTable, compiled: Compiled) -> None:
    """The files of -xctypes and -xdtypes."""
    if options.is_set("ctypes") or options.is_set("dtypes"):
        from sonde.cli.ctf import write_types

        write_types(options, compiled.checker)


def _show_code(
    flags: Set[str], options: OptionTable, compilation: Compilation, spec: TracingSpec, compiled: Compiled
) -> None:
    """The intermediate form (-S), the machine code (--disasm, -S -v; with -xverbose in dtrace's form, as a message)."""
    if not flags & {"intermediate", "disassemble"} and not options.on("verbose"):
        return
    from sonde.cli.disassembly import bare_code, intermediate, machine_code

    if "intermediate" in flags:
        show(intermediate(compilation))
    if "disassemble" in flags or {"intermediate", "verbose"} <= flags:
        show(machine_code(spec, compiled.lines))
    if options.on("verbose"):
        show(bare_code(spec), 2)
