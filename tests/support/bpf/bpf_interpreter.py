"""The reference that the machine's executions are compared with: one instruction after the other, each as the
instruction set's document (Documentation/bpf/standardization/instruction-set.rst) describes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from sonde.bpf import instructions as i
from sonde.bpf.instructions import Instruction
from sonde.runtime.machine import arithmetic, structure
from sonde.runtime.machine.execution import MAXIMUM_LOOPS, NO_TAIL_CALL, TAIL_CALL, Helpers, ReadPacket, arity
from sonde.runtime.machine.faults import MAXIMUM_FRAMES, BudgetError, CallError, DepthError
from sonde.runtime.machine.frames import StackFrames
from sonde.runtime.machine.linking import Functions, LinkedProgram, immediate
from sonde.runtime.machine.memory import MachineMemory

_M32, _M64 = arithmetic.MASKS[32], arithmetic.MASKS[64]


def bare(code: Sequence[Instruction], name: str = "program") -> LinkedProgram:
    """A program without maps, stamps or addresses of functions. Raises StructureError."""
    structure.check(code)
    return LinkedProgram(name, tuple(code))


class Interpreter:
    """An execution of `linked`. `budget` is how many instructions a run may take in all, None without limit."""

    def __init__(
        self, linked: LinkedProgram, memory: MachineMemory, helpers: Helpers, functions: Functions,
        read_packet: ReadPacket | None = None, budget: int | None = None,
    ) -> None:  # fmt: skip
        self._code = linked.code
        self._memory = memory
        self._helpers = helpers
        self._functions = functions
        self._read_packet = read_packet
        self._budget = budget
        self._left = 0
        self._running = False
        self._frames = StackFrames(memory)
        for handle, slot in linked.functions:
            functions[handle] = partial(self._enter, slot)

    def run(self, *arguments: int) -> int:
        return self._enter(0, *arguments)

    def close(self) -> None:
        self._frames.close()

    def _enter(self, slot: int, *arguments: int) -> int:
        """Run the function at `slot`; one budget serves the run and all that helpers call back while it runs."""
        if self._running:
            return self._function(slot, arguments, 1)
        self._running, self._left = True, -1 if self._budget is None else self._budget
        try:
            return self._function(slot, arguments, 1)
        finally:
            self._running = False

    def _function(self, slot: int, arguments: tuple[int, ...], depth: int) -> int:
        if depth > MAXIMUM_FRAMES:
            raise DepthError
        frame = self._frames.take()
        registers = [0, *(argument & _M64 for argument in arguments), *bytes(9 - len(arguments)), frame[1]]
        try:
            return self._steps(slot, registers, depth)
        finally:
            self._frames.free.append(frame)

    def _steps(self, slot: int, registers: list[int], depth: int) -> int:
        """From `slot` to the exit of this function."""
        loops = MAXIMUM_LOOPS
        while True:
            self._pay()
            x = self._code[slot]
            slot += 1
            match x.opcode & 7:
                case i.ALU | i.ALU64:
                    self._arithmetic(x, registers)
                case i.LDX:
                    self._load(x, registers)
                case i.ST | i.STX:
                    self._store(x, registers)
                case i.LD:
                    if x.opcode == i.LD_IMM64:
                        registers[x.dst] = immediate(self._code, slot - 1)
                        slot += 1
                    elif not self._load_packet(x, registers):
                        return 0
                case _ if x.opcode == i.JMP | i.EXIT:
                    return registers[0]
                case _ if x.opcode & 0xF7 == i.JMP | i.CALL:
                    rest = self._call(x, slot, registers, depth)
                    if rest is not None:
                        return rest
                case _ if x.opcode == i.JMP | i.JCOND:
                    if loops:
                        loops -= 1
                    else:
                        slot += x.offset
                case _:
                    slot += self._jump(x, registers)

    def _pay(self) -> None:
        if not self._left:
            raise BudgetError
        self._left -= 1

    def _arithmetic(self, x: Instruction, registers: list[int]) -> None:
        bits = 64 if x.opcode & 7 == i.ALU64 else 32
        mask, operation, dst = arithmetic.MASKS[bits], x.opcode & 0xF0, x.dst
        if operation == i.END:
            registers[dst] = _byte_order(x, registers[dst])
            return
        right = (registers[x.src] if x.opcode & i.X else x.imm) & mask
        if operation == i.NEG:
            registers[dst] = -registers[dst] & mask
        elif operation == i.MOV and x.offset:
            registers[dst] = _extend(right, x.offset, bits)
        else:
            registers[dst] = arithmetic.calculate(operation, registers[dst] & mask, right, bits, x.offset == 1)

    def _load(self, x: Instruction, registers: list[int]) -> None:
        size = i.BYTES_OF_SIZE[x.opcode & 0x18]
        value = self._read(registers[x.src] + x.offset, size)
        if x.opcode & 0xE0 == i.MEMSX:
            value = _extend(value, 8 * size, 64)
        registers[x.dst] = value

    def _store(self, x: Instruction, registers: list[int]) -> None:
        size = i.BYTES_OF_SIZE[x.opcode & 0x18]
        if x.opcode & 0xE0 == i.ATOMIC:
            self._atomic(x, size, registers)
        else:
            value = registers[x.src] if x.opcode & 7 == i.STX else x.imm
            self._write(registers[x.dst] + x.offset, size, value)

    def _atomic(self, x: Instruction, size: int, registers: list[int]) -> None:
        if x.imm == i.LOAD_ACQUIRE:
            registers[x.dst] = self._read(registers[x.src] + x.offset, size)
            return
        address, operand = registers[x.dst] + x.offset, registers[x.src]
        if x.imm == i.STORE_RELEASE:
            self._write(address, size, operand)
            return
        old, mask = self._read(address, size), (1 << 8 * size) - 1
        if x.imm == i.CMPXCHG:
            # It writes in any case: the old value again where the comparison fails.
            self._write(address, size, operand if old == registers[0] & mask else old)
            registers[0] = old
            return
        self._write(address, size, _atomic(x.imm, old, operand & mask, 8 * size))
        if x.imm & i.FETCH:
            registers[x.src] = old

    def _read(self, address: int, size: int) -> int:
        return int.from_bytes(self._memory.read(address & _M64, size), "little")

    def _write(self, address: int, size: int, value: int) -> None:
        self._memory.write(address & _M64, (value & (1 << 8 * size) - 1).to_bytes(size, "little"))

    def _load_packet(self, x: Instruction, registers: list[int]) -> bool:
        """LD_ABS and LD_IND; False if the packet does not have it."""
        if self._read_packet is None:
            raise CallError(x.opcode)
        offset = x.imm + (registers[x.src] if x.opcode & 0xE0 == i.IND else 0)
        value = self._read_packet(registers[6], arithmetic.signed(offset, 32), i.BYTES_OF_SIZE[x.opcode & 0x18])
        registers[1:6] = bytes(5)
        registers[0] = value or 0
        return value is not None

    def _jump(self, x: Instruction, registers: list[int]) -> int:
        """How many slots to skip."""
        bits, operation = 64 if x.opcode & 7 == i.JMP else 32, x.opcode & 0xF0
        if operation == i.JA:
            return x.offset if bits == 64 else x.imm
        mask = arithmetic.MASKS[bits]
        right = registers[x.src] if x.opcode & i.X else x.imm
        return x.offset if _holds(operation, registers[x.dst] & mask, right & mask, bits) else 0

    def _call(self, x: Instruction, following: int, registers: list[int], depth: int) -> int | None:
        """Any kind of call; the result of the function if it ends with a tail call."""
        arguments = tuple(registers[1:6])
        if x.src == i.CALL_LOCAL and not x.opcode & i.X:
            result = self._function(following + x.imm, arguments, depth + 1)
        else:
            number = registers[x.dst] if x.opcode & i.X else x.imm
            function = self._helpers.get(number) if x.src == i.CALL_HELPER else None
            if function is None and x.opcode & i.X:
                function = self._functions.get(number)
            if function is None:
                raise CallError(number)
            result = function(*arguments[: arity(function)])
            if number == TAIL_CALL and not x.opcode & i.X:
                if result is not None:
                    return int(result()) & _M64
                result = NO_TAIL_CALL
        registers[0] = result & _M64
        registers[1:6] = bytes(5)
        return None


def _byte_order(x: Instruction, value: int) -> int:
    """`to little endian` only truncates: the machine is little-endian."""
    if x.opcode & 15 == i.ALU | i.K:
        return value & (1 << x.imm) - 1
    return arithmetic.swap(value, x.imm)


def _extend(value: int, width: int, bits: int) -> int:
    """The low `width` bits of `value` sign-extended to `bits`."""
    return arithmetic.signed(value, width) & arithmetic.MASKS[bits]


def _holds(condition: int, left: int, right: int, bits: int) -> bool:
    """Whether a jump on `condition` is taken; both operands are unsigned numbers of that many bits."""
    if condition in _SIGNED_CONDITIONS:
        return _CONDITIONS[_SIGNED_CONDITIONS[condition]](arithmetic.signed(left, bits), arithmetic.signed(right, bits))
    return _CONDITIONS[condition](left, right)


_SIGNED_CONDITIONS = {i.JSGT: i.JGT, i.JSGE: i.JGE, i.JSLT: i.JLT, i.JSLE: i.JLE}
_CONDITIONS: dict[int, Callable[[int, int], bool]] = {
    i.JEQ: lambda left, right: left == right,
    i.JNE: lambda left, right: left != right,
    i.JGT: lambda left, right: left > right,
    i.JGE: lambda left, right: left >= right,
    i.JLT: lambda left, right: left < right,
    i.JLE: lambda left, right: left <= right,
    i.JSET: lambda left, right: left & right != 0,
}


def _atomic(operation: int, old: int, operand: int, bits: int) -> int:
    """What memory holds after ADD, OR, AND, XOR (with or without FETCH) or XCHG."""
    return operand if operation == i.XCHG else arithmetic.calculate(operation & ~i.FETCH, old, operand, bits)
