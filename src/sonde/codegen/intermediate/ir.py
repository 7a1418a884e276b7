"""The intermediate form: functions of basic blocks over virtual registers, one step above eBPF.

A virtual register holds 64 bits, as eBPF's do, and may be set in several places (there are no phi nodes); most are set
once. Memory is addressed from a register or from a stack slot that has no place yet. Calls name their arguments
instead of moving them; which machine register holds what is the allocator's business.
"""

from __future__ import annotations

from sonde.typed import NamedTuple, TypeAlias


class Reg(NamedTuple):
    """A virtual register."""

    number: int


class Imm(NamedTuple):
    """A constant, kept as a signed 64-bit number."""

    value: int


Operand: TypeAlias = Reg | Imm


class Slot(NamedTuple):
    """A piece of this function's stack frame, 8-byte aligned; `size` in bytes."""

    number: int
    size: int


class SlotAddress(NamedTuple):
    """The address of a byte in a slot, as an argument of a call."""

    slot: Slot
    offset: int = 0


class MapDescriptor(NamedTuple):
    """A map, as an argument of a helper."""

    map: str


class FunctionAddress(NamedTuple):
    """A subprogram of the same BPF program, as an argument of a helper that calls it back."""

    function: str


Base: TypeAlias = Reg | Slot
CallArgument: TypeAlias = Reg | Imm | SlotAddress | MapDescriptor | FunctionAddress


class Move(NamedTuple):
    dst: Reg
    src: Operand


class Alu(NamedTuple):
    """`op` is add sub mul div mod sdiv smod and or xor lsh rsh arsh; 32 bits leave the upper half zero."""

    dst: Reg
    op: str
    left: Reg
    right: Operand
    bits: int = 64


class Extend(NamedTuple):
    """The low `size` bytes of `src`, sign- or zero-extended to 64 bits."""

    dst: Reg
    src: Reg
    size: int
    signed: bool


class Swap(NamedTuple):
    """The low `size` bytes (2, 4, 8) in reversed order, zero-extended."""

    dst: Reg
    src: Reg
    size: int


class Load(NamedTuple):
    """`size` bytes, zero-extended. `invariant`: nothing the program does changes what is there."""

    dst: Reg
    base: Base
    offset: int
    size: int
    invariant: bool = False


class Store(NamedTuple):
    base: Base
    offset: int
    size: int
    value: Operand


class Atomic(NamedTuple):
    """`op` is add, or, and, xor, xchg, cmpxchg on `size` bytes; `fetched` takes the old value.

    cmpxchg stores `value` where memory equals `expected`.
    """

    op: str
    base: Base
    offset: int
    size: int
    value: Reg
    fetched: Reg | None = None
    expected: Reg | None = None


class Call(NamedTuple):
    """A helper by number. `pure`: two calls with equal arguments and equal `pure` give the same result."""

    dst: Reg | None
    helper: int
    arguments: tuple[CallArgument, ...]
    pure: str = ""


class CallLocal(NamedTuple):
    """A subprogram of the same BPF program."""

    dst: Reg | None
    function: str
    arguments: tuple[CallArgument, ...]
    pure: str = ""


class MapValue(NamedTuple):
    """The address of byte `offset` of a one-element array map's value."""

    dst: Reg
    map: str
    offset: int = 0


class Address(NamedTuple):
    """The address of a byte in a stack slot, in a register."""

    dst: Reg
    slot: Slot
    offset: int = 0


class Stamped(NamedTuple):
    """A constant that the engine sets when it loads the program; `kind` and `name` are those of `spec.Stamp`."""

    dst: Reg
    kind: str
    name: str = ""


class Here(NamedTuple):
    """The index of this very instruction."""

    dst: Reg


class Jump(NamedTuple):
    target: int


class Branch(NamedTuple):
    """`op` is eq ne gt ge lt le sgt sge slt sle set; blocks by number."""

    op: str
    left: Reg
    right: Operand
    then: int
    otherwise: int
    bits: int = 64


class Return(NamedTuple):
    value: Operand


Instruction: TypeAlias = (
    Move | Alu | Extend | Swap | Load | Store | Atomic | Call | CallLocal | MapValue | Address | Stamped | Here
    | Jump | Branch | Return
)  # fmt: skip

PURE = (Move, Alu, Extend, Swap, MapValue, Address, Stamped, Here)
"""Instructions whose only effect is their destination register."""


_SETTING = frozenset((Move, Alu, Extend, Swap, Load, Call, CallLocal, MapValue, Address, Stamped, Here))
"""Instructions whose first field is the register that they set."""

