"""The mapping of an address by what the session has noted of each process: for engines without the kernel's own tree of
mappings, and kernels before Linux 6.1.

Two arrays are searched: the first has for each process which entries of the second are its, and that has mappings by
address."""

from __future__ import annotations

from sonde.arch import pages
from sonde.codegen.intermediate.builder import Builder
from sonde.codegen.intermediate.ir import BpfFunction, Imm
from sonde.codegen.routines import unwinding
from sonde.codegen.routines.unwinding import BIAS, END, LOOK, MAPPINGS, SPACE, START
from sonde.codegen.routines.work import get, put
from sonde.model.named_maps import UNWIND_MAPPINGS

_PAGE_BITS = pages.PAGE_BITS

_SIZE, _STEPS = 32, 16
_START, _END, _BIAS, _OBJECT = 0, 8, 16, 24


def find(name: str) -> BpfFunction:
    """(work): the mapping that the walk's address is in. What is in none may be in one that is not noted yet: it is
    taken for code that no table describes."""
    b = Builder(name)
    work = b.function.parameters[0]
    look = get(b, work, LOOK)
    unknown = b.label()
    key = b.in_register(b.alu("rsh", look, Imm(_PAGE_BITS)))
    number = b.call_local("unwind_mapping", get(b, work, SPACE), get(b, work, MAPPINGS), key)
    mapping = unwinding.entry(b, UNWIND_MAPPINGS, number, _SIZE, unknown)
    b.branch("lt", look, b.load(mapping, _START, 8), unknown)
    b.branch("ge", look, b.load(mapping, _END, 8), unknown)
    for word, place in ((START, _START), (END, _END), (BIAS, _BIAS)):
        put(b, work, word, b.load(mapping, place, 8))
    unwinding.object_of(b, work, b.load(mapping, _OBJECT, 4))
    b.ret(Imm(0))
    b.place(unknown)
    put(b, work, END, Imm(0))
    unwinding.note_missing(b, work)
    b.ret(Imm(0))
    return b.function


def mapping(name: str) -> BpfFunction:
    """(first, count, page): the number of the last mapping from `first` on that begins at or below a page."""
    return unwinding.search(
        name,
        UNWIND_MAPPINGS,
        _SIZE,
        _STEPS,
        lambda b, entry: b.alu("rsh", b.load(entry, _START, 8), Imm(_PAGE_BITS)),
    )
