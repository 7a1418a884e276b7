"""The mapping of an address by the kernel's own tree of a process's mappings, and the file that is mapped there.

The tree is a maple tree (include/linux/maple_tree.h, Linux 6.1): nodes of 256 bytes with the last address of each slot
but one, and the slots, which are the next nodes or, in leaves, the mappings. It is walked as mtree_lookup_walk
(lib/maple_tree.c) does; a tree that is changed meanwhile leads elsewhere, which the mapping's own addresses tell.
"""

from __future__ import annotations

from sonde.arch import pages
from sonde.bpf.helpers import NUMBERS
from sonde.codegen.intermediate.builder import Builder
from sonde.codegen.intermediate.ir import BpfFunction, Imm, MapDescriptor, Operand, Reg, SlotAddress
from sonde.codegen.routines import unwinding
from sonde.codegen.routines.unwinding import BIAS, END, LOOK, NODE, NODE_SIZE, PROCESS, RETURNS, SPACE, START
from sonde.codegen.routines.work import get, put
from sonde.model.named_maps import UNWIND_FILES, UNWIND_WANTED
from sonde.typed import NamedTuple

_PAGE_BITS = pages.PAGE_BITS


class MappingOffsets(NamedTuple):
    """Where the kernel has a process's mappings and the file of each, in bytes."""

    root: int
    vdso: int
    pivot: int
    range_slot: int
    arange_slot: int
    start: int
    end: int
    page_offset: int
    flags: int
    file: int
    file_inode: int
    inode_sb: int
    inode_number: int
    inode_seconds: int
    inode_nanoseconds: int
    sb_device: int


class ReturnOffsets(NamedTuple):
    """Where struct return_instance of linux/uprobes.h has what is told of a function whose return is probed."""

    stack: int
    address: int
    next: int


_LEVELS = 7
"""More than a tree of any size has: a node has at least five children."""

_LEAF, _ARANGE = 1, 3
_TYPE, _TYPES = 3, 15
"""enum maple_type stands in the lower bits of the address of a node, from this one on."""

_PIVOTS = 15
_EXECUTABLE = 4
_QUERIED = 1 << 31
"""A bit of the nanoseconds that is none of their number (I_CTIME_QUERIED, linux/fs.h)."""

_DEEPEST = 64
"""Functions with probed returns that a thread may be in (MAX_URETPROBE_DEPTH, linux/uprobes.h)."""


def word(name: str) -> BpfFunction:
    """(address): the word of the kernel's memory there; 0 if there is none."""
    b = Builder(name)
    slot = b.slot(8)
    b.call(NUMBERS["probe_read_kernel"], SlotAddress(slot), Imm(8), b.function.parameters[0])
    b.ret(b.load(slot, 0, 8))
    return b.function


def _read(b: Builder, address: Operand, offset: int) -> Reg:
    return b.call_local("unwind_word", b.in_register(b.alu("add", address, Imm(offset))))


def find(name: str, offsets: MappingOffsets) -> BpfFunction:
    """(work): the mapping that the walk's address is in; 1 if that is nothing to execute. A file that is not known is
    noted for the session."""
    b = Builder(name)
    work = b.function.parameters[0]
    absent, leaf = b.label(), b.label()
    look, space = get(b, work, LOOK), get(b, work, SPACE)
    mapping = b.copy(_read(b, space, offsets.root))
    # A tree without nodes is that of no process.
    b.branch("ne", b.alu("and", mapping, Imm(3)), Imm(2), absent)
    down = "_".join(("unwind_down", str(offsets.pivot), str(offsets.range_slot), str(offsets.arange_slot)))
    left, again = b.copy(Imm(_LEVELS)), b.label()
    b.place(again)
    kind = b.in_register(b.alu("and", b.alu("rsh", mapping, Imm(_TYPE)), Imm(_TYPES)))
    b.move(mapping, b.call_local(down, work, mapping))
    b.branch("eq", mapping, Imm(0), absent)
    b.branch("eq", kind, Imm(_LEAF), leaf)
    b.move(left, b.alu("sub", left, Imm(1)))
    b.branch("ne", left, Imm(0), again)
    b.jump(absent)
    b.place(leaf)
    start, end = _read(b, mapping, offsets.start), _read(b, mapping, offsets.end)
    b.branch("lt", look, start, absent)
    b.branch("ge", look, end, absent)
    b.branch("eq", b.alu("and", _read(b, mapping, offsets.flags), Imm(_EXECUTABLE)), Imm(0), absent)
    put(b, work, START, start)
    put(b, work, END, end)
    _look_up(b, work, mapping, offsets)
    b.ret(Imm(0))
    b.place(absent)
    b.ret(Imm(1))
    return b.function


