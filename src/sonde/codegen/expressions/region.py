"""A clause's scratch memory: the region that alloca() and copyin() take memory from.

The program sees the region's kernel addresses as numbers, so that whatever takes an address takes these. An access
through a pointer that is known to be one of them (`model/scratch.py`) subtracts the region's own address and compares
with what has been allocated. `top` counts the bytes allocated; it is 0 when a clause begins, so a pointer kept from
another clause, firing or CPU is out of bounds.

A clause-local variable may carry such a pointer from one clause to the next of the firing
(`codegen/clauses/carried.py`). Where a program has one, what the clauses that set it have allocated remains, and the
next one begins to allocate behind it.

An offset that has passed the comparisons is masked as well, which changes nothing: the verifier may have lost sight of
the comparisons when registers were spilled (before Linux 6.8 what it learns of one does not reach its copies).
"""

from __future__ import annotations

from sonde.codegen.basis.clause_state import Region
from sonde.codegen.basis.faults import BAD_ADDRESS, BAD_SIZE, OUT_OF_SCRATCH, fault, fault_if
from sonde.codegen.basis.generation import Generation
from sonde.codegen.basis.places import Memory, Remote
from sonde.codegen.intermediate.ir import Imm, Operand
from sonde.model import program as tree
from sonde.model.program import Clause
from sonde.model.scratch import GIVE_SCRATCH
from sonde.model.walk import nodes


def size_of_region(g: Generation) -> int:
    return g.shared.settings.scratch_region if g.carrying is None else g.carrying.size


def reserve(g: Generation) -> Memory:
    """The region's memory in the frame: behind any offset that the mask leaves there is room for all of its size."""
    if g.region_memory is None:
        size = size_of_region(g)
        g.region_memory = g.lasting((1 << size.bit_length()) + size + 8)
    return g.region_memory


def begin(g: Generation) -> None:
    """The region where a clause begins: empty, or with what the clauses before it have left."""
    memory = reserve(g)
    top = Imm(0) if g.carrying is None else taken(g)
    g.region = Region(memory, address_of(g, memory), g.b.copy(top), size_of_region(g))


def address_of(g: Generation, memory: Memory) -> Operand:
    """As a plain number."""
    box = g.number_box()
    g.b.store(box.base, box.offset, 8, g.address(memory))
    return g.b.load(box.base, box.offset, 8)


def taken(g: Generation) -> Operand:
    """Bytes that clauses before this one have left to it."""
    assert g.carrying is not None
    return g.b.load(g.carrying.taken.base, g.carrying.taken.offset, 8)


def is_used(g: Generation, clause: Clause) -> bool:
    return any(_uses(g, node) for node in nodes(clause))


def is_used_first(g: Generation, clause: Clause) -> bool:
    """Whether the region must be there before the predicate: it uses it, or a clause that faults there has one."""
    if g.carrying is not None:
        return is_used(g, clause)
    return clause.predicate is not None and is_used(g, clause._replace(statements=()))


def _uses(g: Generation, node: object) -> bool:
    if isinstance(node, tree.Call):
        return node.name in GIVE_SCRATCH
    return isinstance(node, (tree.Var, tree.Element)) and node.variable.id in g.shared.scratch


def allocate(g: Generation, size: Operand) -> tuple[Operand, Memory]:
    """So many bytes, in whole words: their address as a number, and where they are. What they hold is undefined."""
    region = _region(g)
    fault_if(g, "gt", size, Imm(g.shared.settings.scratch_region), OUT_OF_SCRATCH, size)
    start = g.b.copy(region.top)
    end = g.b.alu("add", start, g.b.alu("and", g.b.alu("add", size, Imm(7)), Imm(~7)))
    fault_if(g, "gt", end, Imm(region.size), OUT_OF_SCRATCH, size)
    if g.carrying is not None:
        own = g.b.alu("sub", end, taken(g))
        fault_if(g, "gt", own, Imm(g.shared.settings.scratch_region), OUT_OF_SCRATCH, size)
    g.b.move(region.top, end)
    return g.b.alu("add", region.address, start), _within(g, start)


def bounded(g: Generation, size: Operand) -> Operand:
    """A number of bytes that is at most the region's size, so that the verifier sees it."""
    return size if isinstance(size, Imm) else g.b.alu("and", size, Imm(_region(g).mask))


def checked(g: Generation, place: Remote, size: int) -> Memory:
    """The object of `size` bytes at a place in scratch memory; a fault unless all of it is allocated."""
    region = _region(g)
    offset, address = _offset(g, place)
    bad, inside, good = g.b.label(), g.b.label(), g.b.label()
    if size > region.size:
        g.b.jump(bad)
    g.b.branch("gt", offset, Imm(region.size), bad, inside)
    g.b.place(inside)
    g.b.branch("gt", g.b.alu("add", offset, Imm(size)), region.top, bad, good)
    g.b.place(bad)
    _fault_at(g, place, address)
    g.b.place(good)
    return _within(g, offset)


def span(g: Generation, place: Remote, size: Operand) -> Memory:
    """The same for a size found at run time: what begins outside is an invalid address, what only ends there an
    invalid size."""
    memory, room = _room(g, place, "gt")
    long, bad, good = g.b.label(), g.b.label(), g.b.label()
    g.b.branch("gt", size, room, long, good)
    g.b.place(long)
    with g.b.when("eq", room, Imm(0)):
        g.b.jump(bad)
    fault(g, BAD_SIZE, size)
    g.b.place(bad)
    _fault_at(g, place, g.b.alu("add", place.address, Imm(place.offset)))
    g.b.place(good)
    return memory


def available(g: Generation, place: Remote) -> tuple[Memory, Operand]:
    """A place in scratch memory and how many bytes are allocated from there on; a fault if there is none."""
    return _room(g, place, "ge")


def _room(g: Generation, place: Remote, outside: str) -> tuple[Memory, Operand]:
    region = _region(g)
    offset, address = _offset(g, place)
    bad, good = g.b.label(), g.b.label()
    g.b.branch(outside, offset, region.top, bad, good)
    g.b.place(bad)
    _fault_at(g, place, address)
    g.b.place(good)
    return _within(g, offset), bounded(g, g.b.alu("sub", region.top, offset))


def _region(g: Generation) -> Region:
    assert g.region is not None
    return g.region


def _offset(g: Generation, place: Remote) -> tuple[Operand, Operand]:
    """Where in the region the place is, if it is there, and its address."""
    address = g.b.alu("add", place.address, Imm(place.offset))
    return g.b.alu("sub", address, _region(g).address), address


def _within(g: Generation, offset: Operand) -> Memory:
    region = _region(g)
    masked = g.b.alu("and", offset, Imm(region.mask))
    base = g.b.in_register(g.b.alu("add", region.memory.base, masked))  # type: ignore[arg-type]
    return Memory(base, region.memory.offset)


def _fault_at(g: Generation, place: Remote, address: Operand) -> None:
    """Behind a NULL pointer it is NULL that is wrong, not the member's offset."""
    fault(g, BAD_ADDRESS, g.b.choose("eq", place.address, Imm(0), lambda: Imm(0), lambda: address))
