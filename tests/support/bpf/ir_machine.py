"""A direct interpreter of the intermediate form: what compiled functions are compared with."""

from sonde.codegen.intermediate import ir
from support.bpf.bpf_machine import MASK64, MachineError, arithmetic, holds, signed


class IrMachine:
    """Functions by name, with the value of the map `memory` as their only memory besides slots."""

    def __init__(self, functions, memory):
        self.functions = functions
        self.memory = memory

    def run(self, name, *arguments):
        return _Activation(self, self.functions[name], arguments).run()


class _Activation:
    def __init__(self, machine, function, arguments):
        self.machine = machine
        self.blocks = {b.number: b for b in function.blocks}
        self.entry = function.blocks[0].number
        self.registers = dict(zip(function.parameters, [a & MASK64 for a in arguments], strict=True))
        self.slots = {slot: bytearray(slot.size) for slot in function.slots}

    def run(self):
        number = self.entry
        while True:
            for instruction, _ in self.blocks[number].code:
                if isinstance(instruction, ir.Return):
                    return self.get(instruction.value)
                if isinstance(instruction, ir.Jump):
                    number = instruction.target
                elif isinstance(instruction, ir.Branch):
                    taken = holds(instruction.op, self.get(instruction.left), self.get(instruction.right),
                                  instruction.bits)  # fmt: skip
                    number = instruction.then if taken else instruction.otherwise
                else:
                    self.step(instruction)

    def get(self, operand):
        if isinstance(operand, ir.Imm):
            return operand.value & MASK64
        if operand not in self.registers:
            raise MachineError(f"v{operand.number} is not set")
        return self.registers[operand]

    def bytes_at(self, base, offset):
        """The bytearray and the offset in it; a register used as a base holds an offset in the memory."""
        if isinstance(base, ir.Slot):
            return self.slots[base], offset
        return self.machine.memory, self.get(base) + offset

    def read(self, base, offset, size):
        data, at = self.bytes_at(base, offset)
        return int.from_bytes(data[at : at + size], "little")

    def write(self, base, offset, size, value):
        data, at = self.bytes_at(base, offset)
        data[at : at + size] = (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")

    def step(self, i):
        match i:
            case ir.Move():
                result = self.get(i.src)
            case ir.Alu():
                result = arithmetic(i.op, self.get(i.left), self.get(i.right), i.bits)
            case ir.Extend():
                low = self.get(i.src) & ((1 << 8 * i.size) - 1)
                result = signed(low, 8 * i.size) if i.signed else low
            case ir.Swap():
                low = self.get(i.src) & ((1 << 8 * i.size) - 1)
                result = int.from_bytes(low.to_bytes(i.size, "little"), "big")
            case ir.Load():
                result = self.read(i.base, i.offset, i.size)
            case ir.Store():
                self.write(i.base, i.offset, i.size, self.get(i.value))
                return
            case ir.Atomic():
                result = self.atomic(i)
            case ir.Call():
                result = 0
            case ir.CallLocal():
                result = self.machine.run(i.function, *(self.get(a) for a in i.arguments))
            case ir.MapValue():
                result = i.offset
        target = ir.defined(i)
        if target is not None:
            self.registers[target] = result & MASK64

    def atomic(self, i):
        old, value = self.read(i.base, i.offset, i.size), self.get(i.value)
        if i.op == "cmpxchg":
            if old == self.get(i.expected) & ((1 << 8 * i.size) - 1):
                self.write(i.base, i.offset, i.size, value)
        elif i.op == "xchg":
            self.write(i.base, i.offset, i.size, value)
        else:
            self.write(i.base, i.offset, i.size, arithmetic(i.op, old, value, 8 * i.size))
        return old
