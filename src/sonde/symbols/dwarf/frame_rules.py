"""Where each instruction of a function has its caller: the instructions of frame descriptions (DWARF 5, section 6.4.2),
as far as the registers tell by which frames are usually found (`arch/`: unwinding), which is nearly always."""

from __future__ import annotations

from sonde.arch import registers, unwinding
from sonde.symbols.dwarf.errors import DebugInfoError
from sonde.symbols.dwarf.forms import sleb128, uleb128
from sonde.typed import NamedTuple, TypeAlias

NONE, FROM_STACK, FROM_FRAME, FROM_BASE, FROM_REGISTER, AT_FRAME, AT_STACK, SIGNAL, LINKAGE, END, UNKNOWN = range(11)
"""The frame address is: not described; the stack pointer and an offset; the frame pointer and an offset, or the base
register; another register and an offset, which only the innermost frame knows; what is in memory at the frame pointer
and an offset, or at the stack pointer and an offset, and a number (functions that align their stack); in the context
that the kernel has left for a signal handler; that of an entry of the procedure linkage table, and a word more once it
has pushed. Or there is no caller; or the frame address is found in a way that is not known here."""

IN_REGISTER, BY_FRAME_ADDRESS, BY_FRAME_POINTER = range(3)
"""What the place at which a register was saved is counted from, if it is not in its register still."""


class Rule(NamedTuple):
    """`kind` says what `offset` is counted from; `more` is added to what is read there, or is where struct pt_regs has
    another register, or from which of its 16 bytes on a linkage table's entry has pushed. The frame pointer and the
    base register were saved at offsets."""

    kind: int
    offset: int = 0
    more: int = 0
    pointer: int = 0
    pointer_by: int = IN_REGISTER
    base: int = 0
    base_by: int = IN_REGISTER


NOTHING, OUTERMOST, NOT_KNOWN = Rule(NONE), Rule(END), Rule(UNKNOWN)

State: TypeAlias = "tuple[int, int, int, int, int, int, int, bool]"
"""Of a rule the kind, the offset, what is more, the frame pointer's place and the base register's; and whether there is
no caller."""

BEGINNING: State = (FROM_STACK, unwinding.AT_ENTRY, 0, 0, IN_REGISTER, 0, IN_REGISTER, False)
"""At a function's first instruction."""

_BASE, _POINTER, _RETURN = unwinding.BASE, unwinding.FRAME_POINTER, unwinding.RETURN
_KINDS = {unwinding.STACK_POINTER: FROM_STACK, _POINTER: FROM_FRAME, _BASE: FROM_BASE}

_AT_KINDS = {unwinding.BY_FRAME_POINTER: AT_FRAME, unwinding.BY_STACK_POINTER: AT_STACK}
_DEREFERENCE, _PLUS = 0x06, 0x23
_LITERAL = 0x30
_LINKAGE_BEGINS, _LINKAGE_ENDS = unwinding.LINKAGE

_RETURN_OFFSET = unwinding.RETURN_OFFSET
_RANGE, _SMALL = 1 << 31, 1 << 15
_OPERANDS = {0x07: "", 0x08: "", 0x09: "u", 0x14: "u", 0x15: "s", 0x16: "b"}
"""Instructions that keep a register in another way than at an offset: what follows its number, as u unsigned, s signed,
b a block."""


def rule(state: State) -> Rule:
    kind, offset, more, pointer, pointer_by, base, base_by, is_outermost = state
    if is_outermost:
        return OUTERMOST
    if kind == UNKNOWN or not -_RANGE <= offset < _RANGE or not -_SMALL <= more < _SMALL:
        return NOT_KNOWN
    if pointer_by == IN_REGISTER or not -_RANGE <= pointer < _RANGE:
        pointer = pointer_by = IN_REGISTER
    if base_by == IN_REGISTER or not -_RANGE <= base < _RANGE:
        base = base_by = IN_REGISTER
    return Rule(kind, offset, more, pointer, pointer_by, base, base_by)


