"""BPF programs of the kernel, made from ProgramSpec values."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping

from sonde.engines.kernel import commands, refusals
from sonde.engines.kernel.commands import ProgramCode
from sonde.engines.kernel.maps import with_memory
from sonde.engines.kernel.stamps import StampValues
from sonde.model.spec import ProbeSpec, ProgramSpec
from sonde.typed import NamedTuple


class LoadedProgram(NamedTuple):
    """A program in the kernel, the probes this copy of it serves, and whether their cookies are in its code."""

    spec: ProgramSpec
    probes: tuple[ProbeSpec, ...]
    descriptor: int


class TypeReference(NamedTuple):
    """A BTF type of the kernel: its id, and the descriptor of the module's BTF it is in, 0 for vmlinux."""

    id: int
    btf: int


NO_TYPE = TypeReference(0, 0)


def load(
    spec: ProgramSpec, maps: Mapping[str, int], btf: int, target: TypeReference, own: Callable[[int], int],
    values: StampValues,
) -> list[LoadedProgram]:  # fmt: skip
    """Load `spec` once, or, if cookies are stamped in, once for each probe.

    `maps` are the descriptors by name, `btf` that of the program's own BTF (0: none), `target` the type a tp_btf
    program attaches to; `own` takes each new descriptor over and returns it. Raises EngineError.
    """
    code = _with_maps(spec, maps)
    cookies = [stamp.at for stamp in spec.stamps if stamp.kind == "cookie"]
    for stamp in spec.stamps:
        if stamp.kind != "cookie":
            _stamp(code, stamp.at, values.value(stamp))
    if not cookies:
        return [LoadedProgram(spec, spec.probes, own(_load(spec, bytes(code), btf, target)))]
    loaded = []
    for probe in spec.probes:
        for index in cookies:
            _stamp(code, index, probe.cookie)
        loaded.append(LoadedProgram(spec, (probe,), own(_load(spec, bytes(code), btf, target))))
    return loaded


def _with_maps(spec: ProgramSpec, maps: Mapping[str, int]) -> bytearray:
    """The code with each map's descriptor in the immediate of the LD_IMM64 that refers to it."""
    code = bytearray(spec.code)
    for index, name in spec.map_references:
        struct.pack_into("=I", code, 8 * index + 4, maps[name])
    return code


def _stamp(code: bytearray, index: int, value: int) -> None:
    """Put a number into the two immediates of the LD_IMM64 at `index`."""
    struct.pack_into("=I", code, 8 * index + 4, value & 0xFFFFFFFF)
    struct.pack_into("=I", code, 8 * index + 12, value >> 32)


def _load(spec: ProgramSpec, code: bytes, btf: int, target: TypeReference) -> int:
    program = ProgramCode(
        spec.name, spec.kind, spec.attach_type, code, btf,
        spec.func_info if btf else b"", spec.line_info if btf else b"", target.id, target.btf,
        spec.flags, spec.license,
    )  # fmt: skip
    try:
        return with_memory(lambda: commands.load_program(program))
    except OSError as error:
        raise refusals.refusal(spec, program, error) from None
