"""Scripts in spec files: compiled here, run here or on another machine."""

from __future__ import annotations

import os

from sonde.library.errors import ScriptError
from sonde.library.request import Runnable
from sonde.model.probe import StaticProbe, Uprobe
from sonde.model.specfile import CompiledFor, Fact, Part, Setting, SpecFile, SpecFileError, from_text, to_text
from sonde.private_files import create_named
from sonde.session.engines import EMBEDDED, KERNEL
from sonde.session.kernels import registry_of
from sonde.session.registry import Registry
from sonde.untrusted import read_named

LARGEST = 32 << 20
"""Bytes of a spec file; those of programs of hundreds of clauses have some MiB."""

_NAMED = 3
"""How many of the types that differ a message names."""


def save(script: Runnable, path: str) -> None:
    """Write a spec file. Raises ScriptError."""
    for program in script.spec.programs:
        for probe, _ in program.probes:
            if isinstance(probe.firing, StaticProbe | Uprobe):
                raise ScriptError(f"{probe} cannot be saved", "it is of a process or file, as it is here and now")
    from sonde import __version__  # what imports everything else

    registry = registry_of(script.engine, script.target, True)
    facts = tuple(Fact(*fact) for fact in registry.facts(script.spec))
    target = registry.target
    content = SpecFile(
        __version__,
        CompiledFor(target.architecture, target.release, registry.types.build(), facts),
        (Part("the program", len(script.probes)),),
        tuple(Setting(name, value) for name, value in sorted(script.kept.items())),
        script.destructive,
        script.spec,
    )
    try:
        with open(create_named(path, os.O_TRUNC), "w", encoding="utf-8") as file:
            file.write(to_text(content))
    except OSError as error:
        raise ScriptError(f"failed to write spec file '{path}': {error.strerror}") from None


def content_of_spec(path: str, text: str) -> tuple[SpecFile, str]:
    """What a spec file has, and the engine that it is for. Raises ScriptError."""
    try:
        content = from_text(text)
    except SpecFileError as error:
        raise ScriptError(f"{path} cannot be used: {error}") from None
    engine = _engine(content.compiled_for)
    _require_suitable(path, content.compiled_for, registry_of(engine))
    return content, engine


def is_spec_file(data: bytes) -> bool:
    """By how it begins."""
    return data.lstrip()[:1] == b"{"


def content_of(path: str) -> bytes:
    """What the file has. Raises ScriptError."""
    try:
        return read_named(path, LARGEST)
    except OSError as error:
        raise ScriptError(f"failed to open {path}: {error.strerror}") from None


def _engine(made_for: CompiledFor) -> str:
    """A program compiled for the embedded engine runs there wherever it is."""
    from sonde.bpf.btf import Btf
    from sonde.runtime.kernel_types import description

    return EMBEDDED if made_for.btf == Btf(description()).digest() else KERNEL


def _require_suitable(path: str, made_for: CompiledFor, registry: Registry) -> None:
    """Raise ScriptError where this kernel is not as the program was compiled to find it."""
    if made_for.architecture != os.uname().machine:
        raise ScriptError(f"{path} is for {made_for.architecture}, this machine is {os.uname().machine}")
    if registry.types.build() == made_for.btf:
        return
    different = [fact for fact in made_for.facts if registry.fact(fact.kind, fact.name) != fact.value]
    if different:
        names = [f"{fact.kind} {fact.name}" for fact in different]
        shown = ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
        text = f"{path} was compiled for another kernel ({made_for.release}), which differs from this one in {shown}"
        raise ScriptError(text, "compile it here, or elsewhere with a copy of this kernel's BTF as `target`")
