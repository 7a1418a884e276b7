"""Whether bytes that a pointer leads to may be accessed: check_mem_access() of kernel/bpf/verifier.c.

The functions give None, or what is wrong in words that complete "r1 ...".
"""

from __future__ import annotations

from sonde.bpf import maps, programs
from sonde.model.spec import MapSpec
from sonde.runtime.verifier import stack
from sonde.runtime.verifier.contexts import ContextError, ContextTable, find
from sonde.runtime.verifier.state import State
from sonde.runtime.verifier.subject import Subject
from sonde.runtime.verifier.values import (
    CONTEXT,
    KEY,
    MEMORY,
    OBJECT,
    PACKET,
    PACKET_META,
    RECORD,
    SLOT,
    STACK,
    VALUE,
    PointerValue,
    Value,
    show,
)

FARTHEST = 1 << 29
"""No pointer is farther from what it points to (BPF_MAX_VAR_OFF)."""

_NAMES = {
    VALUE: "the map's value", RECORD: "the record", SLOT: "the slot", MEMORY: "the memory", PACKET: "the packet",
    PACKET_META: "the packet's metadata",
}  # fmt: skip


def what(size: int, is_write: bool) -> str:
    """An access in words: "the read of 8 bytes"."""
    return f"the {'write' if is_write else 'read'} of {size} byte{'s' if size != 1 else ''}"


def null_problem(subject: Subject, pointer: PointerValue, before: str) -> str:
    """A pointer that may be NULL is used."""
    at = subject.identities.origins[pointer.id]
    return f"may be NULL: it comes from {subject.name_of(at)} at {at} and is not compared with 0 before {before}"


def direct(
    subject: Subject, state: State, value: Value, offset: int, size: int, is_write: bool, is_atomic: bool,
    is_signed: bool,
) -> str | None:  # fmt: skip
    """A load, a store or an atomic operation on `size` bytes at `value` + `offset`."""
    if type(value) is not PointerValue:
        return f"is a number, not a pointer: {what(size, is_write)} at it is not possible"
    if value.maybe_null:
        return null_problem(subject, value, what(size, is_write))
    kind = value.kind
    if kind == CONTEXT:
        return _context(subject, value, offset, size, is_write, is_atomic, is_signed)
    if kind == OBJECT:
        return _object(subject, value, offset, size, is_write)
    if kind == STACK and not value.variable.mask:
        total = value.offset + offset
        if total % size:
            return f"leads to offset {total} of the stack, which is not a multiple of {size}: {what(size, is_write)}"
        assert isinstance(value.referent, int)
        if size < 8 and not is_write and stack.holds_pointer(state.frames[value.referent].stack, total):
            return f"leads to a pointer on the stack, of which only all 8 bytes can be read: {what(size, is_write)}"
    if is_atomic and (value.offset + offset | value.variable.value | value.variable.mask) % size:
        return f"leads to a place that is not a multiple of {size}: an atomic operation on {size} bytes"
    if is_atomic and kind in (PACKET, PACKET_META):
        return f"points to {_NAMES[kind]}, which has no atomic operations"
    return region(subject, state, value, offset, size, is_write, what(size, is_write))


def region(
    subject: Subject, state: State, value: PointerValue, offset: int, size: int, is_write: bool, doing: str
) -> str | None:
    """`size` bytes of plain memory, for a load, a store or a helper; by strict rules what is read of the stack has been
    written."""
    if value.kind == STACK:
        return _stack(subject, state, value, offset, size, is_write, doing)
    if value.kind not in _NAMES:
        return f"is {show(value)}, which has no bytes to access: {doing}"
    if isinstance(value.referent, MapSpec):
        problem = _flags(value.referent, is_write)
        if problem:
            return problem
    if is_write and value.referent == KEY:
        return f"points to the key of an element, which cannot be changed: {doing}"
    if is_write and value.kind in (PACKET, PACKET_META) and subject.kind == programs.SOCKET_FILTER:
        return f"points to the packet, which programs of this type may not write: {doing}"
    return _inside(value, offset, size, doing)


