"""Allocated IR functions -> eBPF instructions, with the places of map references, stamps and source positions."""

from __future__ import annotations

from sonde.bpf import instructions as bpf
from sonde.bpf.instructions import Instruction
from sonde.codegen.intermediate import ir
from sonde.codegen.intermediate.allocate import SCRATCH, Allocation
from sonde.codegen.intermediate.ir import Imm, Reg, Slot
from sonde.codegen.intermediate.stack_addresses import operands
from sonde.model.spec import Stamp
from sonde.typed import NamedTuple

STACK_LIMIT = 512
"""MAX_BPF_STACK (include/linux/filter.h): what a program and the subprograms it is calling may use together."""

REACH = 8000
"""Instructions that a forward jump may skip. The format allows 32767, but the verifier writes some calls out in place,
and refuses the program if a jump over them gets too long for that."""

_ALU = {
    "add": bpf.ADD, "sub": bpf.SUB, "mul": bpf.MUL, "div": bpf.DIV, "mod": bpf.MOD, "sdiv": bpf.DIV, "smod": bpf.MOD,
    "and": bpf.AND, "or": bpf.OR, "xor": bpf.XOR, "lsh": bpf.LSH, "rsh": bpf.RSH, "arsh": bpf.ARSH,
}  # fmt: skip
_JUMP = {
    "eq": bpf.JEQ, "ne": bpf.JNE, "gt": bpf.JGT, "ge": bpf.JGE, "lt": bpf.JLT, "le": bpf.JLE, "set": bpf.JSET,
    "sgt": bpf.JSGT, "sge": bpf.JSGE, "slt": bpf.JSLT, "sle": bpf.JSLE,
}  # fmt: skip
_INVERSE = {
    "eq": "ne", "ne": "eq", "gt": "le", "le": "gt", "ge": "lt", "lt": "ge",
    "sgt": "sle", "sle": "sgt", "sge": "slt", "slt": "sge",
}  # fmt: skip
_ATOMIC = {"add": bpf.ADD, "or": bpf.OR, "and": bpf.AND, "xor": bpf.XOR, "xchg": bpf.XCHG, "cmpxchg": bpf.CMPXCHG}


class TooLargeError(Exception):
    """A function needs more stack, or longer jumps, than eBPF has."""


class FunctionCode(NamedTuple):
    """One function's instructions. Jumps are resolved; `calls` are (index, function name) still to be linked, of
    calls and of loads of a function's address, which count their distance alike. `parameters` is their number,
    `context` the name of the first one's structure where that is the program's context and the function a global one.

    `positions` pairs the index where code for a source position begins with the position's number.
    """

    name: str
    instructions: list[Instruction]
    calls: list[tuple[int, str]]
    map_references: list[tuple[int, str]]
    stamps: list[Stamp]
    here: list[int]
    positions: list[tuple[int, int]]
    stack: int
    parameters: int
    context: str = ""


def emit(function: ir.BpfFunction, allocation: Allocation) -> FunctionCode:
    return _Emitter(function, allocation).run()


