"""Variables of the probed program: what leads to one (`sonde/model/location.py`) becomes code where the variable is
used.

The context is struct pt_regs as the process, or the kernel, had it, and memory is that of the probed code: a load that
fails is a fault.
"""

from __future__ import annotations

from sonde.arch import registers
from sonde.codegen.basis.faults import BAD_ADDRESS, fault
from sonde.codegen.basis.generation import Generation
from sonde.codegen.basis.places import Memory, Place, Remote
from sonde.codegen.expressions.access import fetch, load_bits, load_bytes, zero
from sonde.codegen.expressions.integers import from_place
from sonde.codegen.expressions.structures import offset_of
from sonde.codegen.intermediate.arithmetic import signed
from sonde.codegen.intermediate.ir import Imm, Operand
from sonde.model import program as tree
from sonde.model.errors import Position
from sonde.model.location import (
    Binary,
    Chosen,
    Constant,
    Extend,
    InMemory,
    InRegister,
    IsBytes,
    IsValue,
    KernelAddress,
    Load,
    Nowhere,
    Piece,
    Register,
    ThreadPointer,
    Unary,
    Value,
)
from sonde.model.types import ULONG, Array, Struct, is_signed, resolve, size_of
from sonde.model.units import whole_words

_ARITHMETIC = {"plus": "add", "minus": "sub", "mul": "mul", "and": "and", "or": "or", "xor": "xor"}
_DIVISIONS = ("div", "mod", "udiv", "umod")
_SHIFTS = {"shl": "lsh", "shr": "rsh", "shra": "arsh"}
_RELATIONS = {
    "eq": "eq", "ne": "ne", "lt": "slt", "le": "sle", "gt": "sgt", "ge": "sge",
    "ult": "lt", "ule": "le", "ugt": "gt", "uge": "ge",
}  # fmt: skip
_WIDTHS = (8, 4, 2, 1)


def value(g: Generation, e: tree.Expr) -> Operand:
    """An integer or pointer; of an array or structure its address, as of any object."""
    assert isinstance(e, tree.ProbeVariable)
    size = size_of(e.type)
    whole = _number(g, e.pieces) if size in _WIDTHS and not isinstance(resolve(e.type), (Array, Struct)) else None
    return from_place(g, e) if whole is None else g.b.extend(whole, size, is_signed(e.type))


def place(g: Generation, e: tree.Expr) -> Place:
    """Where the variable is; one that is not in the process's memory as a whole is put together in memory of ours."""
    assert isinstance(e, tree.ProbeVariable)
    if e.is_in_memory:
        return _object(g, e.pieces[0])
    size = size_of(e.type)
    memory = g.temporary(whole_words(size))
    zero(g, memory, whole_words(size))
    bit = 0
    for piece in e.pieces:
        bits = min(piece.bits or 8 * size, 8 * size - bit)
        if bits > 0 and not isinstance(piece.place, Nowhere):
            _put(g, piece, bits, memory, bit)
        bit += bits
    return memory


def _number(g: Generation, pieces: tuple[Piece, ...]) -> Operand | None:
    """The number that a variable is, None if it is in memory or in pieces."""
    piece = pieces[0]
    if len(pieces) > 1 or piece.offset:
        return None
    if isinstance(piece.place, InRegister):
        return number(g, Register(piece.place.number))
    return number(g, piece.place.value) if isinstance(piece.place, IsValue) else None


def _object(g: Generation, piece: Piece) -> Remote:
    assert isinstance(piece.place, InMemory)
    address, offset = piece.place.address, piece.offset // 8
    if isinstance(address, Binary) and address.operation == "plus" and isinstance(address.right, Constant):
        return Remote(number(g, address.left), offset + signed(address.right.value), g.context.is_user)
    return Remote(number(g, address), offset, g.context.is_user)


