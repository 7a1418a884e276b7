"""The names of the probe that fired: numbers of interned strings, found by the probe's index."""

from __future__ import annotations

import struct

from sonde.codegen.generation import Generation
from sonde.codegen.ir import Imm, Operand, Reg

PROBE_NAMES = {"probeprov": "provider", "probemod": "module", "probefunc": "function", "probename": "name"}
"""Built-in variable -> field of `Probe`."""

_ENTRY = struct.Struct("<6I")
"""A row of the probe table: identifier, clause mask (unused bits 0), then the four names in order."""

_OFFSETS = {"id": 0, "mask": 4, "probeprov": 8, "probemod": 12, "probefunc": 16, "probename": 20}


def probe_name(g: Generation, name: str) -> Operand:
    """The number of the interned string that this built-in variable is."""
    return _column(g, name)


def probe_id(g: Generation) -> Operand:
    return _column(g, "id")


def clause_mask(g: Generation) -> Operand:
    """Which of this program's clauses the probe has, a bit each."""
    return _column(g, "mask")


def _column(g: Generation, name: str) -> Operand:
    probes = g.context.probes
    if len(probes) == 1:
        value = probes[0].id if name == "id" else g.intern(getattr(probes[0], PROBE_NAMES[name]).encode())
        return Imm(value)
    texts = {getattr(p, PROBE_NAMES[name]) for p in probes} if name in PROBE_NAMES else set()
    if len(texts) == 1:
        return Imm(g.intern(texts.pop().encode()))
    return g.b.load(_row(g), _OFFSETS[name], 4, invariant=True)


def _row(g: Generation) -> Reg:
    """The address of this probe's row; `Context.enter` has checked the index."""
    base = g.b.map_value(table_name(g))
    offset = g.b.alu("mul", g.probe_index, Imm(_ENTRY.size))
    return g.b.in_register(g.b.alu("add", base, offset))


def table_name(g: Generation) -> str:
    return f"probes_{g.b.function.name}"[:15]


def build_table(g: Generation, masks: dict[int, int]) -> bytes:
    """The rows of all indexes; those without a probe have identifier 0. `masks` is by probe identifier."""
    rows = bytearray(_ENTRY.size * g.context.table_size())
    numbers: dict[str, int] = {}
    for probe in g.context.probes:
        names = (probe.provider, probe.module, probe.function, probe.name)
        for name in names:
            if name not in numbers:
                numbers[name] = g.intern(name.encode())
        start = g.context.index_of(probe) * _ENTRY.size
        _ENTRY.pack_into(rows, start, probe.id, masks.get(probe.id, 0), *(numbers[name] for name in names))
    return bytes(rows)
