"""DWARF location expressions evaluated symbolically: the operations become trees (DWARF 5, section 2.5)."""

from __future__ import annotations

from collections.abc import Callable

from sonde.model.location import (
    MASK,
    Address,
    Binary,
    Chosen,
    Constant,
    EntryParameter,
    EntryRegister,
    InMemory,
    InRegister,
    IsBytes,
    IsValue,
    KernelAddress,
    Load,
    Nowhere,
    Piece,
    PointsInto,
    Register,
    ThreadLocal,
    ThreadPointer,
    Value,
    VariablePlace,
    binary,
    extend,
    unary,
)
from sonde.symbols.dwarf.errors import DebugInfoError
from sonde.symbols.dwarf.forms import sleb128, uleb128
from sonde.typed import NamedTuple

_LONGEST = 4096
"""Operations in one expression, those that are gone through again after a jump among them."""
_LARGEST = 1 << 12
"""Parts of one value: `dup` and `plus` can double it with every two bytes."""

_BINARY = {0x1A: "and", 0x1B: "div", 0x1C: "minus", 0x1D: "umod", 0x1E: "mul", 0x21: "or", 0x22: "plus", 0x24: "shl",
           0x25: "shr", 0x26: "shra", 0x27: "xor", 0x29: "eq", 0x2A: "ge", 0x2B: "gt", 0x2C: "le", 0x2D: "lt",
           0x2E: "ne"}  # fmt: skip
_UNSIGNED = {"div": "udiv", "ge": "uge", "gt": "ugt", "le": "ule", "lt": "ult"}
_UNARY = {0x19: "abs", 0x1F: "neg", 0x20: "not"}
_CONSTANTS = {0x08: (1, False), 0x09: (1, True), 0x0A: (2, False), 0x0B: (2, True), 0x0C: (4, False),
              0x0D: (4, True), 0x0E: (8, False), 0x0F: (8, True)}  # fmt: skip
_NOP, _UNINITIALIZED = 0x96, 0xF0


class BaseType(NamedTuple):
    """What a base type is to an expression: `is_float` cannot be computed with."""

    size: int
    signed: bool
    is_float: bool = False


class ExpressionSurroundings(NamedTuple):
    """What an expression may refer to; each raises DebugInfoError where it is not known.

    `frame_base` and `cfa` give addresses, `address` the one with an index in .debug_addr, `base_type` the type at an
    offset in the unit.
    """

    frame_base: Callable[[], Value]
    cfa: Callable[[], Value]
    address: Callable[[int], int]
    base_type: Callable[[int], BaseType]


class _Typed(NamedTuple):
    """A value of the stack; its type is None for the generic one, an address."""

    value: Value
    type: BaseType | None = None


class UnsupportedError(DebugInfoError):
    """The expression is sound, but it cannot be evaluated at a probe."""


def evaluate(code: bytes, surroundings: ExpressionSurroundings) -> tuple[Piece, ...]:
    """Where a variable is. Raises UnsupportedError or DebugInfoError."""
    try:
        return _Evaluation(code, surroundings).run()
    except IndexError:
        raise DebugInfoError("a location expression is cut off, or takes more from the stack than is there") from None


