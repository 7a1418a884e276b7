"""The names of the probe that fired: numbers of interned strings, found by the probe's index."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping

from sonde.bpf import maps as kinds
from sonde.codegen.basis.generation import Generation, Shared
from sonde.codegen.basis.places import Memory
from sonde.codegen.basis.settings import Settings
from sonde.codegen.intermediate.ir import Imm, MapDescriptor, Operand, Reg, SlotAddress
from sonde.model.named_maps import NAMES_MAP, NAMES_ROOM, SITES, sites_row_size
from sonde.model.probe import Probe, StaticPattern
from sonde.model.program import Clause
from sonde.model.spec import MapSpec
from sonde.model.units import whole_words

PROBE_NAMES = {"probeprov": "provider", "probemod": "module", "probefunc": "function", "probename": "name"}
"""Built-in variable -> field of `Probe`."""

PROBE_TEXT = "probetext"
"""The one that the program has for each probe."""

_OFFSETS = {"id": 0, "probeprov": 4, "probemod": 8, "probefunc": 12, "probename": 16, PROBE_TEXT: 20}
"""A row of the probe table: u32 identifier, the numbers of the four names and, if there are texts of probes, that of
the probe's; the clause mask, then the numbers of clauses that not all probes know by the same."""

_NAMES_END = 20

LONGEST_NAME = 127
"""Characters of a name that is not known when the program is compiled (DTRACE_FUNCNAMELEN), where they are a string."""

MASK_BITS = 31
"""Clauses in one word of the mask: the test is against a positive 32-bit immediate."""


def name_width(probes: Iterable[Probe], settings: Settings) -> int:
    """Bytes of the longest name with its NUL, in whole words."""
    probes = list(probes)
    names = (getattr(probe, field) for probe in probes for field in PROBE_NAMES.values())
    longest = max((len(name.encode()) for name in names), default=0)
    longest = max(longest, settings.longest_text)
    if any(isinstance(probe.firing, StaticPattern) for probe in probes):
        longest = max(longest, LONGEST_NAME)
    return whole_words(min(settings.strsize, longest) + 1)


def only_text(g: Generation, name: str) -> bytes | None:
    """The built-in variable's text if it is the same for all probes of the program."""
    if is_open(g):
        return None
    texts = names_of(g, name)
    return texts.pop().encode() if len(texts) == 1 else None


def is_name(name: str) -> bool:
    """Whether the built-in variable is a name of the probe."""
    return name in PROBE_NAMES or name == PROBE_TEXT


def _name_of(g: Generation, name: str, probe: Probe) -> str:
    return g.shared.probe_texts.get(probe.id, "") if name == PROBE_TEXT else str(getattr(probe, PROBE_NAMES[name]))


def names_of(g: Generation, name: str) -> set[str]:
    """All that the built-in variable can be."""
    return {_name_of(g, name, probe) for probe in g.context.probes}


def name_text(g: Generation, name: str) -> Memory:
    """The characters of a probe's name, as strings are kept: `Shared.name_width` bytes nobody may write to.

    The map is not frozen: the verifier wants to know what is in a frozen array, but can look only into those of one
    element (bpf_map_direct_read, kernel/bpf/verifier.c), and refuses the load from any other.
    """
    return text_of(g, probe_name(g, name))


def text_of(g: Generation, interned: Operand) -> Memory:
    """The same of an interned string, by its number."""
    number = g.b.slot(8)
    g.b.store(number, 0, 8, interned)
    texts = g.shared.maps.add(MapSpec(NAMES_MAP, kinds.ARRAY, 4, g.shared.name_width, 1, kinds.F_RDONLY_PROG))
    found = g.call("map_lookup_elem", MapDescriptor(texts), SlotAddress(number))
    g.b.release(number)
    zeros = g.shared.maps.zeros(g.shared.name_width)
    return Memory(g.b.choose("ne", found, Imm(0), lambda: found, lambda: g.b.map_value(zeros)), 0)


def fill_names(shared: Shared) -> None:
    """Settle the content of the map of names, when all code has been generated that interns strings."""
    spec = shared.maps.specs.get(NAMES_MAP)
    if spec is None:
        return
    texts = [text[: shared.settings.strsize][: shared.name_width - 1] for text in shared.strings]
    contents = [(struct.pack("=I", n), text.ljust(shared.name_width, b"\0")) for n, text in enumerate(texts)]
    more = NAMES_ROOM if shared.has_open else 0
    shared.maps.specs[NAMES_MAP] = spec._replace(max_entries=len(contents) + more, contents=tuple(contents))


