"""Conditional jumps: the states on both ways (check_cond_jmp_op() of kernel/bpf/verifier.c)."""

from __future__ import annotations

from collections.abc import Callable

from sonde.bpf import instructions as i
from sonde.runtime.verifier.comparison import INVERSE, not_taken, taken
from sonde.runtime.verifier.relevance import FRAME_BITS, Effect, bit
from sonde.runtime.verifier.scalar import ScalarValue, constant
from sonde.runtime.verifier.state import READABLE, State
from sonde.runtime.verifier.subject import Subject
from sonde.runtime.verifier.values import OBJECT, PACKET, PACKET_END, PACKET_META, PointerValue, Value
from sonde.typed import TypeAlias

Ways: TypeAlias = tuple[State | None, State | None, Effect]
"""The state where the jump is taken, where it is not, None where that cannot be; and the effect."""


def branch(subject: Subject, at: int) -> Callable[[State], Ways]:
    """The function for a conditional jump: the state given becomes that of the way straight on, if there is one."""
    x = subject.code[at]
    bits = 64 if x.opcode & 7 == i.JMP else 32
    condition = x.opcode & 0xF0
    dst, src = x.dst, x.src if x.opcode & i.X else -1
    number = constant(x.imm if bits == 64 else x.imm & 0xFFFFFFFF)
    uses = bit(dst) | (bit(src) if src >= 0 else 0)
    undecided, decided = Effect(uses=uses), Effect(uses=uses, demands=uses)

    def run(state: State) -> Ways:
        left: Value = state.frame.registers[dst]
        right: Value = state.frame.registers[src] if src >= 0 else number
        if type(left) is ScalarValue and type(right) is ScalarValue:
            return _numbers(state, condition, left, right, dst, src, bits, decided, undecided)
        if type(left) is PointerValue and type(right) is ScalarValue and right.umax == 0 and bits == 64:
            return _with_null(state, condition, left, decided if src >= 0 else undecided)
        if type(left) is PointerValue and type(right) is PointerValue and bits == 64:
            _packets(other := state.copy(), condition, left, right)
            _packets(state, INVERSE.get(condition, condition), left, right)
            return other, state, undecided
        return state.copy(), state, undecided

    return run


def _numbers(
    state: State, condition: int, left: ScalarValue, right: ScalarValue, dst: int, src: int, bits: int, decided: Effect,
    undecided: Effect,
) -> Ways:  # fmt: skip
    if src == dst:
        right = left
    yes, no = taken(condition, left, right, bits), not_taken(condition, left, right, bits)
    if yes is None:
        return None, state, decided
    if no is None:
        return state, None, decided
    if src == dst:
        return state.copy(), state, undecided
    effect = _refining(state, left, right, undecided)
    other = state.copy()
    for each, pair in ((other, yes), (state, no)):
        _refine(each, dst, left, pair[0])
        if src >= 0:
            _refine(each, src, right, pair[1])
    return other, state, effect


def _refine(state: State, register: int, before: ScalarValue, after: ScalarValue) -> None:
    if after == before:
        return
    state.frame.registers[register] = after
    if after.id:
        state.relate(after)


def _refining(state: State, left: ScalarValue, right: ScalarValue, effect: Effect) -> Effect:
    """If the number in a register matters afterwards, so does each that it was compared with, or is a copy of."""
    related = effect.uses
    for value in (left, right):
        if value.id:
            related |= _copies(state, value.id)
    if related & related - 1 == 0:
        return effect
    return Effect(0, related, related, effect.uses, 0)


def _copies(state: State, identity: int) -> int:
    found = 0
    for level, frame in enumerate(reversed(state.frames)):
        shift = level * FRAME_BITS
        for n, value in enumerate(frame.registers):
            if type(value) is ScalarValue and value.id == identity:
                found |= 1 << n + shift
        for n, slot in frame.stack.items():
            if type(slot.value) is ScalarValue and slot.value.id == identity:
                found |= 1 << n + READABLE + shift
    return found


def _with_null(state: State, condition: int, pointer: PointerValue, effect: Effect) -> Ways:
    """A pointer compared with 0. No pointer that is not NULL is 0."""
    if not pointer.maybe_null:
        if _is_word(pointer):
            return state.copy(), state, effect
        if condition == i.JEQ:
            return None, state, effect
        if condition == i.JNE:
            return state, None, effect
        return state.copy(), state, effect
    other = state.copy()
    if condition in (i.JEQ, i.JNE):
        other.decide(pointer.id, condition == i.JEQ)
        state.decide(pointer.id, condition == i.JNE)
    return other, state, effect


def _is_word(pointer: PointerValue) -> bool:
    """Whether it may be 0 for all that is known: a word of the context, or a pointer that the kernel gave."""
    return pointer.kind == OBJECT and pointer.referent != "task_struct" and pointer.referent != "pt_regs"


def _packets(state: State, condition: int, left: PointerValue, right: PointerValue) -> None:
    """`left` `condition` `right` holds: if that says how far the packet reaches, all pointers into it know."""
    if (right.kind == PACKET_END and left.kind == PACKET) or (left.kind == PACKET_META and _is_start(right)):
        inside, closed = left, condition
    elif (left.kind == PACKET_END and right.kind == PACKET) or (right.kind == PACKET_META and _is_start(left)):
        inside, closed = right, _MIRRORED.get(condition, condition)
    else:
        return
    if closed == i.JLE:
        _reaches(state, inside, 0)
    elif closed == i.JLT:
        _reaches(state, inside, 1)


_MIRRORED = {i.JGT: i.JLT, i.JLT: i.JGT, i.JGE: i.JLE, i.JLE: i.JGE}


def _is_start(pointer: PointerValue) -> bool:
    return pointer.kind == PACKET and not pointer.offset and not pointer.variable.mask and not pointer.variable.value


_FARTHEST = 0xFFFF
"""Into a packet, for which a comparison counts (MAX_PACKET_OFF)."""


def _reaches(state: State, inside: PointerValue, more: int) -> None:
    """The packet has all the bytes before `inside`, and `more` behind it."""
    if inside.offset <= 0 or inside.variable.umax + inside.offset > _FARTHEST:
        return
    end = inside.offset + more

    def known(held: PointerValue | ScalarValue) -> PointerValue | ScalarValue:
        assert isinstance(held, PointerValue)
        return held._replace(size=max(held.size, end))

    state.replace(lambda held: type(held) is PointerValue and held.kind == inside.kind and held.id == inside.id, known)