class _Emitter:
    def __init__(self, function: ir.BpfFunction, allocation: Allocation) -> None:
        self.function = function
        self.machine = allocation.registers
        self.home: dict[Reg, int] = {}
        self.slots: dict[Slot, int] = {}
        self.out: list[Instruction] = []
        self.labels: dict[int, int] = {}
        self.jumps: list[tuple[int, int]] = []
        self.next_island = REACH // 2
        self.addresses = allocation.addresses
        stack = self._lay_out(allocation)
        self.code = FunctionCode(
            function.name, self.out, [], [], [], [], [], stack, len(function.parameters), function.context
        )

    def _lay_out(self, allocation: Allocation) -> int:
        used = {
            item
            for block in self.function.blocks
            for instruction, _ in block.code
            for item in _slots_of(instruction)
        }  # fmt: skip
        depth = 0
        for slot in self.function.slots:
            if slot in used:
                depth += slot.size
                self.slots[slot] = -depth
        for reg, number in allocation.spilled.items():
            self.home[reg] = -depth - 8 * (number + 1)
        depth += 8 * (max(allocation.spilled.values(), default=-1) + 1)
        if depth > STACK_LIMIT:
            raise TooLargeError(f"{self.function.name} needs {depth} bytes of stack, eBPF has {STACK_LIMIT}")
        return depth

    def run(self) -> FunctionCode:
        self._parameters()
        blocks = self.function.blocks
        for index, block in enumerate(blocks):
            if len(self.out) >= self.next_island:
                self._island(block.number)
            self.labels[block.number] = len(self.out)
            following = blocks[index + 1].number if index + 1 < len(blocks) else -1
            for instruction, position in block.code:
                self._mark(position)
                self._one(instruction, following)
        for index, label in self.jumps:
            self._aim(index, self.labels[label])
        return self.code

    def _mark(self, position: int) -> None:
        """The next code is for that source position: of those that have come to no code the last."""
        marks = self.code.positions
        if marks and marks[-1][0] == len(self.out):
            marks.pop()
        if not marks or marks[-1][1] != position:
            marks.append((len(self.out), position))

    def _aim(self, index: int, target: int) -> None:
        """Let the jump at `index` lead to `target`."""
        offset = target - index - 1
        if not -32768 <= offset <= 32767:
            raise TooLargeError(f"{self.function.name} has a jump over {offset} instructions")
        self.out[index] = self.out[index]._replace(offset=offset)

    def _island(self, following: int) -> None:
        """Before the block `following`: jumps that have come far to land on, each of which goes on from here."""
        start = len(self.out)
        self.next_island = start + REACH // 4
        far: dict[int, list[int]] = {}
        for index, label in self.jumps:
            if label not in self.labels and label != following and start - index > REACH // 2:
                far.setdefault(label, []).append(index)
        if not far:
            return
        if not _is_final(self.out[-1]):
            self._jump(following)
        for label, indexes in far.items():
            for index in indexes:
                self._aim(index, len(self.out))
            self._jump(label)
        landed = {index for indexes in far.values() for index in indexes}
        self.jumps = [jump for jump in self.jumps if jump[0] not in landed]

    def _parameters(self) -> None:
        moves = []
        for number, reg in enumerate(self.function.parameters):
            if reg in self.home:
                self.out.append(bpf.store_reg(8, bpf.R10, self.home[reg], number + 1))
            elif self.machine.get(reg, number + 1) != number + 1:
                moves.append((self.machine[reg], number + 1))
        self._parallel(moves)

    # Operands

    def _read(self, reg: Reg, scratch: int) -> int:
        """The machine register that holds `reg`, loaded into `scratch` if it lives on the stack."""
        if reg in self.home:
            self.out.append(bpf.load(8, scratch, bpf.R10, self.home[reg]))
            return scratch
        return self.machine[reg]

    def _target(self, reg: Reg) -> int:
        return SCRATCH[0] if reg in self.home else self.machine[reg]

    def _written(self, reg: Reg) -> None:
        if reg in self.home:
            self.out.append(bpf.store_reg(8, bpf.R10, self.home[reg], SCRATCH[0]))

    def _base(self, base: ir.Base, offset: int, scratch: int) -> tuple[int, int]:
        if isinstance(base, Slot):
            return bpf.R10, self.slots[base] + offset
        if not -32768 <= offset <= 32767:
            raise TooLargeError(f"{self.function.name} has more than 32 KiB in one record or in temporaries")
        return self._read(base, scratch), offset

    def _constant(self, dst: int, value: int) -> None:
        if ir.fits(value):
            self.out.append(bpf.mov_imm(dst, value))
        elif 0 <= value <= 0xFFFFFFFF:
            self.out.append(bpf.mov32_imm(dst, value))
        else:
            self.out.extend(bpf.ld_imm64(dst, value))

    def _copy(self, dst: int, src: int) -> None:
        if dst != src:
            self.out.append(bpf.mov_reg(dst, src))

    # Instructions

    def _one(self, instruction: ir.Instruction, following: int) -> None:
        if isinstance(instruction, (ir.Jump, ir.Branch, ir.Return)):
            self._control(instruction, following)
        elif isinstance(instruction, (ir.Call, ir.CallLocal)):
            self._call(instruction)
        elif isinstance(instruction, (ir.Load, ir.Store, ir.Atomic)):
            self._memory(instruction)
        elif isinstance(instruction, ir.Alu):
            self._alu(instruction)
        elif isinstance(instruction, ir.Move):
            self._move(instruction)
        else:
            self._other(instruction)

    def _move(self, instruction: ir.Move) -> None:
        dst = self._target(instruction.dst)
        if isinstance(instruction.src, Imm):
            self._constant(dst, instruction.src.value)
        elif instruction.dst in self.home and instruction.src not in self.home:
            self.out.append(bpf.store_reg(8, bpf.R10, self.home[instruction.dst], self.machine[instruction.src]))
            return
        else:
            self._copy(dst, self._read(instruction.src, dst))
        self._written(instruction.dst)

    def _alu(self, instruction: ir.Alu) -> None:
        op, wide = _ALU[instruction.op], instruction.bits == 64
        dst = self._target(instruction.dst)
        left, right = operands(instruction, self.addresses)
        second = self._read(right, SCRATCH[1]) if isinstance(right, Reg) else None
        if second is not None and second == dst and left != right:
            left, second = right, self._read(left, SCRATCH[1])  # type: ignore[assignment]
        self._copy(dst, self._read(left, dst))
        offset = 1 if instruction.op in ("sdiv", "smod") else 0
        if second is not None:
            self.out.append((bpf.alu64_reg if wide else bpf.alu32_reg)(op, dst, second, offset))
        else:
            assert isinstance(right, Imm)
            self.out.append((bpf.alu64_imm if wide else bpf.alu32_imm)(op, dst, right.value, offset))
        self._written(instruction.dst)

    def _other(self, instruction: ir.Instruction) -> None:
        assert isinstance(instruction, (ir.Extend, ir.Swap, ir.MapValue, ir.Address, ir.Stamped, ir.Here))
        dst = self._target(instruction.dst)
        if isinstance(instruction, ir.Extend):
            self._extend(instruction, dst)
        elif isinstance(instruction, ir.Swap):
            self._copy(dst, self._read(instruction.src, dst))
            self.out.append(bpf.to_big_endian(dst, instruction.size * 8))
        elif isinstance(instruction, ir.MapValue):
            self.code.map_references.append((len(self.out), instruction.map))
            self.out.extend(bpf.ld_map_value(dst, instruction.offset))
        elif isinstance(instruction, ir.Address):
            self._frame_address(dst, self.slots[instruction.slot] + instruction.offset)
        elif isinstance(instruction, ir.Stamped):
            self.code.stamps.append(Stamp(len(self.out), instruction.kind, instruction.name))
            self.out.extend(bpf.ld_imm64(dst, 0))
        else:
            self.code.here.append(len(self.out))
            self.out.append(bpf.mov_imm(dst, 0))
        self._written(instruction.dst)

    def _extend(self, instruction: ir.Extend, dst: int) -> None:
        src = self._read(instruction.src, dst)
        bits = instruction.size * 8
        if not instruction.signed and bits == 32:
            self.out.append(bpf.mov32_reg(dst, src))
            return
        self._copy(dst, src)
        if instruction.signed:
            self.out.append(bpf.alu64_imm(bpf.LSH, dst, 64 - bits))
            self.out.append(bpf.alu64_imm(bpf.ARSH, dst, 64 - bits))
        else:
            self.out.append(bpf.alu64_imm(bpf.AND, dst, (1 << bits) - 1))

    def _frame_address(self, dst: int, offset: int) -> None:
        self.out.append(bpf.mov_reg(dst, bpf.R10))
        self.out.append(bpf.alu64_imm(bpf.ADD, dst, offset))

    def _memory(self, instruction: ir.Load | ir.Store | ir.Atomic) -> None:
        base, offset = self._base(instruction.base, instruction.offset, SCRATCH[1])
        if isinstance(instruction, ir.Load):
            dst = self._target(instruction.dst)
            self.out.append(bpf.load(instruction.size, dst, base, offset))
            self._written(instruction.dst)
        elif isinstance(instruction, ir.Store):
            if isinstance(instruction.value, Imm):
                self.out.append(bpf.store_imm(instruction.size, base, offset, instruction.value.value))
            else:
                value = self._read(instruction.value, SCRATCH[0])
                self.out.append(bpf.store_reg(instruction.size, base, offset, value))
        else:
            self._atomic(instruction, base, offset)

    def _atomic(self, instruction: ir.Atomic, base: int, offset: int) -> None:
        op = _ATOMIC[instruction.op]
        value = self._read(instruction.value, SCRATCH[0])
        if instruction.op == "cmpxchg":
            assert instruction.expected is not None
            self._copy(bpf.R0, self._read(instruction.expected, bpf.R0))
            self.out.append(bpf.atomic(instruction.size, op, base, offset, value))
            if instruction.fetched is not None:
                self._copy(self._target(instruction.fetched), bpf.R0)
                self._written(instruction.fetched)
            return
        if instruction.fetched is None:
            # An exchange would overwrite the source register, and is a store if nobody wants the old value.
            is_store = instruction.op == "xchg"
            self.out.append(
                bpf.store_reg(instruction.size, base, offset, value)
                if is_store
                else bpf.atomic(instruction.size, op, base, offset, value)
            )
            return
        dst = self._target(instruction.fetched)
        self._copy(dst, value)
        self.out.append(bpf.atomic(instruction.size, op | bpf.FETCH, base, offset, dst))
        self._written(instruction.fetched)

    def _control(self, instruction: ir.Jump | ir.Branch | ir.Return, following: int) -> None:
        if isinstance(instruction, ir.Return):
            if isinstance(instruction.value, Imm):
                self._constant(bpf.R0, instruction.value.value)
            else:
                self._copy(bpf.R0, self._read(instruction.value, bpf.R0))
            self.out.append(bpf.exit_())
        elif isinstance(instruction, ir.Jump):
            if instruction.target != following:
                self._jump(instruction.target)
        elif instruction.then == following and instruction.op != "set":
            self._branch(instruction._replace(op=_INVERSE[instruction.op]), instruction.otherwise)
        else:
            self._branch(instruction, instruction.then)
            if instruction.otherwise != following:
                self._jump(instruction.otherwise)

    def _jump(self, label: int) -> None:
        self.jumps.append((len(self.out), label))
        self.out.append(bpf.jump(0))

    def _branch(self, instruction: ir.Branch, label: int) -> None:
        op, wide = _JUMP[instruction.op], instruction.bits == 64
        left = self._read(instruction.left, SCRATCH[0])
        if isinstance(instruction.right, Imm):
            jump = (bpf.jump_imm if wide else bpf.jump32_imm)(op, left, instruction.right.value, 0)
        else:
            jump = (bpf.jump_reg if wide else bpf.jump32_reg)(op, left, self._read(instruction.right, SCRATCH[1]), 0)
        self.jumps.append((len(self.out), label))
        self.out.append(jump)

    # Calls

    def _call(self, instruction: ir.Call | ir.CallLocal) -> None:
        moves = []
        late: list[tuple[int, ir.CallArgument]] = []
        for number, argument in enumerate(instruction.arguments):
            if isinstance(argument, Reg) and argument not in self.home:
                moves.append((number + 1, self.machine[argument]))
            else:
                late.append((number + 1, argument))
        self._parallel(moves)
        for machine, argument in late:
            self._argument(machine, argument)
        if isinstance(instruction, ir.Call):
            self.out.append(bpf.call(instruction.helper))
        else:
            self.code.calls.append((len(self.out), instruction.function))
            self.out.append(bpf.call_local(0))
        if instruction.dst in self.home:
            self.out.append(bpf.store_reg(8, bpf.R10, self.home[instruction.dst], bpf.R0))
        elif instruction.dst in self.machine:
            self._copy(self.machine[instruction.dst], bpf.R0)

    def _argument(self, machine: int, argument: ir.CallArgument) -> None:
        if isinstance(argument, Imm):
            self._constant(machine, argument.value)
        elif isinstance(argument, Reg):
            self.out.append(bpf.load(8, machine, bpf.R10, self.home[argument]))
        elif isinstance(argument, ir.SlotAddress):
            self._frame_address(machine, self.slots[argument.slot] + argument.offset)
        elif isinstance(argument, ir.FunctionAddress):
            self.code.calls.append((len(self.out), argument.function))
            self.out.extend(bpf.ld_function(machine, 0))
        else:
            self.code.map_references.append((len(self.out), argument.map))
            self.out.extend(bpf.ld_map_fd(machine))

    def _parallel(self, moves: list[tuple[int, int]]) -> None:
        """Copy registers to registers as if all at once; r0, never a destination, breaks cycles."""
        pending = [(dst, src) for dst, src in moves if dst != src]
        while pending:
            sources = {src for _, src in pending}
            ready = [move for move in pending if move[0] not in sources]
            if ready:
                for dst, src in ready:
                    self._copy(dst, src)
                pending = [move for move in pending if move not in ready]
            else:
                dst, src = pending[0]
                self._copy(bpf.R0, src)
                pending = [(d, bpf.R0 if s == src else s) for d, s in pending]


def _is_final(instruction: Instruction) -> bool:
    """Whether what follows the instruction is not reached through it."""
    return instruction == bpf.exit_() or instruction._replace(offset=0) == bpf.jump(0)


def _slots_of(instruction: ir.Instruction) -> list[Slot]:
    if isinstance(instruction, (ir.Call, ir.CallLocal)):
        return [a.slot for a in instruction.arguments if isinstance(a, ir.SlotAddress)]
    if isinstance(instruction, ir.Address):
        return [instruction.slot]
    base = getattr(instruction, "base", None)
    return [base] if isinstance(base, Slot) else []