def probe_name(g: Generation, name: str) -> Operand:
    """The number of the interned string that this built-in variable is."""
    return _column(g, name)


def probe_id(g: Generation) -> Operand:
    return _column(g, "id")


def clause_mask(g: Generation, word: int) -> Operand:
    """A word of the mask that says which of this program's clauses the probe has, a bit each."""
    return g.b.load(row(g), _names_end(g) + 4 * word, 4, invariant=True)


def clause_number(g: Generation, clause: Clause) -> Operand:
    """The number of the clause, that of the description that the probe was found by."""
    known = g.shared.numbers.get(clause.id, {})
    found = {known.get(probe.id, clause.id) for probe in g.context.probes}
    if g.is_error_routine or is_open(g) or len(found) == 1:
        return Imm(known.get(g.context.probes[0].id, clause.id))
    return g.b.load(row(g), _names_end(g) + 4 * (g.mask_words + g.numbered.index(clause.id)), 4, invariant=True)


def _column(g: Generation, name: str) -> Operand:
    probes = g.context.probes
    if is_open(g):
        return g.b.load(row(g), _OFFSETS[name], 4, invariant=True)
    if len(probes) == 1:
        value = probes[0].id if name == "id" else g.intern(_name_of(g, name, probes[0]).encode())
        return Imm(value)
    texts = names_of(g, name) if is_name(name) else set()
    if len(texts) == 1:
        return Imm(g.intern(texts.pop().encode()))
    return g.b.load(row(g), _OFFSETS[name], 4, invariant=True)


def epid(g: Generation, clause: Clause) -> Operand:
    """Clause in the lower half, probe in the upper."""
    return g.b.alu("or", g.b.alu("lsh", probe_id(g), Imm(32)), clause_number(g, clause))


def row(g: Generation) -> Reg:
    """The address of this probe's row; `Context.enter` has checked the index."""
    base = g.b.map_value(g.table)
    offset = g.b.alu("mul", g.probe_index, Imm(_row_size(g)))
    return g.b.in_register(g.b.alu("add", base, offset))


def _row_size(g: Generation) -> int:
    if is_open(g):
        return sites_row_size(g.mask_words, g.context.index.arguments)
    return _names_end(g) + 4 * (g.mask_words + len(g.numbered))


def _names_end(g: Generation) -> int:
    return _NAMES_END + 4 * bool(g.shared.probe_texts)


def argument_offset(g: Generation, number: int) -> int:
    """Where a row of sites says where the site's argument is."""
    return sites_row_size(g.mask_words, number)


def is_open(g: Generation) -> bool:
    """Whether the program's probes are not known yet: rows are written while it runs."""
    return isinstance(g.context.probes[0].firing, StaticPattern)


def open_table(g: Generation) -> MapSpec:
    """The map of rows that are written while the program runs."""
    return MapSpec(g.table, kinds.ARRAY, 4, SITES * _row_size(g), 1, kinds.F_RDONLY_PROG)


def masks(g: Generation, bits: Mapping[int, Iterable[int]]) -> tuple[tuple[int, ...], ...]:
    """For each of the program's probes the words of the mask that says which clauses it has."""
    return tuple(_mask(g, bits.get(probe.id, ())) for probe in g.context.probes)


def _mask(g: Generation, bits: Iterable[int]) -> tuple[int, ...]:
    words = [0] * g.mask_words
    for bit in bits:
        words[bit // MASK_BITS] |= 1 << bit % MASK_BITS
    return tuple(words)


def build_table(g: Generation, bits: Mapping[int, Iterable[int]]) -> bytes:
    """The rows of all indexes; those without a probe have identifier 0.

    `bits` has the numbers of the clauses, of those that not all probes have, by probe identifier.
    """
    size = _row_size(g)
    layout = struct.Struct(f"<{5 + bool(g.shared.probe_texts) + g.mask_words + len(g.numbered)}I")
    rows = bytearray(size * g.context.index.size)
    numbers: dict[str, int] = {}
    for place, probe in zip(g.context.index.places, g.context.probes, strict=True):
        names: tuple[str, ...] = (probe.provider, probe.module, probe.function, probe.name)
        if g.shared.probe_texts:
            names = (*names, g.shared.probe_texts.get(probe.id, ""))
        for name in names:
            if name not in numbers:
                numbers[name] = g.intern(name.encode())
        mask = _mask(g, bits.get(probe.id, ()))
        own = (g.shared.numbers[clause].get(probe.id, 0) for clause in g.numbered)
        layout.pack_into(rows, place * size, probe.id, *(numbers[name] for name in names), *mask, *own)
    return bytes(rows)