class _Evaluation:
    def __init__(self, code: bytes, surroundings: ExpressionSurroundings) -> None:
        self._code = code
        self._at = 0
        self._around = surroundings
        self._stack: list[_Typed] = []
        self._place: VariablePlace | None = None
        self._pieces: list[Piece] = []

    def run(self) -> tuple[Piece, ...]:
        for _ in range(_LONGEST):
            if self._at >= len(self._code):
                break
            self._step(self._number(1))
        else:
            raise UnsupportedError("a location expression does not end")
        if self._pieces:
            return tuple(self._pieces)
        return (Piece(self._result()),)

    def _result(self) -> VariablePlace:
        if self._place is not None:
            return self._place
        if not self._code or not self._stack:
            return Nowhere()
        return InMemory(self._stack[-1].value)

    def _step(self, operation: int) -> None:
        if self._place is not None and operation not in (0x93, 0x9D, 0x9F, _NOP, _UNINITIALIZED):
            raise DebugInfoError("a location expression goes on behind its end")
        if 0x30 <= operation < 0x50:
            self._push(Constant(operation - 0x30))
        elif 0x50 <= operation < 0x70:
            self._place = InRegister(operation - 0x50)
        elif 0x70 <= operation < 0x90:
            self._push(binary("plus", Register(operation - 0x70), Constant(self._sleb() & MASK)))
        elif operation in _CONSTANTS:
            size, is_signed = _CONSTANTS[operation]
            self._push(extend(Constant(self._number(size)), size, is_signed))
        elif operation in _BINARY:
            self._binary(_BINARY[operation])
        elif operation in _UNARY:
            top = self._stack.pop()
            self._push(_wrapped(unary(_UNARY[operation], _computable(top)), top.type), top.type)
        elif operation not in (_NOP, _UNINITIALIZED):
            handler = _HANDLERS.get(operation)
            if handler is None:
                raise UnsupportedError(f"location expressions with operation {operation:#x} are not supported")
            handler(self)

    def _push(self, value: Value, kind: BaseType | None = None) -> None:
        if _parts(value, _LARGEST) <= 0:
            raise UnsupportedError("a location expression is too large")
        self._stack.append(_Typed(value, kind))

    def _binary(self, name: str) -> None:
        right, left = self._stack.pop(), self._stack.pop()
        kind = left.type
        one, two = _computable(left), _computable(right)
        if kind is not None:
            if not kind.signed:
                name = _UNSIGNED.get(name, name)
            elif name == "umod":
                name = "mod"
            elif name == "shr":
                one = extend(one, kind.size, False)
        value = binary(name, one, two)
        self._push(value if name[-2:] in ("eq", "ne", "lt", "le", "gt", "ge") else _wrapped(value, kind), kind)

    def _addr(self) -> None:
        self._push(Address(self._number(8)))

    def _constu(self) -> None:
        self._push(Constant(self._uleb()))

    def _consts(self) -> None:
        self._push(Constant(self._sleb() & MASK))

    def _deref(self) -> None:
        self._push(Load(_computable(self._stack.pop()), 8))

    def _deref_size(self) -> None:
        size = self._number(1)
        if size not in (1, 2, 4, 8):
            raise UnsupportedError(f"a location expression reads {size} bytes")
        self._push(Load(_computable(self._stack.pop()), size))

    def _dup(self) -> None:
        self._stack.append(self._stack[-1])

    def _drop(self) -> None:
        self._stack.pop()

    def _over(self) -> None:
        self._pick_at(1)

    def _pick(self) -> None:
        self._pick_at(self._number(1))

    def _pick_at(self, depth: int) -> None:
        self._stack.append(self._stack[-1 - depth])

    def _swap(self) -> None:
        self._stack[-1], self._stack[-2] = self._stack[-2], self._stack[-1]

    def _rot(self) -> None:
        top, second, third = self._stack.pop(), self._stack.pop(), self._stack.pop()
        self._stack += [top, third, second]

    def _plus_uconst(self) -> None:
        top = self._stack.pop()
        self._push(_wrapped(binary("plus", _computable(top), Constant(self._uleb())), top.type), top.type)

    def _skip(self) -> None:
        self._jump(self._offset())

    def _bra(self) -> None:
        offset, top = self._offset(), self._stack.pop().value
        if not isinstance(top, Constant):
            raise UnsupportedError("a location expression chooses by what it reads")
        if top.value:
            self._jump(offset)

    def _offset(self) -> int:
        value = self._number(2)
        return value - (value >> 15 << 16)

    def _jump(self, offset: int) -> None:
        self._at += offset
        if not 0 <= self._at <= len(self._code):
            raise DebugInfoError("a location expression jumps out of itself")

    def _regx(self) -> None:
        self._place = InRegister(self._uleb())

    def _bregx(self) -> None:
        number = self._uleb()
        self._push(binary("plus", Register(number), Constant(self._sleb() & MASK)))

    def _fbreg(self) -> None:
        offset = self._sleb()
        self._push(binary("plus", self._around.frame_base(), Constant(offset & MASK)))

    def _call_frame_cfa(self) -> None:
        self._push(self._around.cfa())

    def _tls(self) -> None:
        offset = _computable(self._stack.pop())
        # Compilers write what is an offset as an address too.
        self._push(ThreadLocal(Constant(offset.value) if isinstance(offset, Address) else offset))

    def _piece(self) -> None:
        self._add_piece(self._uleb() * 8, 0)

    def _bit_piece(self) -> None:
        bits = self._uleb()
        self._add_piece(bits, self._uleb())

    def _add_piece(self, bits: int, offset: int) -> None:
        self._pieces.append(Piece(self._result() if self._place or self._stack else Nowhere(), bits, offset))
        self._place = None
        self._stack.clear()

    def _implicit_value(self) -> None:
        self._place = IsBytes(self._block(self._uleb()))

    def _stack_value(self) -> None:
        if self._place is not None:
            raise DebugInfoError("a location expression goes on behind its end")
        self._place = IsValue(_computable(self._stack.pop()))

    def _implicit_pointer(self) -> None:
        entry = self._number(4)
        self._place = PointsInto(entry, self._sleb())

    def _addrx(self) -> None:
        self._push(Address(self._around.address(self._uleb())))

    def _constx(self) -> None:
        self._push(Constant(self._around.address(self._uleb())))

    def _entry_value(self) -> None:
        """Only of a register, which is all that compilers write."""
        code = self._block(self._uleb())
        if not code or not (0x50 <= code[0] < 0x70 and len(code) == 1):
            raise UnsupportedError("an expression's value at the entry is not supported, only that of a register")
        self._push(EntryRegister(code[0] - 0x50))

    def _parameter_ref(self) -> None:
        self._push(EntryParameter(self._number(4)))

    def _const_type(self) -> None:
        kind = self._around.base_type(self._uleb())
        data = self._block(self._number(1))
        if len(data) > 8:
            raise UnsupportedError("a location expression has a constant of more than 8 bytes")
        self._push(_wrapped(Constant(int.from_bytes(data, "little")), kind), kind)

    def _regval_type(self) -> None:
        number = self._uleb()
        kind = self._around.base_type(self._uleb())
        self._push(_wrapped(Register(number), kind), kind)

    def _deref_type(self) -> None:
        size = self._number(1)
        kind = self._around.base_type(self._uleb())
        if size not in (1, 2, 4, 8):
            raise UnsupportedError(f"a location expression reads {size} bytes")
        self._push(_wrapped(Load(_computable(self._stack.pop()), size), kind), kind)

    def _convert(self) -> None:
        offset = self._uleb()
        kind = self._around.base_type(offset) if offset else None
        top = self._stack.pop()
        if kind is not None and kind.is_float and top.type != kind:
            raise UnsupportedError("a location expression computes with floating-point numbers")
        self._push(_wrapped(_computable(top) if kind != top.type else top.value, kind), kind)

    def _number(self, size: int) -> int:
        return int.from_bytes(self._block(size), "little")

    def _block(self, size: int) -> bytes:
        start = self._at
        if start + size > len(self._code):
            raise IndexError
        self._at = start + size
        return self._code[start : self._at]

    def _uleb(self) -> int:
        value, self._at = uleb128(self._code, self._at)
        return value

    def _sleb(self) -> int:
        value, self._at = sleb128(self._code, self._at)
        return value


