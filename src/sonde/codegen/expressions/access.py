"""Loading, storing and copying what lvalues denote, wherever it is."""

from __future__ import annotations

from collections.abc import Callable

from sonde.codegen.basis import firing_records
from sonde.codegen.basis.faults import BAD_ADDRESS, fault_or_go_on
from sonde.codegen.basis.generation import Generation
from sonde.codegen.basis.places import HeldInRegister, Memory, Place, Remote, Trusted
from sonde.codegen.expressions.region import available, checked
from sonde.codegen.expressions.resident import missing, read_user
from sonde.codegen.intermediate.arithmetic import signed
from sonde.codegen.intermediate.ir import Imm, Operand, Slot
from sonde.model import firing_record
from sonde.model.types import Type, is_signed, size_of

INLINE_WORDS = 80
"""Copies of more 8-byte words than this are left to a helper."""


def load(g: Generation, place: Place, type_: Type) -> Operand:
    """The integer or pointer at a place, extended to 64 bits."""
    return load_bytes(g, place, size_of(type_), is_signed(type_))


def load_bytes(g: Generation, place: Place, size: int, is_signed_: bool) -> Operand:
    if isinstance(place, HeldInRegister):
        return g.b.copy(place.register)
    if isinstance(place, Trusted):
        loaded = g.b.load(place.base, place.offset, size, is_signed_, invariant=True)
        if g.firing_record is not None:
            address = g.b.alu("add", plain(g, place.base), Imm(place.offset))
            firing_records.value(g, firing_record.KERNEL, address, loaded, size)
        return loaded
    if isinstance(place, Memory):
        return g.b.load(place.base, place.offset, size, is_signed_)
    if place.scratch:
        return load_bytes(g, checked(g, place, size), size, is_signed_)
    slot = g.b.slot(8)
    fetch(g, place, Memory(slot, 0), size)
    value = g.b.load(slot, 0, size, is_signed_)
    g.b.release(slot)
    return value


def fetch(g: Generation, place: Remote, memory: Memory, size: int) -> None:
    """Read `size` bytes at an address through a helper; a bad address is a fault."""
    if place.scratch:
        copy(g, checked(g, place, size), memory, size)
        return
    fetch_unchecked(g, place, memory, Imm(size))


def fetch_unchecked(g: Generation, place: Remote, memory: Memory, size: Operand) -> None:
    """The same for a size found at run time, and scratch memory whose bounds have been checked."""
    if place.anywhere:
        by_space(g, place, lambda one: fetch_unchecked(g, one, memory, size))
        return
    address = g.b.alu("add", place.address, Imm(place.offset))
    if place.user:
        result = read_user(g, "probe_read_user", memory, size, address)
    else:
        result = g.call("probe_read_kernel", g.argument_of(memory.base, memory.offset), size, address)
        if g.firing_record is not None:
            firing_records.read(g, firing_record.KERNEL, address, size, result, memory)
    good, bad = g.b.label(), g.b.label()
    g.b.branch("slt", result, Imm(0), bad, good)
    g.b.place(bad)
    # Behind a NULL pointer it is NULL that is wrong, not the member's offset.
    wrong = g.b.choose("eq", place.address, Imm(0), lambda: Imm(0), lambda: address)
    fault_or_go_on(g, missing(g) if place.user else BAD_ADDRESS, wrong)
    g.b.jump(good)
    g.b.place(good)


def by_space(g: Generation, place: Remote, read: Callable[[Remote], None]) -> None:
    """Read at an address that may be the kernel's or the process's, as the address itself tells."""
    of_kernel, of_process, end = g.b.label(), g.b.label(), g.b.label()
    place = place._replace(address=g.b.in_register(place.address), anywhere=False)
    g.b.branch("slt", place.address, Imm(0), of_kernel, of_process)
    g.b.place(of_kernel)
    read(place._replace(user=False))
    g.b.jump(end)
    g.b.place(of_process)
    read(place)
    g.b.jump(end)
    g.b.place(end)


def fetch_available(g: Generation, place: Remote, memory: Memory, size: int) -> None:
    """As much of `size` bytes in scratch memory as is allocated, then zeros."""
    source, room = available(g, place)
    zero(g, memory, size)
    length = g.b.copy(room)
    with g.b.when("gt", length, Imm(size)):
        g.b.move(length, Imm(size))
    g.call("probe_read_kernel", g.argument_of(memory.base, memory.offset), length, g.address(source))