def _flags(of: MapSpec, is_write: bool) -> str | None:
    if is_write and of.flags & maps.F_RDONLY_PROG:
        return f"points into map {of.name}, which programs may not write"
    if not is_write and of.flags & maps.F_WRONLY_PROG:
        return f"points into map {of.name}, which programs may not read"
    return None


def _inside(value: PointerValue, offset: int, size: int, doing: str) -> str | None:
    variable = value.variable
    start = value.offset + offset
    where = _NAMES[value.kind]
    if start + variable.smin < 0:
        if not variable.mask:
            return f"leads {-(start + variable.smin)} bytes before the start of {where}: {doing}"
        return (
            f"may lead before the start of {where}: its offset is {variable.smin} at least, compare it first: {doing}"
        )
    if variable.umax >= FARTHEST:
        which = (
            "may be negative: compare it with 0" if variable.smin < 0 else "is not bounded: compare it with the size"
        )
        return f"has an offset into {where} that {which} first: {doing}"
    if value.kind in (PACKET, PACKET_META):
        if start < 0 or start + size > value.size:
            return (
                f"is compared with the packet's end up to byte {value.size} only, "
                f"but {doing} ends at byte {start + size}: compare it with data_end first"
            )
        return None
    end = start + variable.umax + size
    if end <= value.size:
        return None
    if variable.mask:
        return (
            f"may lead behind the end of {where}: {doing} at offset {start + variable.umin} to {start + variable.umax} "
            f"of {value.size} bytes; compare the offset with the size first"
        )
    return f"leads behind the end of {where}: {doing} at offset {start + variable.umin} of {value.size} bytes"


def _stack(
    subject: Subject, state: State, value: PointerValue, offset: int, size: int, is_write: bool, doing: str
) -> str | None:
    variable = value.variable
    if variable.smin <= -FARTHEST or variable.smax >= FARTHEST:
        return f"has an offset into the stack that is not bounded: {doing}"
    low = value.offset + offset + variable.smin
    high = value.offset + offset + variable.smax + size
    if low < -stack.SIZE or high > 0:
        return f"leads to offset {low} of the stack, outside of its {stack.SIZE} bytes: {doing}"
    if is_write or not subject.rules.unwritten_stack:
        return None
    assert isinstance(value.referent, int)
    of = state.frames[value.referent].stack
    missing = stack.first_missing(of, low, high)
    if missing is None:
        return None
    return f"leads to byte {missing} of the stack, which was never written: {doing}"


def _context(
    subject: Subject, value: PointerValue, offset: int, size: int, is_write: bool, is_atomic: bool, is_signed: bool
) -> str | None:
    if is_atomic:
        return "points to the context, which has no atomic operations"
    if value.variable.mask or value.variable.value:
        return f"has an offset into the context that is not a constant: {what(size, is_write)}"
    assert subject.context is not None
    try:
        find(subject.context, value.offset + offset, size, is_write, is_signed)
    except ContextError as error:
        return f"points to the context: {error}"
    return None


def whole_context(context: ContextTable, value: PointerValue, size: int, doing: str) -> str | None:
    """The same for `size` bytes of a context that is plain memory."""
    low, high = value.offset + value.variable.smin, value.offset + value.variable.smax + size
    if low >= 0 and high <= context.size:
        return None
    return f"leads to bytes {low} to {high} of the context, which has {context.size}: {doing}"


def _object(subject: Subject, value: PointerValue, offset: int, size: int, is_write: bool) -> str | None:
    name = str(value.referent) or "a structure of the kernel"
    if is_write:
        return f"points to {name}, which programs may not write"
    if value.variable.mask:
        return f"has an offset into {name} that is not a constant: {what(size, is_write)}"
    start = value.offset + value.variable.smin + offset
    end = subject.size_of(name)
    if start < 0:
        return f"leads before the start of {name}: {what(size, is_write)}"
    if end is not None and start + size > end:
        return f"leads behind the end of {name}: {what(size, is_write)} at offset {start} of {end} bytes"
    return None
