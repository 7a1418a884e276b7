"""Compiled programs in spec files: written here, run here or on another machine."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from sonde import __version__
from sonde.bpf import btf as bpf_btf
from sonde.formats.allowance import TOO_LARGE
from sonde.formats.damage import DamagedError
from sonde.library.errors import ScriptError
from sonde.model.options import OptionTable, Value
from sonde.model.probe import StaticProbe, Uprobe
from sonde.model.spec import TracingSpec
from sonde.model.specfile import CompiledFor, Fact, KeptSetting, ProgramPart, from_text, to_text
from sonde.model.specfile import SpecFile as SpecFile
from sonde.runtime import kernel_types
from sonde.session import harm
from sonde.session.engines import EMBEDDED, KERNEL
from sonde.session.kernels import registry_of
from sonde.session.registry import Registry
from sonde.untrusted import read_named
from sonde.written_files import create_named

LARGEST = 32 << 20
"""Bytes of a spec file; those of programs of hundreds of clauses have some MiB."""

_NAMED = 3
"""How many of the types that differ a message names."""


def save(
    path: str, spec: TracingSpec, registry: Registry, parts: Sequence[tuple[str, int]], kept: Mapping[str, Value],
    destructive: bool,
) -> None:  # fmt: skip
    """Write a spec file. `registry`: what was compiled with; `parts`: how messages call each program, and how many
    probes it matches; `kept`: options that go with it. Raises ScriptError."""
    for program in spec.programs:
        for probe, _ in program.probes:
            if isinstance(probe.firing, StaticProbe | Uprobe):
                raise ScriptError(f"{probe} cannot be saved", "it is of a process or file, as it is here and now")
    target = registry.target
    content = SpecFile(
        __version__,
        CompiledFor(
            target.architecture,
            target.release,
            registry.types.build(),
            tuple(Fact(*fact) for fact in registry.facts(spec)),
        ),
        tuple(ProgramPart(title, probes) for title, probes in parts),
        tuple(KeptSetting(name, value) for name, value in sorted(kept.items())),
        destructive,
        spec,
    )
    try:
        with open(create_named(path, os.O_TRUNC), "w", encoding="utf-8") as file:
            file.write(to_text(content))
    except OSError as error:
        raise ScriptError(f"failed to write spec file '{path}': {error.strerror}") from None


def spec_of(path: str, data: bytes) -> SpecFile:
    """What a spec file has. Raises ScriptError."""
    try:
        content = from_text(data.decode())
    except UnicodeDecodeError:
        raise ScriptError(f"{path} cannot be used: it is no spec file") from None
    except DamagedError as error:
        raise ScriptError(f"{path} cannot be used: {error}") from None
    return content._replace(spec=content.spec._replace(is_filed=True))


def engine_of(content: SpecFile) -> str:
    """A program compiled for the embedded engine runs there wherever it is."""
    return EMBEDDED if content.compiled_for.btf == bpf_btf.Btf(kernel_types.description()).digest() else KERNEL


def require_suitable(
    path: str, content: SpecFile, engine: str, btf: str | None = None, is_portable: bool = False
) -> None:
    """Raise ScriptError where this kernel, or that of the BTF, is not as the program was compiled to find it."""
    made_for, registry = content.compiled_for, registry_of(engine, btf, is_portable)
    if made_for.architecture != os.uname().machine:
        raise ScriptError(f"{path} is for {made_for.architecture}, this machine is {os.uname().machine}")
    # Kernels with the same types may be other builds.
    is_alike = registry.types.build() == made_for.btf
    facts = [fact for fact in made_for.facts if fact.kind == "build" or not is_alike]
    different = [fact for fact in facts if registry.fact(fact.kind, fact.name) != fact.value]
    if different:
        names = [f"{fact.kind} {fact.name}" for fact in different]
        shown = ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
        text = f"{path} was compiled for another kernel ({made_for.release}), which differs from this one in {shown}"
        raise ScriptError(text, "compile it here, or elsewhere with -k and a copy of this kernel's BTF")


def is_spec_file(data: bytes) -> bool:
    """By how it begins."""
    return data.lstrip()[:1] == b"{"


def content_of(path: str) -> bytes:
    """What the file has. Raises ScriptError."""
    try:
        return read_named(path, LARGEST)
    except OSError as error:
        raise ScriptError(f"failed to open {path}: {error.strerror}") from None


def options_of(content: SpecFile) -> dict[str, Value]:
    """Those that were compiled in. Whoever has written the file cannot permit what only whoever runs it can."""
    return {each.name: each.value for each in content.options if OptionTable.is_kept(each.name)}


def harm_of(content: SpecFile) -> str:
    """Why its programs need the option destructive, "" if they do not."""
    return harm.harm(content.spec)


@contextmanager
def damaged(path: str) -> Iterator[None]:
    """What a program comes to whose records are not as its file says: its programs have been proved harmless, not to
    record that. Raises ScriptError."""
    try:
        yield
    except DamagedError as error:
        raise ScriptError(f"{path} cannot be used: {error}") from None
    except MemoryError:
        raise ScriptError(f"{path} cannot be used: {TOO_LARGE}") from None