def _computable(value: _Typed) -> Value:
    if value.type is not None and value.type.is_float:
        raise UnsupportedError("a location expression computes with floating-point numbers")
    return value.value


def _wrapped(value: Value, kind: BaseType | None) -> Value:
    return value if kind is None or kind.is_float else extend(value, kind.size, kind.signed)


def _parts(value: Value, left: int) -> int:
    """What is left of a number of parts when those of a value are taken away; not below 0 by much."""
    waiting: list[Value] = [value]
    while waiting and left > 0:
        left -= 1
        each = waiting.pop()
        if isinstance(each, Binary):
            waiting += [each.left, each.right]
        elif isinstance(each, Load):
            waiting.append(each.address)
        elif isinstance(each, ThreadLocal):
            waiting.append(each.offset)
        elif isinstance(each, Chosen):
            waiting.append(each.key)
        elif not isinstance(each, _LEAVES):
            waiting.append(each.value)
    return left


_LEAVES = (Constant, Address, KernelAddress, Register, EntryRegister, EntryParameter, ThreadPointer)

_E = _Evaluation
_HANDLERS: dict[int, Callable[[_Evaluation], None]] = {
    0x03: _E._addr, 0x06: _E._deref, 0x10: _E._constu, 0x11: _E._consts, 0x12: _E._dup, 0x13: _E._drop,
    0x14: _E._over, 0x15: _E._pick, 0x16: _E._swap, 0x17: _E._rot, 0x23: _E._plus_uconst, 0x28: _E._bra,
    0x2F: _E._skip, 0x90: _E._regx, 0x91: _E._fbreg, 0x92: _E._bregx, 0x93: _E._piece, 0x94: _E._deref_size,
    0x9B: _E._tls, 0xE0: _E._tls, 0x9C: _E._call_frame_cfa, 0x9D: _E._bit_piece, 0x9E: _E._implicit_value,
    0x9F: _E._stack_value, 0xA0: _E._implicit_pointer, 0xF2: _E._implicit_pointer, 0xA1: _E._addrx, 0xFB: _E._addrx,
    0xA2: _E._constx, 0xFC: _E._constx,
    0xA3: _E._entry_value, 0xF3: _E._entry_value, 0xA4: _E._const_type, 0xF4: _E._const_type, 0xA5: _E._regval_type,
    0xF5: _E._regval_type, 0xA6: _E._deref_type, 0xF6: _E._deref_type, 0xA8: _E._convert, 0xF7: _E._convert,
    0xFA: _E._parameter_ref,
}  # fmt: skip
"""What each operation does; the numbers are those of DWARF 5, section 7.7.1, and of GNU's extensions."""