def load_bits(g: Generation, place: Place, type_: Type, offset: int, width: int) -> Operand:
    """A bit-field: `width` bits, `offset` bits behind the place; only the bytes that hold it are touched."""
    low = offset % 8
    size = (low + width + 7) // 8
    where = reached(g, _moved(place, offset // 8), size)
    if isinstance(where, Remote) and size not in _WORDS:
        memory = Memory(g.b.slot(16 if size > 8 else 8), 0)
        fetch(g, where, memory, size)
        where = memory
    raw: Operand = Imm(0)
    for start, step in _pieces(where, size):
        piece = load_bytes(g, _moved(where, start), step, False)
        raw = g.b.alu("or", raw, _moved_up(g, piece, 8 * start - low))
    shifted = g.b.alu("lsh", raw, Imm(64 - width))
    return g.b.alu("arsh" if is_signed(type_) else "rsh", shifted, Imm(64 - width))


def _moved_up(g: Generation, number: Operand, bits: int) -> Operand:
    return g.b.alu("lsh", number, Imm(bits)) if bits >= 0 else g.b.alu("rsh", number, Imm(-bits))


def store_bits(g: Generation, place: Place, offset: int, width: int, value: Operand) -> None:
    """Set a bit-field and leave the bits around it as they are."""
    low = offset % 8
    size = (low + width + 7) // 8
    where = reached(g, _moved(place, offset // 8), size)
    bits = (1 << width) - 1
    kept = g.b.alu("and", value, Imm(signed(bits)))
    for start, step in _pieces(where, size):
        mask = (bits << low >> 8 * start) & ((1 << 8 * step) - 1)
        old = g.b.alu("and", load_bytes(g, _moved(where, start), step, False), Imm(signed(~mask)))
        store(g, _moved(where, start), step, g.b.alu("or", old, _moved_up(g, kept, low - 8 * start)))


_WORDS = (1, 2, 4, 8)


def _pieces(where: Place, size: int) -> list[tuple[int, int]]:
    """Offsets and sizes of loads that together are `size` bytes, in memory of ours each at a multiple of its size: on
    the stack the verifier takes no other (check_generic_ptr_alignment, kernel/bpf/verifier.c)."""
    if isinstance(where, (Remote, HeldInRegister)) and size in _WORDS:
        return [(0, size)]
    start, pieces = 0, []
    at = 0 if isinstance(where, HeldInRegister) else where.offset
    while start < size:
        step = next(each for each in (8, 4, 2, 1) if not (at + start) % each and each <= size - start)
        pieces.append((start, step))
        start += step
    return pieces


def _moved(place: Place, offset: int) -> Place:
    assert not isinstance(place, HeldInRegister)
    return place._replace(offset=place.offset + offset)


def store(g: Generation, place: Place, size: int, value: Operand) -> None:
    if isinstance(place, HeldInRegister):
        g.b.move(place.register, value)
    else:
        memory = reached(g, place, size)
        assert isinstance(memory, Memory)
        g.b.store(memory.base, memory.offset, size, value)


def reached(g: Generation, place: Place, size: int) -> Place:
    """The same place; if it is in scratch memory, with its bounds checked."""
    return checked(g, place, size) if isinstance(place, Remote) and place.scratch else place


def zero(g: Generation, memory: Memory, size: int) -> None:
    """`size` bytes of zeros; the offset of the memory is a multiple of 8 where the size is more than 8."""
    offset = memory.offset
    if size > INLINE_WORDS * 8:
        zeros = g.b.map_value(g.shared.maps.zeros(size))
        g.call("probe_read_kernel", g.argument_of(memory.base, offset), Imm(size), zeros)
        return
    for start, step in _steps(size):
        g.b.store(memory.base, offset + start, step, Imm(0))


def copy(g: Generation, source: Place, memory: Memory, size: int) -> None:
    """Copy an object of `size` bytes."""
    if isinstance(source, Remote):
        fetch(g, source, memory, size)
    elif isinstance(source, HeldInRegister):
        g.b.store(memory.base, memory.offset, size, source.register)
    elif isinstance(source, Trusted) or size > INLINE_WORDS * 8:
        address = g.argument_of(source.base, source.offset)
        g.call("probe_read_kernel", g.argument_of(memory.base, memory.offset), Imm(size), address)
    else:
        for start, step in _steps(size):
            word = g.b.load(source.base, source.offset + start, step)
            g.b.store(memory.base, memory.offset + start, step, word)


def _steps(size: int) -> list[tuple[int, int]]:
    """Offsets and sizes of the widest aligned pieces."""
    steps = [(start, 8) for start in range(0, size & ~7, 8)]
    start = size & ~7
    for step in (4, 2, 1):
        if size - start >= step:
            steps.append((start, step))
            start += step
    return steps


def address_of(g: Generation, place: Place) -> Operand:
    """The address as a number."""
    if isinstance(place, Remote):
        return g.b.alu("add", untracked(g, place).address, Imm(place.offset))
    assert not isinstance(place, HeldInRegister)
    return as_number(g, place)


def untracked(g: Generation, place: Remote) -> Remote:
    """The place by an address that is a number to the verifier."""
    return place._replace(address=plain(g, place.address), tracked=False) if place.tracked else place


def plain(g: Generation, pointer: Operand) -> Operand:
    """A pointer whose type the verifier may know, as a number of which it knows nothing."""
    return as_number(g, Trusted(g.b.in_register(pointer), 0))


def as_number(g: Generation, place: Memory | Trusted) -> Operand:
    """A pointer the verifier tracks, as a number it does not: stored and read back."""
    box = g.number_box()
    if isinstance(place.base, Slot):
        pointer = g.b.address(place.base, place.offset)
        g.b.store(box.base, box.offset, 8, pointer)
    else:
        pointer = g.b.in_register(g.b.alu("add", place.base, Imm(place.offset)))
        g.b.store(box.base, box.offset, 8, pointer)
    return g.b.load(box.base, box.offset, 8)