def _put(g: Generation, piece: Piece, bits: int, memory: Memory, bit: int) -> None:
    """A piece of so many bits into zeroed memory, `bit` bits behind its start."""
    if isinstance(piece.place, InMemory) and not (bits | bit | piece.offset) % 8:
        fetch(g, _object(g, piece), Memory(memory.base, memory.offset + bit // 8), bits // 8)
        return
    while bits > 0:
        # What is put into a word at a time is within it.
        some = min(bits, 32, 64 - bit % 64)
        where = Memory(memory.base, memory.offset + bit // 64 * 8)
        shifted = g.b.alu("lsh", _bits(g, piece, some), Imm(bit % 64))
        g.b.store(where.base, where.offset, 8, g.b.alu("or", g.b.load(where.base, where.offset, 8), shifted))
        bits, bit = bits - some, bit + some
        piece = piece._replace(offset=piece.offset + some)


def _bits(g: Generation, piece: Piece, bits: int) -> Operand:
    """The first bits, at most 32, of a piece as an unsigned number."""
    place, mask = piece.place, Imm((1 << bits) - 1)
    if isinstance(place, IsBytes):
        return Imm(int.from_bytes(place.content, "little") >> piece.offset & mask.value)
    if isinstance(place, InMemory):
        return load_bits(g, _object(g, piece._replace(offset=0)), ULONG, piece.offset, bits)
    assert isinstance(place, (InRegister, IsValue))
    whole = number(g, Register(place.number) if isinstance(place, InRegister) else place.value)
    return g.b.alu("and", g.b.alu("rsh", whole, Imm(piece.offset)), mask)


def number(g: Generation, v: Value) -> Operand:
    """The 64 bits of a value."""
    match v:
        case Constant(known):
            return Imm(signed(known))
        case KernelAddress(symbol, offset):
            return g.b.alu("add", g.b.stamp("symbol", symbol), Imm(offset))
        case Register(which):
            return g.b.load(g.ctx, registers.BY_DWARF_NUMBER[which], 8, invariant=True)
        case Load(address, size):
            return load_bytes(g, Remote(number(g, address), 0, g.context.is_user), size, False)
        case Extend(inner, size, is_signed_):
            return g.b.extend(number(g, inner), size, is_signed_)
        case Unary(operation, inner):
            return _unary(g, operation, number(g, inner))
        case Binary(operation, left, right):
            return _binary(g, operation, number(g, left), number(g, right))
        case Chosen(key, cases):
            return _chosen(g, number(g, key), cases)
        case ThreadPointer():
            return _thread_pointer(g)
    raise AssertionError(v)


def _chosen(g: Generation, key: Operand, cases: tuple[tuple[Value, Value], ...]) -> Operand:
    """The value of one of the cases; none of them is a fault, as is an address where nothing is."""
    result, end = g.b.register(), g.b.label()
    for case, chosen in cases:
        found, following = g.b.label(), g.b.label()
        g.b.branch("eq", key, number(g, case), found, following)
        g.b.place(found)
        g.b.move(result, number(g, chosen))
        g.b.jump(end)
        g.b.place(following)
    fault(g, BAD_ADDRESS, key)
    g.b.place(end)
    return result


def _unary(g: Generation, operation: str, inner: Operand) -> Operand:
    if operation == "not":
        return g.b.alu("xor", inner, Imm(-1))
    if operation == "neg":
        return g.b.alu("sub", Imm(0), inner)
    return g.b.choose("slt", inner, Imm(0), lambda: g.b.alu("sub", Imm(0), inner), lambda: inner)


def _binary(g: Generation, operation: str, left: Operand, right: Operand) -> Operand:
    """As location.fold has it, for numbers that are known only when the program runs."""
    if operation in _ARITHMETIC:
        return g.b.alu(_ARITHMETIC[operation], left, right)
    if operation in _SHIFTS:
        return _shift(g, operation, left, right)
    if operation in _DIVISIONS:
        return g.b.choose("eq", right, Imm(0), lambda: Imm(0), lambda: _divide(g, operation, left, right))
    return g.b.truth(_RELATIONS[operation], left, right)


def _shift(g: Generation, operation: str, left: Operand, right: Operand) -> Operand:
    """A BPF shift looks at the lowest six bits of how far."""
    last = Imm(63)
    if operation == "shra":
        return g.b.alu("arsh", left, g.b.choose("gt", right, last, lambda: last, lambda: right))
    return g.b.choose("gt", right, last, lambda: Imm(0), lambda: g.b.alu(_SHIFTS[operation], left, right))


def _divide(g: Generation, operation: str, left: Operand, right: Operand) -> Operand:
    """By what is not 0. BPF divides unsigned numbers; signed ones only since Linux 6.6."""
    if operation[0] == "u":
        return g.b.alu(operation[1:], left, right)
    left_sign, right_sign = g.b.alu("arsh", left, Imm(63)), g.b.alu("arsh", right, Imm(63))
    a = g.b.alu("sub", g.b.alu("xor", left, left_sign), left_sign)
    b = g.b.alu("sub", g.b.alu("xor", right, right_sign), right_sign)
    sign = g.b.alu("xor", left_sign, right_sign) if operation == "div" else left_sign
    return g.b.alu("sub", g.b.alu("xor", g.b.alu(operation, a, b), sign), sign)


def _thread_pointer(g: Generation) -> Operand:
    """The thread's, which the kernel keeps where it has set it."""
    position = g.clause.position if g.clause else Position(None, 1, 1)
    what = tree.Builtin(ULONG, position, "thread-local data")
    return g.b.load(g.current_task(), offset_of(g, what, "task_struct", "thread", registers.THREAD_POINTER_MEMBER), 8)