def run(data: bytes, code_factor: int, data_factor: int, first: State) -> tuple[list[tuple[int, State]], State]:
    """The states of the code before each advance, with their distances from the function's beginning, the last one
    included; and the last one. Raises IndexError or DebugInfoError."""
    kind, offset, more, pointer, pointer_by, base, base_by, is_outermost = first
    kept: list[State] = []
    found: list[tuple[int, State]] = []
    location = at = 0
    end = len(data)
    # Of a large program there are a million of these: all that is usual is done here.
    while at < end:
        opcode = data[at]
        at += 1
        high, low = opcode & 0xC0, opcode & 0x3F
        if high == 0x40 or 2 <= opcode <= 4:
            found.append((location, (kind, offset, more, pointer, pointer_by, base, base_by, is_outermost)))
            if high:
                location += low * code_factor
            else:
                size = 1 << opcode - 2
                location += int.from_bytes(data[at : at + size], "little") * code_factor
                at += size
        elif high == 0x80:
            value, at = uleb128(data, at)
            if low == _POINTER:
                pointer, pointer_by = value * data_factor, BY_FRAME_ADDRESS
            elif low == _BASE:
                base, base_by = value * data_factor, BY_FRAME_ADDRESS
            elif low == _RETURN:
                is_outermost = is_outermost or value * data_factor != _RETURN_OFFSET
        elif high == 0xC0:
            if low == _POINTER:
                pointer, pointer_by = first[3:5]
            elif low == _BASE:
                base, base_by = first[5:7]
        elif opcode == 0x0E:
            offset, at = uleb128(data, at)
        elif opcode == 0x0A:
            kept.append((kind, offset, more, pointer, pointer_by, base, base_by, is_outermost))
        elif opcode == 0x0B:
            kind, offset, more, pointer, pointer_by, base, base_by, is_outermost = kept.pop()
        elif opcode == 0x0D:
            register, at = uleb128(data, at)
            kind, more = _counted(register)
        elif opcode:
            state = kind, offset, more, pointer, pointer_by, base, base_by, is_outermost
            state, at = _seldom(data, opcode, at, state, first, data_factor)
            kind, offset, more, pointer, pointer_by, base, base_by, is_outermost = state
    last = kind, offset, more, pointer, pointer_by, base, base_by, is_outermost
    found.append((location, last))
    return found, last


def _seldom(data: bytes, opcode: int, at: int, state: State, first: State, factor: int) -> tuple[State, int]:
    """An instruction that finds the frame address anew, or tells of a register by a longer number or in another
    way."""
    if opcode in (0x0F, 0x13):
        value, at = (uleb128 if opcode == 0x0F else sleb128)(data, at)
        if opcode == 0x13:
            return (state[0], value * factor, *state[2:]), at
        return (*_by_expression(data[at : at + value]), *state[3:]), at + value
    register, at = uleb128(data, at)
    if opcode in (0x0C, 0x12):
        offset, at = (uleb128 if opcode == 0x0C else sleb128)(data, at)
        kind, more = _counted(register)
        return (kind, offset * (factor if opcode == 0x12 else 1), more, *state[3:]), at
    if opcode in (0x05, 0x11):
        offset, at = (uleb128 if opcode == 0x05 else sleb128)(data, at)
        return _saved(state, register, offset * factor, BY_FRAME_ADDRESS), at
    if opcode == 0x06:
        return _restored(state, register, first), at
    if opcode == 0x10:
        size, at = uleb128(data, at)
        return _saved(state, register, *_by_frame_pointer(data[at : at + size])), at + size
    if opcode == 0x2E:
        return state, at
    if opcode not in _OPERANDS:
        raise DebugInfoError(f"instruction {opcode:#x} of frame descriptions is not known")
    for operand in _OPERANDS[opcode]:
        size, at = (sleb128 if operand == "s" else uleb128)(data, at)
        at += size if operand == "b" else 0
    return _saved(state, register, 0, IN_REGISTER), at


def _counted(register: int) -> tuple[int, int]:
    """The kind for a register, and its place where that must be said."""
    kind = _KINDS.get(register)
    if kind is not None:
        return kind, 0
    return (FROM_REGISTER, registers.BY_DWARF_NUMBER[register]) if register < _RETURN else (UNKNOWN, 0)


def _saved(state: State, register: int, offset: int, by: int) -> State:
    if register == _POINTER:
        return (*state[:3], offset, by, *state[5:])
    if register == _BASE:
        return (*state[:5], offset, by, state[7])
    if register == _RETURN and (offset != _RETURN_OFFSET or by != BY_FRAME_ADDRESS):
        # It is nowhere: there is no caller.
        return (*state[:7], True)
    return state


def _restored(state: State, register: int, first: State) -> State:
    if register == _POINTER:
        return (*state[:3], *first[3:5], *state[5:])
    return (*state[:5], *first[5:7], state[7]) if register == _BASE else state


def _by_expression(expression: bytes) -> tuple[int, int, int]:
    """What compilers, linkers and people write: a word at the frame or stack pointer and an offset, and a number; and
    the rule of the procedure linkage table."""
    if expression[:6] == _LINKAGE_BEGINS and expression[7:] == _LINKAGE_ENDS:
        return LINKAGE, unwinding.AT_ENTRY, expression[6] - _LITERAL
    kind = _AT_KINDS.get(expression[0]) if expression else None
    if kind is not None:
        offset, at = sleb128(expression, 1)
        if expression[at:] == bytes((_DEREFERENCE,)):
            return kind, offset, 0
        if expression[at : at + 2] == bytes((_DEREFERENCE, _PLUS)):
            more, at = uleb128(expression, at + 2)
            if at == len(expression):
                return kind, offset, more
    return UNKNOWN, 0, 0


def _by_frame_pointer(expression: bytes) -> tuple[int, int]:
    """The place of a register in a function that aligns its stack, which counts from the frame pointer."""
    if expression[:1] == bytes((unwinding.BY_FRAME_POINTER,)):
        offset, at = sleb128(expression, 1)
        if at == len(expression):
            return offset, BY_FRAME_POINTER
    return 0, IN_REGISTER
