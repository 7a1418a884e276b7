"""What a program in C or C++ with static probes is built with, from the definitions of its providers in D: the header
with the probes, and the object with the counters of who listens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sonde.arch import object_files
from sonde.formats import elf_object
from sonde.formats.static_header import MOST_PARAMETERS, HeaderParameter, Provided, counter_name, header
from sonde.library.engines import engine_for
from sonde.library.errors import Error, as_errors
from sonde.library.inspection.checking import checked
from sonde.library.settings import OptionValue, option_table, option_texts
from sonde.model.kinds import spell
from sonde.model.options import OptionTable
from sonde.model.types import Array, Enum, Float, Int, Pointer, String, Type, resolve, size_of
from sonde.session.kernels import registry_of
from sonde.session.replay_inputs import packets_of


def provider_header(text: str, *, options: Mapping[str, OptionValue] | None = None) -> str:
    """The header in C for the `provider NAME { probe NAME(TYPES); };` of a text in D. Raises CompileError, or Error."""
    return header(_of_text(text, options))


def provider_object(text: str, *, options: Mapping[str, OptionValue] | None = None) -> bytes:
    """The object (ELF) to link with it. Raises CompileError, or Error."""
    return object_of(_of_text(text, options))


def header_of(probes: Sequence[Provided]) -> bytes:
    """The header's text."""
    return header(probes).encode()


def object_of(probes: Sequence[Provided]) -> bytes:
    """The object's bytes."""
    # What the header does without.

    return elf_object.counters_object([counter_name(each) for each in probes], object_files.MACHINE)


def provided(
    programs: Sequence[tuple[str, str]], options: OptionTable, engine: str, target: str | None = None,
    is_portable: bool = False, name: str = "sonde",
) -> list[Provided]:  # fmt: skip
    """The probes that programs in D (`languages.ProgramText`) define; for the engine, and the kernel whose BTF `target`
    is, that they are checked with. Raises CompileError, or Error for what cannot be a probe in C."""
    with as_errors():
        registry = registry_of(engine, target, is_portable, packets_of(options))
    providers = checked("d", programs, options, registry, name=name).own.checker.providers
    found = [
        Provided(provider, name, tuple(_parameter(f"{provider}:{name}", each) for each in probe.inputs), probe.sources)
        for provider, probes in providers.items()
        for name, probe in probes.items()
    ]
    if not found:
        raise Error("the programs define no providers: provider NAME { probe NAME(TYPES); };")
    for each in found:
        if len(each.parameters) > MOST_PARAMETERS:
            raise Error(
                f"probe {each.provider}:{each.name} has more than {MOST_PARAMETERS} parameters, which an asm "
                "statement of C cannot have"
            )
    return found


def _of_text(text: str, options: Mapping[str, OptionValue] | None) -> list[Provided]:
    table = option_table(option_texts(options))
    return provided([("text", text)], table, engine_for("auto", table, only_compiles=True))


def _parameter(probe: str, type_: Type) -> HeaderParameter:
    base = resolve(type_)
    if isinstance(base, (Int, Enum)):
        return HeaderParameter("integer", base.size, base.signed)
    if isinstance(base, (Pointer, Array, String)):
        return HeaderParameter("pointer", 8)
    if isinstance(base, Float) and size_of(base) in (4, 8):
        return HeaderParameter("float", size_of(base))
    raise Error(f"probe {probe}: a parameter cannot be of type {spell(type_)}: pass a pointer to it")
