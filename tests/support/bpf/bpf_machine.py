"""A plain interpreter of eBPF, so that tests run compiled code without the kernel.

It is slow and strict: reading a register or address nobody has set, leaving the memory it was given, and immediates
that the kernel's verifier refuses (shifts by the width or more, division by zero) are errors.
"""

from sonde.bpf import instructions as bpf

MASK64 = (1 << 64) - 1
STACK_SIZE = 512
STACK_BASE = 0x7000_0000_0000
MAP_BASE = 0x1000_0000_0000
SPACING = 1 << 32


class MachineError(Exception):
    """What the kernel would refuse to load, or a fault."""


def signed(value, bits=64):
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def truncated_division(a, b):
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def arithmetic(name, a, b, bits):
    """The unsigned result of `a name b` on `bits` bits; a 32-bit result has zeros in the upper half."""
    mask = (1 << bits) - 1
    a, b = a & mask, b & mask
    match name:
        case "add":
            result = a + b
        case "sub":
            result = a - b
        case "mul":
            result = a * b
        case "div":
            result = a // b if b else 0
        case "mod":
            result = a % b if b else a
        case "sdiv":
            result = truncated_division(signed(a, bits), signed(b, bits)) if b else 0
        case "smod":
            x, y = signed(a, bits), signed(b, bits)
            result = x - y * truncated_division(x, y) if b else a
        case "and":
            result = a & b
        case "or":
            result = a | b
        case "xor":
            result = a ^ b
        case "lsh":
            result = a << (b % bits)
        case "rsh":
            result = a >> (b % bits)
        case "arsh":
            result = signed(a, bits) >> (b % bits)
    return result & mask


def holds(name, a, b, bits):
    """Whether the jump is taken."""
    mask = (1 << bits) - 1
    a, b = a & mask, b & mask
    x, y = signed(a, bits), signed(b, bits)
    return {
        "eq": a == b, "ne": a != b, "gt": a > b, "ge": a >= b, "lt": a < b, "le": a <= b, "set": a & b != 0,
        "sgt": x > y, "sge": x >= y, "slt": x < y, "sle": x <= y,
    }[name]  # fmt: skip


_ALU = {
    bpf.ADD: "add", bpf.SUB: "sub", bpf.MUL: "mul", bpf.DIV: "div", bpf.MOD: "mod", bpf.AND: "and", bpf.OR: "or",
    bpf.XOR: "xor", bpf.LSH: "lsh", bpf.RSH: "rsh", bpf.ARSH: "arsh",
}  # fmt: skip
_JUMP = {
    bpf.JEQ: "eq", bpf.JNE: "ne", bpf.JGT: "gt", bpf.JGE: "ge", bpf.JLT: "lt", bpf.JLE: "le", bpf.JSET: "set",
    bpf.JSGT: "sgt", bpf.JSGE: "sge", bpf.JSLT: "slt", bpf.JSLE: "sle",
}  # fmt: skip
ATOMIC = {bpf.ADD: "add", bpf.OR: "or", bpf.AND: "and", bpf.XOR: "xor"}


class Machine:
    """Code with its memory. `values` are one-element array maps by name: their value is a bytearray.

    `references` are the (index, map name) pairs of a ProgramSpec; `helpers` are functions of (machine, r1 ... r5)
    by number, which return r0.
    """

    def __init__(self, code, references=(), values=None, helpers=None):
        self.code = list(code)
        self.references = dict(references)
        self.values = values or {}
        self.helpers = helpers or {}
        self.memory = {}
        self.starts = {}
        self.executed = 0
        for number, (name, value) in enumerate(self.values.items()):
            self.starts[name] = self.add_memory(MAP_BASE + number * SPACING, value)

    def add_memory(self, start, data):
        """Make `data` (a bytearray) accessible at this address, a multiple of SPACING."""
        self.memory[start] = data
        return start

    def _at(self, address, size):
        start = address // SPACING * SPACING
        data = self.memory.get(start)
        if data is None or address - start + size > len(data):
            raise MachineError(f"no memory at {address:#x}")
        return data, address - start

    def read(self, address, size):
        data, offset = self._at(address, size)
        part = data[offset : offset + size]
        return int.from_bytes(part, "little")

    def write(self, address, size, value):
        data, offset = self._at(address, size)
        data[offset : offset + size] = (value & ((1 << size * 8) - 1)).to_bytes(size, "little")

    def run(self, *arguments):
        """Run from the first instruction; returns r0."""
        return self._call(0, arguments, 0)

    def _call(self, pc, arguments, depth):
        frame = STACK_BASE + depth * SPACING
        self.add_memory(frame, bytearray(b"\xa5" * STACK_SIZE))
        return _Frame(self, arguments, frame + STACK_SIZE, depth).run(pc)


