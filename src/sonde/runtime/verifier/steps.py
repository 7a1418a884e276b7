"""What an instruction that goes straight on does to a state; its obligations have been met.

`step` makes a function for one instruction, with all that can be told from the instruction alone looked up; the
function changes the state and returns the effect.
"""

from __future__ import annotations

from collections.abc import Callable

from sonde.bpf import instructions as i
from sonde.bpf.instructions import Instruction
from sonde.runtime.verifier.accesses import load, modify, store
from sonde.runtime.verifier.arithmetic import compute, low_word, negated, sign_extended, swapped
from sonde.runtime.verifier.moving import moved
from sonde.runtime.verifier.relevance import Effect, bit
from sonde.runtime.verifier.scalar import MASK32, UNKNOWN, ScalarValue, constant, unsigned, with_id
from sonde.runtime.verifier.state import State
from sonde.runtime.verifier.subject import Subject
from sonde.runtime.verifier.values import FUNCTION, MAP, OBJECT, VALUE, PointerValue, Value
from sonde.typed import TypeAlias

Step: TypeAlias = Callable[[State], Effect]


def step(subject: Subject, at: int) -> Step:
    """The function for instruction `at`, which is none that jumps, calls or exits."""
    x = subject.code[at]
    group = x.opcode & 7
    if group == i.LD:
        return _set(x.dst, _immediate(subject, at))
    if group == i.LDX:
        return load(subject, at, i.BYTES_OF_SIZE[x.opcode & 0x18], x.opcode & 0xE0 == i.MEMSX)
    if group == i.ST:
        return store(subject, at, i.BYTES_OF_SIZE[x.opcode & 0x18], constant(x.imm))
    if group == i.STX:
        size = i.BYTES_OF_SIZE[x.opcode & 0x18]
        if x.opcode & 0xE0 != i.ATOMIC or x.imm == i.STORE_RELEASE:
            return store(subject, at, size, None)
        return load(subject, at, size, False) if x.imm == i.LOAD_ACQUIRE else modify(subject, at, size)
    return _arithmetic(subject, at, x, 64 if group == i.ALU64 else 32)


def _set(register: int, value: Value) -> Step:
    effect = Effect(kills=bit(register))

    def run(state: State) -> Effect:
        state.frame.registers[register] = value
        return effect

    return run


def _immediate(subject: Subject, at: int) -> Value:
    """What an LD_IMM64 loads; stamps are numbers that are not known."""
    x = subject.code[at]
    number = x.imm & MASK32 | subject.code[at + 1].imm << 32
    if x.src == i.PSEUDO_VALUE:
        return UNKNOWN if any(stamp.at == at for stamp in subject.program.stamps) else constant(number)
    if x.src == i.PSEUDO_FUNC:
        return PointerValue(FUNCTION, referent=at + 1 + x.imm)
    if x.src == i.PSEUDO_BTF_ID:
        return PointerValue(OBJECT, referent="a variable of the kernel")
    of = subject.maps[at]
    if x.src in (i.PSEUDO_MAP_VALUE, i.PSEUDO_MAP_INDEX_VALUE):
        return PointerValue(VALUE, offset=subject.code[at + 1].imm, size=of.value_size, referent=of)
    return PointerValue(MAP, referent=of)


def _arithmetic(subject: Subject, at: int, x: Instruction, bits: int) -> Step:
    operation = x.opcode & 0xF0
    if operation == i.MOV:
        return _move(subject, at, x, bits) if x.opcode & i.X else _set(x.dst, _moved_immediate(x, bits))
    if operation == i.END:
        return _unary(x.dst, lambda a: swapped(x.opcode, a, x.imm), UNKNOWN)
    if operation == i.NEG:
        return _unary(x.dst, lambda a: negated(a, bits), UNKNOWN)
    if x.opcode & i.X:
        return _binary(subject, at, operation, x, bits)
    return _by_constant(subject, at, operation, x, bits)


def _moved_immediate(x: Instruction, bits: int) -> ScalarValue:
    return constant(x.imm if bits == 64 else x.imm & MASK32)


def _unary(register: int, operate: Callable[[ScalarValue], ScalarValue], of_pointer: ScalarValue) -> Step:
    effect = Effect(uses=bit(register))

    def run(state: State) -> Effect:
        registers = state.frame.registers
        value = registers[register]
        registers[register] = operate(_anonymous(value)) if type(value) is ScalarValue else of_pointer
        return effect

    return run


def _anonymous(value: ScalarValue) -> ScalarValue:
    return with_id(value, 0) if value.id else value


def _move(subject: Subject, at: int, x: Instruction, bits: int) -> Step:
    dst, src, extended = x.dst, x.src, x.offset
    effect = Effect(bit(dst), bit(dst), bit(src), bit(src))
    identities = subject.identities

    def run(state: State) -> Effect:
        registers = state.frame.registers
        value = registers[src]
        if type(value) is not ScalarValue:
            # Part of a pointer is a number.
            registers[dst] = value if bits == 64 and not extended else UNKNOWN if bits == 64 else unsigned(32)
            return effect
        if extended:
            result = sign_extended(_anonymous(value), extended // 8, bits)
        elif bits == 32:
            result = low_word(_anonymous(value))
        else:
            result = value
        if result.mask and result[:10] == value[:10]:
            # A copy of the same number: what is found out about one holds for the other.
            if not value.id:
                registers[src] = value = with_id(value, identities.give(at))
            result = value
        registers[dst] = result
        return effect

    return run


def _by_constant(subject: Subject, at: int, operation: int, x: Instruction, bits: int) -> Step:
    dst = x.dst
    number = constant(x.imm if bits == 64 else x.imm & MASK32)
    effect = Effect(uses=bit(dst))

    def run(state: State) -> Effect:
        registers = state.frame.registers
        value = registers[dst]
        if type(value) is ScalarValue:
            registers[dst] = compute(operation, with_id(value, 0) if value.id else value, number, bits)
        else:
            assert type(value) is PointerValue
            registers[dst] = moved(subject, at, value, number, operation, bits)
        return effect

    return run


def _binary(subject: Subject, at: int, operation: int, x: Instruction, bits: int) -> Step:
    dst, src = x.dst, x.src
    both = bit(dst) | bit(src)
    of_numbers = Effect(0, bit(dst), both, both)
    by_source = Effect(0, 0, 0, both, bit(src))
    by_target = Effect(0, 0, 0, both, bit(dst))

    def run(state: State) -> Effect:
        registers = state.frame.registers
        left, right = registers[dst], registers[src]
        if type(left) is ScalarValue and type(right) is ScalarValue:
            registers[dst] = compute(operation, _anonymous(left), _anonymous(right), bits)
            return of_numbers
        if type(left) is PointerValue and type(right) is ScalarValue:
            registers[dst] = moved(subject, at, left, _anonymous(right), operation, bits)
            return by_source
        if type(left) is ScalarValue and type(right) is PointerValue:
            registers[dst] = moved(subject, at, right, _anonymous(left), operation, bits)
            return by_target
        registers[dst] = UNKNOWN
        return of_numbers

    return run