_WITHOUT_EFFECT = frozenset((*PURE, Load))


class Block:
    """Instructions ended by one Jump, Branch or Return; each with the number of the source position it is for."""

    __slots__ = ("code", "number")

    def __init__(self, number: int) -> None:
        self.number = number
        self.code: list[tuple[Instruction, int]] = []

    def successors(self) -> tuple[int, ...]:
        last = self.code[-1][0]
        if isinstance(last, Branch):
            return (last.then, last.otherwise)
        return (last.target,) if isinstance(last, Jump) else ()


class BpfFunction:
    """A BPF function: the blocks in their order of layout, the first is the entry.

    `parameters` are the registers that hold r1..r5 on entry. A function with `context` has a program's context as the
    first, of the structure of that name; the verifier then looks at the function once, not at each call of it.
    """

    __slots__ = ("blocks", "context", "name", "parameters", "registers", "slots")

    def __init__(self, name: str) -> None:
        self.name = name
        self.context = ""
        self.parameters: tuple[Reg, ...] = ()
        self.blocks: list[Block] = []
        self.slots: list[Slot] = []
        self.registers = 0


def defined(instruction: Instruction) -> Reg | None:
    """The register the instruction sets."""
    kind = type(instruction)
    if kind in _SETTING:
        return instruction[0]  # type: ignore[return-value]
    return instruction.fetched if kind is Atomic else None  # type: ignore[union-attr]


def used(instruction: Instruction) -> list[Reg]:
    """The registers the instruction reads."""
    kind = type(instruction)
    if kind is Call or kind is CallLocal:
        return [a for a in instruction.arguments if type(a) is Reg]  # type: ignore[union-attr]
    found = []
    # A loop: until Python 3.12 a comprehension is a call.
    for place in _PLACES[kind]:
        value = instruction[place]
        if type(value) is Reg:
            found.append(value)
    return found


OPERANDS: dict[type, tuple[str, ...]] = {
    Move: ("src",),
    Alu: ("left", "right"),
    Extend: ("src",),
    Swap: ("src",),
    Load: ("base",),
    Store: ("base", "value"),
    Atomic: ("base", "value", "expected"),
    MapValue: (),
    Address: (),
    Stamped: (),
    Here: (),
    Jump: (),
    Branch: ("left", "right"),
    Return: ("value",),
}
"""The fields that an instruction, other than a call, reads."""

_PLACES: dict[type, tuple[int, ...]] = {
    kind: tuple(kind._fields.index(name) for name in names)  # type: ignore[attr-defined]
    for kind, names in OPERANDS.items()
}
"""The same by number: of a program it is asked ten times for each instruction."""


def fits(value: int) -> bool:
    """Whether an instruction's 32-bit immediate can hold it."""
    return -0x80000000 <= value <= 0x7FFFFFFF


def _fields(instruction: Instruction) -> list[tuple[str, object]]:
    skipped = ("dst", "fetched")
    return [(n, v) for n, v in zip(instruction._fields, instruction, strict=True) if n not in skipped]


def is_pure(instruction: Instruction) -> bool:
    """Whether the instruction may be left out if nobody reads its register."""
    kind = type(instruction)
    if kind is Call or kind is CallLocal:
        return bool(instruction.pure)  # type: ignore[union-attr]
    return kind in _WITHOUT_EFFECT


def show(function: BpfFunction) -> str:
    """The function as text, one instruction a line (`sonde -S`)."""
    lines = [f"{function.name}({', '.join(_operand(p) for p in function.parameters)}):"]
    for block in function.blocks:
        lines.append(f" L{block.number}:")
        lines += [f"    {_line(instruction)}" for instruction, _ in block.code]
    return "\n".join(lines)


def _operand(value: object) -> str:
    if isinstance(value, Reg):
        return f"v{value.number}"
    if isinstance(value, Imm):
        return str(value.value) if abs(value.value) < 65536 else hex(value.value)
    if isinstance(value, Slot):
        return f"s{value.number}"
    if isinstance(value, SlotAddress):
        return f"&s{value.slot.number}+{value.offset}"
    if isinstance(value, MapDescriptor):
        return f"map {value.map}"
    if isinstance(value, FunctionAddress):
        return f"&{value.function}"
    if isinstance(value, tuple):
        return f"({', '.join(_operand(v) for v in value)})"
    return str(value)


def _line(instruction: Instruction) -> str:
    target = defined(instruction)
    name = type(instruction).__name__.lower()
    rest = " ".join(_operand(v) for _, v in _fields(instruction) if v not in (None, "", False))
    return f"v{target.number} = {name} {rest}" if target else f"{name} {rest}"
