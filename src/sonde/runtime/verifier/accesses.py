"""Loads, stores and atomic operations: what they do to registers and to the stack."""

from __future__ import annotations

from collections.abc import Callable

from sonde.bpf import instructions as i
from sonde.runtime.verifier import stack
from sonde.runtime.verifier.arithmetic import loaded, sign_extended
from sonde.runtime.verifier.contexts import POINTER, SCALAR, find
from sonde.runtime.verifier.relevance import Effect, bit, slot_bits
from sonde.runtime.verifier.scalar import ScalarValue, unsigned, with_id
from sonde.runtime.verifier.state import State
from sonde.runtime.verifier.subject import Rewriting, Subject
from sonde.runtime.verifier.values import CONTEXT, OBJECT, STACK, PointerValue, Value


def load(subject: Subject, at: int, size: int, is_signed: bool) -> Callable[[State], Effect]:
    """The step of a load, plain or acquiring."""
    x = subject.code[at]
    dst, src, offset = x.dst, x.src, x.offset
    plain = Effect(kills=bit(dst), uses=bit(src))
    content = loaded(size, is_signed)

    def run(state: State) -> Effect:
        registers = state.frame.registers
        base = registers[src]
        assert type(base) is PointerValue
        if base.kind == CONTEXT:
            registers[dst] = _from_context(subject, at, base, offset, size, content)
            return plain
        subject.note(at, None)
        if base.kind == STACK:
            registers[dst], effect = _from_stack(subject, state, base, offset, size, is_signed, bit(dst), bit(src))
            return effect
        registers[dst] = content
        return plain

    return run


def _from_stack(
    subject: Subject, state: State, base: PointerValue, offset: int, size: int, is_signed: bool, dst: int, src: int
) -> tuple[Value, Effect]:
    low, high, level = extent(state, base, offset, size)
    read = slots(level, low, high)
    use(subject, state, base, low)
    if base.variable.mask:
        return loaded(size, is_signed), Effect(kills=dst, uses=src | read, demands=src)
    assert isinstance(base.referent, int)
    value = stack.load(state.frames[base.referent].stack, low, size)
    if value is None or value is unsigned(8 * size):
        # Any bytes that are there give as much: what they are does not matter, whatever becomes of the number.
        return loaded(size, is_signed), Effect(kills=dst, uses=src | read)
    if is_signed and size < 8 and type(value) is ScalarValue:
        value = sign_extended(with_id(value, 0), size, 64)
    return value, Effect(dst, dst, read, src | read)


def _from_context(subject: Subject, at: int, base: PointerValue, offset: int, size: int, content: ScalarValue) -> Value:
    """A field of the context, which for some is a pointer."""
    assert subject.context is not None
    seen = base.offset + offset
    access = find(subject.context, seen, size)
    subject.note(at, Rewriting(access.at - seen, access.size))
    subject.context_end = max(subject.context_end, seen + size)
    subject.context_seen.add(seen)
    field = access.field
    if field.kind == SCALAR:
        return content if subject.is_typed or size < 8 else PointerValue(OBJECT, referent="")
    if field.kind == POINTER:
        return PointerValue(OBJECT, referent=field.type)
    return PointerValue(field.kind)


def store(subject: Subject, at: int, size: int, number: ScalarValue | None) -> Callable[[State], Effect]:
    """The step of a store: of a number, or of the source register if that is None."""
    x = subject.code[at]
    dst, src, offset = x.dst, x.src, x.offset
    source = 0 if number is not None else bit(src)
    plain = Effect(uses=bit(dst) | source)

    def run(state: State) -> Effect:
        registers = state.frame.registers
        base = registers[dst]
        assert type(base) is PointerValue
        subject.note(at, _written(subject, base, offset, size) if base.kind == CONTEXT else None)
        if base.kind != STACK:
            return plain
        value: Value = number
        if number is None:
            value = registers[src]
            if type(value) is ScalarValue and value.mask and not value.id:
                registers[src] = value = with_id(value, subject.identities.give(at))
        return _to_stack(subject, state, base, offset, size, value, plain.uses, source)

    return run


def _written(subject: Subject, base: PointerValue, offset: int, size: int) -> Rewriting:
    assert subject.context is not None
    seen = base.offset + offset
    access = find(subject.context, seen, size, True)
    return Rewriting(access.at - seen, access.size)


def _to_stack(
    subject: Subject, state: State, base: PointerValue, offset: int, size: int, value: Value, uses: int, source: int
) -> Effect:
    low, high, level = extent(state, base, offset, size)
    assert isinstance(base.referent, int)
    of = state.frames[base.referent].stack
    use(subject, state, base, low)
    subject.write_stack(state.frames[base.referent].function, low)
    written = slots(level, low, high)
    if base.variable.mask:
        stack.disturb(of, low, high)
        return Effect(uses=uses, demands=uses & ~source)
    stack.store(of, low, size, value)
    return Effect(written if size == 8 else 0, written, source | (0 if size == 8 else written), uses)


def modify(subject: Subject, at: int, size: int) -> Callable[[State], Effect]:
    """The step of an atomic operation that reads and writes; the old value comes back where it is asked for."""
    x = subject.code[at]
    dst, src, offset = x.dst, x.src, x.offset
    fetched = 0 if x.imm == i.CMPXCHG else src if x.imm & i.FETCH else -1
    uses = bit(dst) | bit(src) | (bit(0) if x.imm == i.CMPXCHG else 0)
    kills = bit(fetched) if fetched >= 0 else 0
    plain = Effect(kills=kills, uses=uses)
    content = loaded(size, False)

    def run(state: State) -> Effect:
        base = state.frame.registers[dst]
        assert type(base) is PointerValue
        effect, before = plain, content
        subject.note(at, None)
        if base.kind == STACK:
            low, high, level = extent(state, base, offset, size)
            assert isinstance(base.referent, int)
            of = state.frames[base.referent].stack
            use(subject, state, base, low)
            subject.write_stack(state.frames[base.referent].function, low)
            held = stack.load(of, low, size) if not base.variable.mask else None
            if type(held) is ScalarValue:
                before = held
            stack.disturb(of, low, high)
            touched = slots(level, low, high)
            effect = Effect(kills, kills, touched, uses | touched, bit(dst))
        if fetched >= 0:
            state.frame.registers[fetched] = before
        return effect

    return run


def extent(state: State, base: PointerValue, offset: int, size: int) -> tuple[int, int, int]:
    """Where an access to a stack begins at the lowest and ends at the highest, and how many frames up it is."""
    start = base.offset + offset
    assert isinstance(base.referent, int)
    return start + base.variable.smin, start + base.variable.smax + size, len(state.frames) - 1 - base.referent


def slots(level: int, low: int, high: int) -> int:
    """The bits of the slots that hold bytes `low` to `high`."""
    return slot_bits(level, -high >> 3, (-low - 1) >> 3) if high > low else 0


def use(subject: Subject, state: State, base: PointerValue, low: int) -> None:
    """Remember how deep the stack of that frame's function is."""
    assert isinstance(base.referent, int)
    subject.use_stack(state.frames[base.referent].function, low)
