"""The stack of one frame: 64 slots of 8 bytes, by number; slot n is at -8 * (n + 1) from the frame's end.

A slot is what each of its bytes is and the value that was spilled there. Slots are values; a frame's stack is a
dictionary of those that were written.
"""

from __future__ import annotations

from sonde.runtime.verifier.arithmetic import low_bytes
from sonde.runtime.verifier.scalar import ZERO, ScalarValue, unsigned
from sonde.runtime.verifier.values import PointerValue, Value
from sonde.typed import NamedTuple, TypeAlias

SIZE = 512
SLOTS = SIZE // 8

NOTHING, MISC, NULL, SPILL = b"\0", b"m", b"0", b"s"
"""What a byte of a slot is: never written, any number, zero, part of the spilled value."""


class StackSlot(NamedTuple):
    """`kinds` has one byte for each, the lowest address first. A `value` was spilled to the lowest of them."""

    kinds: bytes
    value: Value = None


Stack: TypeAlias = dict[int, StackSlot]

NEVER_WRITTEN = StackSlot(NOTHING * 8)
ANYTHING = StackSlot(MISC * 8)
_SPILLED = SPILL * 8
ZEROS = StackSlot(_SPILLED, ZERO)


def place(offset: int) -> tuple[int, int]:
    """Slot, and byte in it, at an offset from the frame's end."""
    slot = (-offset - 1) >> 3
    return slot, offset + 8 * (slot + 1)


def store(stack: Stack, offset: int, size: int, value: Value) -> None:
    """Write a register's low `size` bytes; the access is aligned, so it is within one slot."""
    slot, at = place(offset)
    if size == 8:
        stack[slot] = StackSlot(_SPILLED, value)
        return
    before = _without_spill(stack.get(slot, NEVER_WRITTEN))
    if at == 0 and type(value) is ScalarValue:
        narrow = low_bytes(value, size)
        # The copy in the slot is one of the register only as long as both are the same number.
        kept = value if narrow[:10] == value[:10] else narrow
        stack[slot] = StackSlot(SPILL * size + before[size:], kept)
        return
    kind = NULL if type(value) is ScalarValue and low_bytes(value, size).umax == 0 else MISC
    stack[slot] = StackSlot(before[:at] + kind * size + before[at + size :])


def _without_spill(slot: StackSlot) -> bytes:
    """The kinds of bytes when some are about to be overwritten: what is left of a spilled value is any number."""
    if SPILL not in slot.kinds:
        return slot.kinds
    left = NULL if slot.value == ZERO else MISC
    return slot.kinds.replace(SPILL, left)


def load(stack: Stack, offset: int, size: int) -> Value:
    """What a read of `size` aligned bytes gives; None if one of them was never written."""
    slot, at = place(offset)
    found = stack.get(slot)
    if found is None:
        return None
    kinds = found.kinds
    if size == 8 and kinds == _SPILLED:
        return found.value
    read = kinds[at : at + size]
    if NOTHING in read:
        return None
    value = found.value
    if type(value) is ScalarValue:
        if at == 0 and read == SPILL * size:
            narrow = low_bytes(value, size)
            return value if narrow[:10] == value[:10] else narrow
        if value.umax == 0:
            read = read.replace(SPILL, NULL)
    if read == NULL * size:
        return ZERO
    return unsigned(8 * size)


def constant_at(stack: Stack, offset: int, size: int) -> int | None:
    """The number in `size` bytes if it is known, and either 0 or what was spilled there with this size."""
    slot, at = place(offset)
    found = stack.get(slot)
    if found is None:
        return None
    kinds = found.kinds[at:]
    if kinds.startswith(NULL * size):
        return 0
    value = found.value
    if at or type(value) is not ScalarValue or kinds[:size] != SPILL * size or kinds[size:].startswith(SPILL):
        return None
    low = low_bytes(value, size)
    return None if low.mask else low.value


def holds_pointer(stack: Stack, offset: int) -> bool:
    """Whether the byte there is one of a spilled pointer."""
    slot = stack.get((-offset - 1) >> 3)
    return slot is not None and type(slot.value) is PointerValue


def clobber(stack: Stack, low: int, high: int) -> None:
    """Bytes `low` to `high` (offsets from the frame's end) were written, by something unknown."""
    for offset in range(low & ~7, high, 8):
        slot = -offset // 8 - 1
        if low <= offset and offset + 8 <= high:
            stack[slot] = ANYTHING
        else:
            kinds = _without_spill(stack.get(slot, NEVER_WRITTEN))
            first, last = max(low - offset, 0), min(high - offset, 8)
            stack[slot] = StackSlot(kinds[:first] + MISC * (last - first) + kinds[last:])


def disturb(stack: Stack, low: int, high: int) -> None:
    """Some of these bytes may have been written: what was there is not known, what was not is still missing."""
    for offset in range(low & ~7, high, 8):
        slot = -offset // 8 - 1
        if slot in stack:
            kinds = _without_spill(stack[slot])
            first, last = max(low - offset, 0), min(high - offset, 8)
            stack[slot] = StackSlot(kinds[:first] + kinds[first:last].replace(NULL, MISC) + kinds[last:])


def is_missing(stack: Stack, low: int, high: int) -> bool:
    """Whether no byte of `low` to `high` was written."""
    for offset in range(low & ~7, high, 8):
        slot = stack.get(-offset // 8 - 1)
        if slot is not None and slot.kinds[max(low - offset, 0) : min(high - offset, 8)].strip(NOTHING):
            return False
    return True


def first_missing(stack: Stack, low: int, high: int) -> int | None:
    """The offset of the first byte of `low` to `high` that was never written."""
    for offset in range(low & ~7, high, 8):
        slot = stack.get(-offset // 8 - 1)
        if slot is not None and NOTHING not in slot.kinds:
            continue
        for at in range(max(low - offset, 0), min(high - offset, 8)):
            if slot is None or slot.kinds[at : at + 1] == NOTHING:
                return offset + at
    return None
