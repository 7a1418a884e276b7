"""Whether a state need not be explored, because one that was explored covers it (states_equal(), regsafe() and
stacksafe() of kernel/bpf/verifier.c)."""

from __future__ import annotations

from sonde.runtime.verifier.relevance import Checkpoint, Needs, needs
from sonde.runtime.verifier.scalar import UNKNOWN, ZERO, ScalarValue, within
from sonde.runtime.verifier.stack import NOTHING, NULL, SPILL, StackSlot
from sonde.runtime.verifier.state import State
from sonde.runtime.verifier.values import PACKET, PACKET_META, PointerValue, Value


class _Names:
    """Which id of the new state stands for which one of the old: one to one."""

    __slots__ = ("alone", "back", "pairs")

    def __init__(self) -> None:
        self.pairs: dict[int, int] = {}
        self.back: dict[int, int] = {}
        self.alone = 0

    def match(self, old: int, new: int) -> bool:
        if not old or not new:
            return old == new
        return self.pairs.setdefault(old, new) == new and self.back.setdefault(new, old) == old

    def match_number(self, old: int, new: int) -> bool:
        """The same for numbers, where one without an id is like one with an id that no other has."""
        if not old:
            return True
        if not new:
            self.alone -= 1
            new = self.alone
        return self.match(old, new)


def covers(checkpoint: Checkpoint, state: State) -> bool:
    """Whether all that can happen from `state` on has been looked at from the checkpoint, which is complete, on."""
    return _alike(checkpoint.state, state) and _covers(checkpoint.state, state, checkpoint.needs)


def contains(checkpoint: Checkpoint, state: State, live: int) -> bool:
    """The same for a checkpoint of which is only known what may matter: every such value of the state is one of its."""
    old = checkpoint.state
    return _alike(old, state) and _covers(old, state, needs(old, live, live))


def equals(checkpoint: Checkpoint, state: State) -> bool:
    """Whether the state is the checkpoint's, but for the numbers of ids."""
    old = checkpoint.state
    if not _alike(old, state):
        return False
    names = _Names()
    for before, after in zip(old.frames, state.frames, strict=True):
        if before.stack.keys() != after.stack.keys():
            return False
        for a, b in zip(before.registers, after.registers, strict=True):
            if not _equal(a, b, names):
                return False
        for n, slot in before.stack.items():
            other = after.stack[n]
            if slot.kinds != other.kinds or not _equal(slot.value, other.value, names):
                return False
    return True


def _equal(a: Value, b: Value, names: _Names) -> bool:
    if a is None or b is None:
        return a is b
    if a[:-1] != b[:-1] or type(a) is not type(b):
        return False
    return names.match(a.id, b.id)


def _alike(old: State, new: State) -> bool:
    """The same functions are active, called from the same places, and as many references held."""
    return old.calls == new.calls and len(old.references) == len(new.references)


def _covers(old: State, new: State, places: Needs) -> bool:
    """Compare the places. The one that differs comes first the next time: it is likely to differ again."""
    names = _Names()
    frames = new.frames
    registers, slots = places
    for n, (frame, register, exact, before) in enumerate(registers):
        after = frames[frame].registers[register]
        if before is after and not before.id:
            continue
        if not _value(before, after, exact, names):
            if n:
                registers.insert(0, registers.pop(n))
            return False
    for n, (frame, slot, exact, held) in enumerate(slots):
        holds = frames[frame].stack.get(slot)
        if held is holds and (held.value is None or not held.value.id):
            continue
        if not _slot(held, holds, exact, names):
            if n:
                slots.insert(0, slots.pop(n))
            return False
    return _same_references(old, new, names)


def _same_references(old: State, new: State, names: _Names) -> bool:
    if not all(names.match(a, b) for a, b in zip(old.references, new.references, strict=True)):
        return False
    return all(
        names.match(a, b)
        for before, after in zip(old.frames, new.frames, strict=True)
        if before.held
        for a, b in zip(before.held, after.held, strict=True)
    )


def _value(old: Value, new: Value, exact: bool, names: _Names) -> bool:
    if old is None:
        return True
    if type(old) is ScalarValue:
        if type(new) is not ScalarValue:
            return False
        if not exact:
            return True
        if not within(old, new):
            return False
        # Copies that were told apart by no comparison in the old state must be copies in the new one.
        return not old.mask or names.match_number(old.id, new.id)
    if type(new) is not PointerValue:
        return False
    assert isinstance(old, PointerValue)
    if old.kind != new.kind or old.offset != new.offset or old.maybe_null != new.maybe_null:
        return False
    if old.referent is not new.referent and old.referent != new.referent:
        return False
    if old.kind in (PACKET, PACKET_META):
        if new.size < old.size:
            return False
    elif old.size != new.size:
        return False
    if old.variable is not new.variable and not within(old.variable, new.variable):
        return False
    return names.match(old.id, new.id)


_FULL = SPILL * 8


def _slot(old: StackSlot, new: StackSlot | None, exact: bool, names: _Names) -> bool:
    if new is None:
        return old.kinds == NOTHING * 8
    if old.kinds == _FULL:
        if new.kinds == _FULL:
            return _value(old.value, new.value, exact, names)
        # Eight bytes of anything are a number of which nothing is known.
        return (
            type(old.value) is ScalarValue
            and NOTHING not in new.kinds
            and (not exact or within(old.value, ZERO if new.kinds == NULL * 8 else UNKNOWN))
        )
    if type(new.value) is PointerValue:
        return False
    if old.kinds == new.kinds and old.value is new.value and not (exact and old.value is not None and old.value.id):
        return True
    if SPILL in old.kinds and exact:
        return old.kinds == new.kinds and _value(old.value, new.value, True, names)
    for a, b in zip(old.kinds, new.kinds, strict=True):
        if a == 0:
            continue
        if b == 0:
            return False
        if exact and a == NULL[0] and b != NULL[0] and not (b == SPILL[0] and new.value == ZERO):
            return False
    return True
