"""What each instruction demands of the state before it, as data.

Nothing is decided here: `obligations` says what has to be looked at, `checks` looks.
"""

from __future__ import annotations

from sonde.bpf import instructions as i
from sonde.bpf import programs
from sonde.bpf.helpers import FETCH_VARIABLES
from sonde.bpf.instructions import Instruction
from sonde.bpf.signatures import SIGNATURES, Signature
from sonde.runtime.verifier.wellformed import wrong
from sonde.typed import NamedTuple, TypeAlias


class Initialised(NamedTuple):
    """The register has been set on the way here."""

    register: int


class Addable(NamedTuple):
    """`operation` in `bits` bits is defined for what `register` and `other` (-1: the number `number`) hold: of
    pointers, only sums with numbers, differences from numbers and, as numbers, differences of pointers are."""

    operation: int
    register: int
    other: int
    number: int
    bits: int


class InBounds(NamedTuple):
    """`size` bytes at `register` + `offset` may be accessed: the register points to memory that is not NULL, the bytes
    are inside it, and it may be read or written so. What is read has been written."""

    register: int
    offset: int
    size: int
    is_write: bool = False
    is_atomic: bool = False
    is_signed: bool = False


class Storable(NamedTuple):
    """The low `size` bytes of `register` may be stored where `base` points: on the stack no part of a pointer, and in a
    caller's none to the stack of the function, which ends before."""

    register: int
    base: int
    size: int


class MayCall(NamedTuple):
    """Programs of this type may call the helper, as far as it is known: `signature` is None otherwise."""

    helper: int
    signature: Signature | None


class HelperArgument(NamedTuple):
    """The register is what the helper's signature says of its argument number `position`, from 0."""

    signature: Signature
    position: int

    @property
    def register(self) -> int:
        return self.position + 1

    @property
    def kind(self) -> str:
        return self.signature.arguments[self.position]


class HoldsVariables(NamedTuple):
    """The number in the register, a buffer's size, is enough for the variables wherever the program is fired."""

    register: int


class Released(NamedTuple):
    """No record is held: `before` says what must not happen with one."""

    before: str


class Balanced(NamedTuple):
    """A function that a helper calls holds, when it ends, the records that were held when it was called."""

    whose: str


class NotOwnStack(NamedTuple):
    """The register does not point into a stack: that of the function that ends here is gone."""

    register: int


class Returns(NamedTuple):
    """r0 is a number `low` to `high`, which `whose` result has to be."""

    low: int
    high: int
    whose: str


class InvalidInstruction(NamedTuple):
    """Nothing can make this instruction valid here; `why` says so."""

    why: str


class Numeric(NamedTuple):
    """`register` holds no address of the engine's memory where only a number has a meaning."""

    register: int


class Comparable(NamedTuple):
    """The two operands, `register` and `other` (-1: `number`), can be compared in so many bits."""

    operation: int
    register: int
    other: int
    number: int
    bits: int


Obligation: TypeAlias = (
    Initialised | Numeric | Comparable | Addable | InBounds | Storable | MayCall | HelperArgument | HoldsVariables
    | Released | Balanced | NotOwnStack | Returns | InvalidInstruction
)  # fmt: skip

_ZEROED = frozenset({programs.TRACE_FENTRY, programs.TRACE_FEXIT})
"""Attach types of tracing programs that have to return 0."""


def of(instruction: Instruction) -> list[Obligation]:
    """What an instruction demands, but for the end of a function, in the order in which it is to be checked."""
    text = wrong(instruction)
    if text is not None:
        return [InvalidInstruction(text)]
    group = instruction.opcode & 7
    if group in (i.ALU, i.ALU64):
        return _arithmetic(instruction, 64 if group == i.ALU64 else 32)
    if group in (i.JMP, i.JMP32):
        return _flow(instruction)
    return _memory(instruction, group)


def _arithmetic(x: Instruction, bits: int) -> list[Obligation]:
    operation, by_register = x.opcode & 0xF0, bool(x.opcode & i.X)
    if operation in (i.END, i.NEG):
        return [Initialised(x.dst), Numeric(x.dst)]
    if operation == i.MOV:
        if not by_register:
            return []
        whole = bits == 64 and not x.offset
        return [Initialised(x.src)] if whole else [Initialised(x.src), Numeric(x.src)]
    found: list[Obligation] = [Initialised(x.src)] if by_register else []
    return [*found, Initialised(x.dst), Addable(operation, x.dst, x.src if by_register else -1, x.imm, bits)]


def _memory(x: Instruction, group: int) -> list[Obligation]:
    if group == i.LD:
        return []
    size, mode = i.BYTES_OF_SIZE[x.opcode & 0x18], x.opcode & 0xE0
    if group == i.LDX:
        return [Initialised(x.src), InBounds(x.src, x.offset, size, is_signed=mode == i.MEMSX)]
    if group == i.ST:
        return [Initialised(x.dst), InBounds(x.dst, x.offset, size, is_write=True)]
    if mode != i.ATOMIC:
        written = InBounds(x.dst, x.offset, size, is_write=True)
        return [Initialised(x.src), Initialised(x.dst), written, Storable(x.src, x.dst, size)]
    if x.imm == i.LOAD_ACQUIRE:
        return [Initialised(x.src), InBounds(x.src, x.offset, size, is_atomic=True)]
    found: list[Obligation] = [Initialised(x.src), Initialised(x.dst)]
    if x.imm == i.CMPXCHG:
        found.append(Initialised(0))
    if x.imm != i.STORE_RELEASE:
        found.append(Numeric(x.src))
        found.append(InBounds(x.dst, x.offset, size, is_atomic=True))
    return [*found, InBounds(x.dst, x.offset, size, is_write=True, is_atomic=True)]


def _flow(x: Instruction) -> list[Obligation]:
    operation = x.opcode & 0xF0
    if operation in (i.JA, i.JCOND):
        return []
    if operation == i.CALL:
        return _call(x)
    if operation == i.EXIT:
        return []
    by_register = bool(x.opcode & i.X)
    found: list[Obligation] = [Initialised(x.dst), *([Initialised(x.src)] if by_register else [])]
    bits = 64 if x.opcode & 7 == i.JMP else 32
    return [*found, Comparable(operation, x.dst, x.src if by_register else -1, x.imm, bits)]


def _call(x: Instruction) -> list[Obligation]:
    if x.src == i.CALL_LOCAL:
        return []
    if x.src == i.CALL_KFUNC:
        return [InvalidInstruction("functions of the kernel (kfuncs) cannot be called: this engine has none")]
    signature = SIGNATURES.get(x.imm)
    found: list[Obligation] = [MayCall(x.imm, signature)]
    if signature is not None:
        found += [HelperArgument(signature, position) for position in range(len(signature.arguments))]
        if signature.number == FETCH_VARIABLES:
            found.append(HoldsVariables(1 + signature.arguments.index("size")))
        if signature.name == "tail_call":
            found.append(Released("the tail call does not return"))
    return found


def at_exit(kind: int, attach_type: int) -> list[Obligation]:
    """What the end of the program itself demands."""
    found: list[Obligation] = [Initialised(0), Numeric(0), Released("the program ends")]
    if kind == programs.TRACING and attach_type in _ZEROED:
        found.append(Returns(0, 0, "a program of this type"))
    return found


def at_callback_exit() -> list[Obligation]:
    """What the end of a callback demands: the helper goes on with 0 and ends with 1."""
    return [Initialised(0), Returns(0, 1, "a callback"), Balanced("the callback")]


def at_return() -> list[Obligation]:
    """What the end of a function that the program calls itself demands."""
    return [NotOwnStack(0)]