class _Frame:
    """One activation of a function."""

    def __init__(self, machine, arguments, top, depth):
        self.machine = machine
        self.depth = depth
        self.registers = [None] * 11
        self.registers[1 : 1 + len(arguments)] = [a & MASK64 for a in arguments]
        self.registers[10] = top

    def get(self, number):
        value = self.registers[number]
        if value is None:
            raise MachineError(f"r{number} is not set")
        return value

    def run(self, pc):
        while True:
            instruction = self.machine.code[pc]
            self.machine.executed += 1
            if instruction.opcode == bpf.JMP | bpf.EXIT:
                return self.get(0)
            pc += 1 + self._step(instruction, pc)

    def _step(self, i, pc):
        """Execute; returns how many instructions to skip."""
        match i.opcode & 7:
            case bpf.ALU | bpf.ALU64:
                self._alu(i)
                return 0
            case bpf.JMP | bpf.JMP32:
                return self._jump(i, pc)
            case bpf.LD:
                return self._load_constant(i, pc)
            case bpf.LDX:
                size = bpf.BYTES_OF_SIZE[i.opcode & 0x18]
                self.registers[i.dst] = self.machine.read(self.get(i.src) + i.offset, size)
            case bpf.ST:
                size = bpf.BYTES_OF_SIZE[i.opcode & 0x18]
                self.machine.write(self.get(i.dst) + i.offset, size, i.imm)
            case bpf.STX:
                self._store(i)
        return 0

    def _load_constant(self, i, pc):
        high = self.machine.code[pc + 1].imm
        if i.src == bpf.PSEUDO_MAP_VALUE:
            self.registers[i.dst] = self.machine.starts[self.machine.references[pc]] + high
        elif i.src == bpf.PSEUDO_VALUE:
            self.registers[i.dst] = (i.imm & 0xFFFFFFFF) | (high & 0xFFFFFFFF) << 32
        elif i.src == bpf.PSEUDO_MAP_FD:
            # What only helpers look at.
            self.registers[i.dst] = 0
        else:
            raise MachineError("this kind of constant")
        return 1

    def _alu(self, i):
        bits = 64 if i.opcode & 7 == bpf.ALU64 else 32
        operation = i.opcode & 0xF0
        if operation == bpf.END:
            self.registers[i.dst] = self._swapped(i)
            return
        operand = self.get(i.src) if i.opcode & bpf.X else i.imm & MASK64
        if operation == bpf.MOV:
            if i.offset:
                operand = signed(operand, i.offset)
            self.registers[i.dst] = operand & ((1 << bits) - 1)
            return
        if operation == bpf.NEG:
            self.registers[i.dst] = arithmetic("sub", 0, self.get(i.dst), bits)
            return
        name = _ALU[operation]
        if not i.opcode & bpf.X:
            if name in ("lsh", "rsh", "arsh") and not 0 <= i.imm < bits:
                raise MachineError(f"invalid shift {i.imm}")
            if name in ("div", "mod") and i.imm == 0:
                raise MachineError("div by zero")
        name = "s" + name if i.offset == 1 else name
        self.registers[i.dst] = arithmetic(name, self.get(i.dst), operand, bits)

    def _swapped(self, i):
        size = i.imm // 8
        low = self.get(i.dst) & ((1 << i.imm) - 1)
        is_swap = i.opcode & 7 == bpf.ALU64 or i.opcode & bpf.X
        return int.from_bytes(low.to_bytes(size, "little"), "big") if is_swap else low

    def _jump(self, i, pc):
        operation = i.opcode & 0xF0
        if operation == bpf.CALL:
            self._call(i, pc)
            return 0
        if operation == bpf.JA:
            return i.imm if i.opcode & 7 == bpf.JMP32 else i.offset
        operand = self.get(i.src) if i.opcode & bpf.X else i.imm
        bits = 64 if i.opcode & 7 == bpf.JMP else 32
        return i.offset if holds(_JUMP[operation], self.get(i.dst), operand, bits) else 0

    def _call(self, i, pc):
        arguments = self.registers[1:6]
        if i.src == bpf.CALL_LOCAL:
            given = arguments[: next((n for n, a in enumerate(arguments) if a is None), 5)]
            result = self.machine._call(pc + 1 + i.imm, given, self.depth + 1)
        else:
            result = self.machine.helpers[i.imm](self.machine, *arguments) & MASK64
        self.registers[0] = result
        self.registers[1:6] = [None] * 5

    def _store(self, i):
        size = bpf.BYTES_OF_SIZE[i.opcode & 0x18]
        address = self.get(i.dst) + i.offset
        if i.opcode & 0xE0 == bpf.MEM:
            self.machine.write(address, size, self.get(i.src))
            return
        if address % size:
            raise MachineError("misaligned atomic operation")
        old, value = self.machine.read(address, size), self.get(i.src)
        if i.imm == bpf.CMPXCHG:
            if old == self.get(0) & ((1 << size * 8) - 1):
                self.machine.write(address, size, value)
            self.registers[0] = old
            return
        if i.imm == bpf.XCHG:
            self.machine.write(address, size, value)
        else:
            self.machine.write(address, size, arithmetic(ATOMIC[i.imm & ~bpf.FETCH], old, value, size * 8))
        if i.imm & bpf.FETCH:
            self.registers[i.src] = old