def _look_up(b: Builder, work: Reg, mapping: Reg, offsets: MappingOffsets) -> None:
    """Put the tables of the mapped file into the state, if it has any."""
    key, ready, nameless, end = b.slot(24), b.label(), b.label(), b.label()
    start = get(b, work, START)
    for place in (0, 8, 16):
        b.store(key, place, 8, Imm(0))
    put(b, work, BIAS, start)
    file = _read(b, mapping, offsets.file)
    b.branch("eq", file, Imm(0), nameless)
    pages = _read(b, mapping, offsets.page_offset)
    put(b, work, BIAS, b.alu("sub", start, b.alu("lsh", pages, Imm(_PAGE_BITS))))
    inode = _read(b, file, offsets.file_inode)
    b.store(key, 0, 8, _read(b, inode, offsets.inode_number))
    b.store(key, 8, 8, _read(b, inode, offsets.inode_seconds))
    b.store(key, 16, 4, _read(b, _read(b, inode, offsets.inode_sb), offsets.sb_device))
    b.store(key, 20, 4, b.alu("and", _read(b, inode, offsets.inode_nanoseconds), Imm(_QUERIED - 1)))
    b.jump(ready)
    b.place(nameless)
    # Memory that is no file's may be that of the kernel's own object.
    b.branch("ne", start, _read(b, get(b, work, SPACE), offsets.vdso), end)
    b.place(ready)
    found = b.call(NUMBERS["map_lookup_elem"], MapDescriptor(UNWIND_FILES), SlotAddress(key))
    known = b.label()
    b.branch("ne", found, Imm(0), known)
    wanted = b.slot(16)
    b.store(wanted, 0, 8, get(b, work, PROCESS))
    b.store(wanted, 8, 8, start)
    b.call(NUMBERS["map_update_elem"], MapDescriptor(UNWIND_WANTED), SlotAddress(key), SlotAddress(wanted), Imm(0))
    unwinding.note_missing(b, work)
    b.jump(end)
    b.place(known)
    unwinding.object_of(b, work, b.load(found, 0, 4))
    b.place(end)


def down(name: str, pivot: int, range_slot: int, arange_slot: int) -> BpfFunction:
    """(work, node): what is in the slot of the node that is for the walk's address; 0 if nothing is, or the node is
    not to be read."""
    b = Builder(name, 2)
    work, node = b.function.parameters
    bad = b.label()
    target = b.in_register(b.alu("add", work, Imm(NODE)))
    address = b.in_register(b.alu("and", node, Imm(-NODE_SIZE)))
    b.branch("slt", b.call(NUMBERS["probe_read_kernel"], target, Imm(NODE_SIZE), address), Imm(0), bad)
    page = b.in_register(b.alu("rsh", get(b, work, LOOK), Imm(_PAGE_BITS)))
    going, slot, place, again = b.copy(Imm(1)), b.copy(Imm(0)), b.copy(Imm(0)), b.label()
    # The slot is the first whose last page is not below; pages are small numbers, the kernel's own included. Behind
    # the fewer ones of a node with gaps there are slots, addresses of the kernel, which are above.
    b.place(again)
    last = b.alu("rsh", b.load(b.in_register(b.alu("add", target, place)), pivot, 8), Imm(_PAGE_BITS))
    b.move(going, b.alu("and", going, b.alu("rsh", b.alu("sub", last, page), Imm(63))))
    b.move(slot, b.alu("add", slot, going))
    b.move(place, b.alu("add", place, Imm(8)))
    b.branch("ne", place, Imm(8 * _PIVOTS), again)
    kind = b.alu("and", b.alu("rsh", node, Imm(_TYPE)), Imm(_TYPES))
    base = b.copy(Imm(range_slot))
    with b.when("eq", kind, Imm(_ARANGE)):
        b.move(base, Imm(arange_slot))
    chosen = b.alu("and", b.alu("add", base, b.alu("lsh", slot, Imm(3))), Imm(NODE_SIZE - 8))
    b.ret(b.load(b.in_register(b.alu("add", target, chosen)), 0, 8))
    b.place(bad)
    b.ret(Imm(0))
    return b.function


def returned(name: str, offsets: ReturnOffsets) -> BpfFunction:
    """(work, place): where the function returns to whose return address stood at `place`, 0 if its return is not
    probed."""
    b = Builder(name, 2)
    work, place = b.function.parameters
    found = b.call_local(f"unwind_instance_{offsets.stack}_{offsets.next}", get(b, work, RETURNS), place)
    with b.when("eq", found, Imm(0)):
        b.ret(Imm(0))
    # The callers of a function have been entered before it.
    put(b, work, RETURNS, found)
    b.ret(_read(b, found, offsets.address))
    return b.function


def instance(name: str, stack: int, following: int) -> BpfFunction:
    """(first, place): of the functions whose return is probed, from this one on, the one whose return address stood at
    `place`; 0 if none is. Stacks may lie in any order."""
    b = Builder(name, 2)
    first, place = b.function.parameters
    end, absent = b.label(), b.label()
    found, left, again = b.copy(first), b.copy(Imm(_DEEPEST)), b.label()
    b.place(again)
    b.branch("eq", found, Imm(0), absent)
    b.branch("eq", _read(b, found, stack), place, end)
    b.move(found, _read(b, found, following))
    b.move(left, b.alu("sub", left, Imm(1)))
    b.branch("ne", left, Imm(0), again)
    b.place(absent)
    b.ret(Imm(0))
    b.place(end)
    b.ret(found)
    return b.function
