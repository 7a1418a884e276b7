"""Spec files: a compiled program written by --save, and run, maybe elsewhere, with --spec."""

from __future__ import annotations

import os
from collections.abc import Iterable

from sonde import __version__
from sonde.cli.arguments import Arguments
from sonde.cli.destructive import require_allowed
from sonde.cli.messages import FatalError, Messages
from sonde.cli.output import show
from sonde.cli.settings import option_table
from sonde.model.options import OptionTable
from sonde.model.probe import StaticProbe, Uprobe
from sonde.model.spec import TracingSpec
from sonde.model.specfile import CompiledFor, Fact, Part, Setting, SpecFile, SpecFileError, from_text, to_text
from sonde.private_files import create_named
from sonde.session.engines import EMBEDDED, choose
from sonde.session.harm import harm
from sonde.session.kernels import registry_of
from sonde.session.processes import processes
from sonde.session.registry import Registry
from sonde.untrusted import read_named

_NAMED = 3
"""How many of the types that differ a message names."""

_LARGEST = 32 << 20
"""Bytes of a spec file; those of programs of hundreds of clauses have some MiB."""


def save(
    path: str, spec: TracingSpec, registry: Registry, options: OptionTable, parts: Iterable[tuple[str, int]],
    destructive: bool,
) -> None:  # fmt: skip
    """Write a spec file. Raises FatalError."""
    for program in spec.programs:
        for probe, _ in program.probes:
            if isinstance(probe.firing, (StaticProbe, Uprobe)):
                raise FatalError(f"{probe} cannot be saved", hint="it is of a process or file, as it is here and now")
    facts = tuple(Fact(*fact) for fact in registry.facts(spec))
    target = registry.target
    content = SpecFile(
        __version__,
        CompiledFor(target.architecture, target.release, registry.types.build(), facts),
        tuple(Part(title, probes) for title, probes in parts),
        tuple(Setting(name, value) for name, value in sorted(options.kept().items())),
        destructive,
        spec,
    )
    try:
        with open(create_named(path, os.O_TRUNC), "w", encoding="utf-8") as file:
            file.write(to_text(content))
    except OSError as error:
        raise FatalError(f"failed to write spec file '{path}': {error.strerror}") from None


def run_file(arguments: Arguments, messages: Messages) -> int:
    """Run a spec file to its end; returns the exit status. Raises FatalError."""
    path = arguments.spec
    assert path is not None
    if arguments.programs or arguments.operands or arguments.save or arguments.btf:
        raise FatalError("--spec runs a program that is compiled already: it takes no other, and no macro arguments")
    from sonde.consume.replaying import SENSELESS  # who saves a program shows none

    content = _read(path)
    try:
        return _run(path, content, arguments, messages)
    except SENSELESS as error:
        # The programs have been proved harmless, not to record what the file says that they do.
        detail = f"{type(error).__name__}: {error}"
        text = f"{path} cannot be used: it is damaged: what it has does not fit what it says of it ({detail})"
        raise FatalError(text) from None


def _run(path: str, content: SpecFile, arguments: Arguments, messages: Messages) -> int:
    options = _options(arguments, content)
    only_shows = bool(arguments.flags & {"compile_only", "dry_run"})
    engine = _engine(content.compiled_for, options, messages, only_shows)
    _require_suitable(path, content.compiled_for, registry_of(engine, arguments.btf, arguments.save is not None))
    if not options.on("quiet"):
        for part in content.parts:
            messages.error(f"{part.title} matched {part.probes} probe{'' if part.probes == 1 else 's'}")
    if "disassemble" in arguments.flags:
        from sonde.cli.disassembly import machine_code

        show(machine_code(content.spec, {}))
    if only_shows:
        return 0
    from sonde.cli.run import run

    reason = harm(content.spec)
    require_allowed(content.destructive or bool(reason), options, reason)
    with processes(arguments.commands, arguments.process_numbers(), options, engine, messages.error) as traced:
        return run(content.spec, content.destructive, arguments, options, messages, traced, engine)


def _read(path: str) -> SpecFile:
    try:
        return from_text(read_named(path, _LARGEST).decode())
    except OSError as error:
        raise FatalError(f"failed to open {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise FatalError(f"{path} cannot be used: it is no spec file") from None
    except SpecFileError as error:
        raise FatalError(f"{path} cannot be used: {error}") from None


def _options(arguments: Arguments, content: SpecFile) -> OptionTable:
    """Those that were compiled in, then those of this run."""
    given = option_table(arguments)
    for setting in arguments.settings:
        if not given.may_change(setting.name):
            raise FatalError(f"{setting.given}: this option is compiled into the program")
    kept = {setting.name: setting.value for setting in content.options if given.is_kept(setting.name)}
    given.restore(kept)
    return given


def _engine(made_for: CompiledFor, options: OptionTable, messages: Messages, only_shows: bool) -> str:
    """A program compiled for the embedded engine runs there wherever it is."""
    from sonde.bpf.btf import Btf
    from sonde.runtime.kernel_types import description

    if options.text("engine", "auto") == "auto" and made_for.btf == Btf(description()).digest():
        return EMBEDDED
    return choose(options, messages.error, only_shows)


def _require_suitable(path: str, made_for: CompiledFor, registry: Registry) -> None:
    """Raise FatalError where this kernel is not as the program was compiled to find it."""
    if made_for.architecture != os.uname().machine:
        raise FatalError(f"{path} is for {made_for.architecture}, this machine is {os.uname().machine}")
    if registry.types.build() == made_for.btf:
        return
    different = [fact for fact in made_for.facts if registry.fact(fact.kind, fact.name) != fact.value]
    if different:
        names = [f"{fact.kind} {fact.name}" for fact in different]
        shown = ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
        text = f"{path} was compiled for another kernel ({made_for.release}), which differs from this one in {shown}"
        raise FatalError(text, hint="compile it here, or elsewhere with -k and a copy of this kernel's BTF")
