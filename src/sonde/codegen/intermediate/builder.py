"""Builds one IR function, block by block; constants are folded as they are met."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sonde.codegen.intermediate import ir
from sonde.codegen.intermediate.arithmetic import compare, evaluate, extend, is_immediate, signed
from sonde.codegen.intermediate.ir import Base, CallArgument, Imm, Operand, Reg, Slot
from sonde.model.units import whole_words

ZERO = Imm(0)
_INVERSE = {
    "eq": "ne", "ne": "eq", "gt": "le", "le": "gt", "ge": "lt", "lt": "ge",
    "sgt": "sle", "sle": "sgt", "sge": "slt", "slt": "sge",
}  # fmt: skip
_SWAPPED = {
    "eq": "eq", "ne": "ne", "gt": "lt", "lt": "gt", "ge": "le", "le": "ge",
    "sgt": "slt", "slt": "sgt", "sge": "sle", "sle": "sge", "set": "set",
}  # fmt: skip
_NEUTRAL = {"add": 0, "sub": 0, "or": 0, "xor": 0, "lsh": 0, "rsh": 0, "arsh": 0, "mul": 1, "div": 1, "sdiv": 1}
_COMMUTES = ("add", "mul", "and", "or", "xor")


class Builder:
    """Where code is being added: `position` numbers the source position that new instructions are for."""

    def __init__(self, name: str, parameters: int = 1) -> None:
        self.function = ir.BpfFunction(name)
        self.position = 0
        self._blocks = 0
        self._free: list[Slot] = []
        self._current: ir.Block | None = None
        self.place(self.label())
        self.function.parameters = tuple(self.register() for _ in range(parameters))

    # Registers, slots, blocks

    def register(self) -> Reg:
        self.function.registers += 1
        return Reg(self.function.registers - 1)

    def slot(self, size: int) -> Slot:
        """Stack memory, rounded up to 8 bytes; undefined at first."""
        size = whole_words(size)
        for slot in self._free:
            if slot.size == size:
                self._free.remove(slot)
                return slot
        slot = Slot(len(self.function.slots), size)
        self.function.slots.append(slot)
        return slot

    def release(self, slot: Slot) -> None:
        """The slot may be used for something else from here on."""
        self._free.append(slot)

    def label(self) -> int:
        """A new block's number; it has no code until it is placed."""
        self._blocks += 1
        return self._blocks - 1

    def place(self, label: int) -> None:
        """Go on in this block; the code before falls into it."""
        if self._current is not None:
            self.jump(label)
        block = ir.Block(label)
        self.function.blocks.append(block)
        self._current = block

    def emit(self, instruction: ir.Instruction) -> None:
        if self._current is not None:
            self._current.code.append((instruction, self.position))

    # Values

    def move(self, dst: Reg, src: Operand) -> None:
        self.emit(ir.Move(dst, src))

    def copy(self, src: Operand) -> Reg:
        dst = self.register()
        self.move(dst, src)
        return dst

    def _short(self, value: Operand) -> Operand:
        return self.copy(value) if isinstance(value, Imm) and not ir.fits(value.value) else value

    def in_register(self, value: Operand) -> Reg:
        return value if isinstance(value, Reg) else self.copy(value)

    def alu(self, op: str, left: Operand, right: Operand, bits: int = 64) -> Operand:
        if isinstance(left, Imm):
            if isinstance(right, Imm):
                return Imm(evaluate(op, left.value, right.value, bits))
            if op in _COMMUTES:
                left, right = right, left
        if isinstance(right, Imm) and bits == 64:
            if _NEUTRAL.get(op) == right.value:
                return left
            if right.value == 0 and op in ("mul", "and"):
                return ZERO
            op, right = _cheaper(op, right)
        if isinstance(right, Imm) and not is_immediate(op, right.value, bits):
            right = self.copy(right)
        dst = self.register()
        self.emit(ir.Alu(dst, op, self.in_register(left), right, bits))
        return dst

    def unlinked(self, value: Operand) -> Operand:
        """The same number, of which the verifier does not know that it is.

        What a comparison shows of a register it knows of all copies from then on, and each way that the comparison goes
        is followed to the program's end if the number is used again. Complemented twice it is another number.
        """
        if isinstance(value, Imm):
            return value
        result = self.copy(self.alu("xor", value, Imm(-1)))
        # Set twice, so that it is no common subexpression with another one of the same value.
        self.move(result, self.alu("xor", result, Imm(-1)))
        return result

    def forgotten(self, value: Reg, is_signed: bool) -> Operand:
        """An integer of at most four bytes, of which the verifier no longer knows what it is on which path.

        Where paths come together it would go on with each of them: a register that holds 1 on one and 2 on the other,
        and is compared later, makes two ways of all that follows, and twenty such registers a million. What is read
        from the middle of a stack slot it takes for unknown (check_stack_read_fixed_off, kernel/bpf/verifier.c).
        """
        slot = self.slot(8)
        self.store(slot, 0, 8, self.alu("lsh", value, Imm(32)))
        result = self.load(slot, 4, 4, is_signed)
        self.release(slot)
        return result

    def negate(self, value: Operand) -> Operand:
        return self.alu("sub", ZERO, value)

    def extend(self, value: Operand, size: int, is_signed: bool) -> Operand:
        if isinstance(value, Imm):
            return Imm(extend(value.value, size, is_signed))
        if size >= 8:
            return value
        dst = self.register()
        self.emit(ir.Extend(dst, value, size, is_signed))
        return dst

    def swap(self, value: Operand, size: int) -> Operand:
        if isinstance(value, Imm):
            raw = (value.value & ((1 << size * 8) - 1)).to_bytes(size, "little")
            return Imm(signed(int.from_bytes(raw, "big")))
        dst = self.register()
        self.emit(ir.Swap(dst, value, size))
        return dst

    def load(self, base: Base, offset: int, size: int, is_signed: bool = False, invariant: bool = False) -> Operand:
        dst = self.register()
        self.emit(ir.Load(dst, base, offset, size, invariant))
        return self.extend(dst, size, True) if is_signed else dst

    def store(self, base: Base, offset: int, size: int, value: Operand) -> None:
        if size == 8:
            value = self._short(value)
        elif isinstance(value, Imm):
            value = Imm(extend(value.value, size, True))
        self.emit(ir.Store(base, offset, size, value))

    def atomic_add(self, base: Base, offset: int, value: Operand, size: int = 8) -> None:
        self.emit(ir.Atomic("add", base, offset, size, self.in_register(value)))

    def fetch_add(self, base: Base, offset: int, value: Operand, size: int = 8) -> Reg:
        fetched = self.register()
        self.emit(ir.Atomic("add", base, offset, size, self.in_register(value), fetched))
        return fetched

    def call(self, helper: int, *arguments: CallArgument, pure: str = "") -> Reg:
        dst = self.register()
        self.emit(ir.Call(dst, helper, arguments, pure))
        return dst

    def call_local(self, function: str, *arguments: CallArgument, pure: str = "") -> Reg:
        dst = self.register()
        self.emit(ir.CallLocal(dst, function, arguments, pure))
        return dst

    def map_value(self, name: str, offset: int = 0) -> Reg:
        dst = self.register()
        self.emit(ir.MapValue(dst, name, offset))
        return dst

    def address(self, slot: Slot, offset: int = 0) -> Reg:
        dst = self.register()
        self.emit(ir.Address(dst, slot, offset))
        return dst

    def stamp(self, kind: str, name: str = "") -> Reg:
        """A number that the machine knows which loads the program (`spec.Stamp`)."""
        dst = self.register()
        self.emit(ir.Stamped(dst, kind, name))
        return dst

    def here(self) -> Reg:
        dst = self.register()
        self.emit(ir.Here(dst))
        return dst

    # Control

    def jump(self, label: int) -> None:
        self.emit(ir.Jump(label))
        self._current = None

    def ret(self, value: Operand = ZERO) -> None:
        self.emit(ir.Return(value))
        self._current = None

    def branch(
        self, op: str, left: Operand, right: Operand, then: int, otherwise: int | None = None, bits: int = 64
    ) -> None:
        """Go to `then` if the comparison holds, else to `otherwise` (None: go on here)."""
        if isinstance(left, Imm) and isinstance(right, Imm):
            taken = compare(op, left.value, right.value, bits)
            if taken or otherwise is not None:
                self.jump(then if taken or otherwise is None else otherwise)
            return
        if isinstance(left, Imm):
            left, right, op = right, left, _SWAPPED[op]
        fall = self.label() if otherwise is None else otherwise
        assert isinstance(left, Reg)
        self.emit(ir.Branch(op, left, self._short(right), then, fall, bits))
        self._current = None
        if otherwise is None:
            self.place(fall)

    @contextmanager
    def when(self, op: str, left: Operand, right: Operand, bits: int = 64) -> Iterator[None]:
        """The code of the `with` block runs only where the comparison holds."""
        then, end = self.label(), self.label()
        self.branch(op, left, right, then, end, bits)
        self.place(then)
        yield
        self.place(end)

    def choose(self, op: str, left: Operand, right: Operand, then: Callable[[], Operand],
               otherwise: Callable[[], Operand], bits: int = 64) -> Reg:  # fmt: skip
        """One of two values."""
        result = self.register()
        yes, no, end = self.label(), self.label(), self.label()
        self.branch(op, left, right, yes, no, bits)
        self.place(yes)
        self.move(result, then())
        self.jump(end)
        self.place(no)
        self.move(result, otherwise())
        self.place(end)
        return result

    def truth(self, op: str, left: Operand, right: Operand, bits: int = 64) -> Operand:
        """1 if the comparison holds, else 0."""
        if isinstance(left, Imm) and isinstance(right, Imm):
            return Imm(int(compare(op, left.value, right.value, bits)))
        return self.choose(op, left, right, lambda: Imm(1), lambda: ZERO, bits)


def inverse(op: str) -> str:
    """The comparison that holds exactly where `op` does not."""
    return _INVERSE[op]


def _cheaper(op: str, right: Imm) -> tuple[str, Imm]:
    power = right.value.bit_length() - 1
    if right.value > 0 and right.value == 1 << power:
        if op == "mul":
            return "lsh", Imm(power)
        if op == "div":
            return "rsh", Imm(power)
        if op == "mod":
            return "and", Imm(right.value - 1)
    return op, right
