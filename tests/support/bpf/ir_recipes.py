"""Random functions of the intermediate form: recipes that hypothesis draws, and the functions they are built into.

A recipe is a list of statements whose operands are numbers, taken modulo what there is to choose from. It is built
with inputs from memory, or with constants in their place, which the builder folds; `raw` bypasses the builder's
simplifications. Whichever way, running it leaves the same words in the memory, a map value of MEMORY_SIZE bytes.
"""

import copy
from typing import NamedTuple

from hypothesis import strategies as st

from sonde.codegen.intermediate import ir
from sonde.codegen.intermediate.builder import Builder
from sonde.codegen.intermediate.ir import Imm

INPUTS = 6
ATOMICS = 8 * INPUTS
OUTPUTS = ATOMICS + 32
MAX_KEPT = 32
VARIABLES = 2
SLOT_WORDS = 2
MEMORY_SIZE = OUTPUTS + 8 * (MAX_KEPT + VARIABLES + SLOT_WORDS)
HELPER = 8
"""get_smp_processor_id, which is 0 where these functions run."""

ALU_OPS = ("add", "sub", "mul", "div", "mod", "sdiv", "smod", "and", "or", "xor", "lsh", "rsh", "arsh")
JUMP_OPS = ("eq", "ne", "gt", "ge", "lt", "le", "sgt", "sge", "slt", "sle", "set")
ATOMIC_OPS = ("add", "or", "and", "xor", "xchg", "cmpxchg")
EDGES = (0, 1, -1, 2, 7, 8, 31, 32, 63, 64, 65, 127, 128, 255, 256, -128, 32767, 32768, 65535, (1 << 31) - 1, 1 << 31,
         -(1 << 31), (1 << 32) - 1, 1 << 32, (1 << 63) - 1, -(1 << 63), -(1 << 63) + 1, 0x0123456789ABCDEF)  # fmt: skip


class Const(NamedTuple):
    value: int


words = st.one_of(st.sampled_from(EDGES), st.integers(-(1 << 63), (1 << 63) - 1), st.integers(-70, 70))
_operand = st.one_of(st.integers(0, 63), st.integers(0, 63), words.map(Const))
_size = st.sampled_from((1, 2, 4, 8))
_bits = st.sampled_from((64, 64, 32))

_simple = st.one_of(
    st.tuples(st.just("alu"), st.sampled_from(ALU_OPS), _bits, _operand, _operand),
    st.tuples(st.just("alu"), st.sampled_from(ALU_OPS), _bits, _operand, _operand),
    st.tuples(st.just("extend"), _operand, _size, st.booleans()),
    st.tuples(st.just("swap"), _operand, st.sampled_from((2, 4, 8))),
    st.tuples(st.just("store"), st.integers(0, 15), _size, _operand),
    st.tuples(st.just("load"), st.integers(0, 15), _size, st.booleans()),
    st.tuples(st.just("atomic"), st.sampled_from(ATOMIC_OPS), st.sampled_from((4, 8)), st.integers(0, 7), _operand,
              _operand, st.booleans(), st.booleans()),
    st.tuples(st.just("set"), st.integers(0, VARIABLES - 1), _operand),
    st.tuples(st.just("call"), st.booleans()),
    st.tuples(st.just("local"), _operand, _operand, _operand),
    st.tuples(st.just("truth"), st.sampled_from(JUMP_OPS), _bits, _operand, _operand),
)  # fmt: skip


def _blocks(inner):
    return st.tuples(
        st.just("if"), st.sampled_from(JUMP_OPS), _bits, _operand, _operand,
        st.lists(inner, max_size=4), st.lists(inner, max_size=4),
    )  # fmt: skip


_statement = st.recursive(_simple, lambda inner: st.one_of(_simple, _simple, _blocks(inner)), max_leaves=12)
recipes = st.lists(_statement, min_size=1, max_size=25)
inputs = st.lists(words, min_size=INPUTS, max_size=INPUTS)
kept = st.sampled_from((1, 2, 4, 8, 16, MAX_KEPT))


class Maker:
    """Builds one recipe; the last `kept` of its results live to the end."""

    def __init__(self, raw=False, constants=None, kept=8):
        self.b = Builder("main")
        self.raw = raw
        self.kept = kept
        self.constants = constants
        self.memory = self.b.map_value("memory")
        self.pool = []
        self.variables = [self.b.copy(Imm(n)) for n in range(VARIABLES)]
        self.slot = self.b.slot(8 * SLOT_WORDS)
        for n in range(SLOT_WORDS):
            self.b.store(self.slot, 8 * n, 8, Imm(n))

    def function(self, recipe):
        self.statements(recipe)
        results = self.pool[len(self.pool) - self.kept :] if self.kept < len(self.pool) else list(self.pool)
        results += self.variables
        results += [self.b.load(self.slot, 8 * n, 8) for n in range(SLOT_WORDS)]
        for number, value in enumerate(results):
            self.b.store(self.memory, OUTPUTS + 8 * number, 8, value)
        self.b.ret(Imm(0))
        return self.b.function

    def statements(self, recipe):
        for kind, *operands in recipe:
            getattr(self, kind if kind != "if" else "branch")(*operands)

    def operand(self, choice):
        if isinstance(choice, Const):
            return Imm(choice.value)
        available = [*range(INPUTS), *self.pool, *self.variables]
        found = available[choice % len(available)]
        if not isinstance(found, int):
            return found
        return Imm(self.constants[found]) if self.constants else self.b.load(self.memory, 8 * found, 8)

    def register(self, choice):
        return self.b.in_register(self.operand(choice))

    def add(self, value):
        """Keep a value for later statements; a variable's as it is now."""
        self.pool.append(self.b.copy(value) if value in self.variables else value)

    def alu(self, op, bits, left, right):
        a, c = self.operand(left), self.operand(right)
        if not self.raw:
            self.add(self.b.alu(op, a, c, bits))
            return
        if isinstance(c, Imm) and (
            (op in ("lsh", "rsh", "arsh") and not 0 <= c.value < bits)
            or (op in ("div", "mod", "sdiv", "smod") and c.value & ((1 << 32) - 1) == 0)
            or not ir.fits(c.value)
        ):
            c = self.b.copy(c)
        dst = self.b.register()
        self.b.emit(ir.Alu(dst, op, self.b.in_register(a), c, bits))
        self.pool.append(dst)

    def extend(self, value, size, is_signed):
        if self.raw:
            dst = self.b.register()
            self.b.emit(ir.Extend(dst, self.register(value), size, is_signed))
            self.pool.append(dst)
        else:
            self.add(self.b.extend(self.operand(value), size, is_signed))

    def swap(self, value, size):
        self.add(self.b.swap(self.operand(value), size))

    def store(self, offset, size, value):
        self.b.store(self.slot, offset // size * size, size, self.operand(value))

    def load(self, offset, size, is_signed):
        self.add(self.b.load(self.slot, offset // size * size, size, is_signed))

    def atomic(self, op, size, place, value, expected, on_stack, fetched):
        base, start = (self.slot, 0) if on_stack else (self.memory, ATOMICS)
        offset = start + size * (place % (8 * SLOT_WORDS // size))
        old = self.b.register() if fetched else None
        wanted = self.register(expected) if op == "cmpxchg" else None
        self.b.emit(ir.Atomic(op, base, offset, size, self.register(value), old, wanted))
        if old is not None:
            self.pool.append(old)

    def set(self, variable, value):
        self.b.move(self.variables[variable], self.operand(value))

    def call(self, is_pure):
        self.add(self.b.call(HELPER, pure="cpu" if is_pure else ""))

    def local(self, *values):
        self.add(self.b.call_local("part", *(self.operand(v) for v in values)))

    def truth(self, op, bits, left, right):
        self.add(self.b.truth(op, self.operand(left), self.operand(right), bits))

    def branch(self, op, bits, left, right, then, otherwise):
        yes, no, end = self.b.label(), self.b.label(), self.b.label()
        self.b.branch(op, self.operand(left), self.operand(right), yes, no, bits)
        known = len(self.pool)
        for label, body in ((yes, then), (no, otherwise)):
            self.b.place(label)
            self.statements(body)
            del self.pool[known:]
            self.b.jump(end)
        self.b.place(end)


def part():
    """The subprogram that recipes call: three numbers mixed so that their order matters."""
    b = Builder("part", 3)
    x, y, z = b.function.parameters
    total = b.alu("sub", b.alu("mul", x, Imm(3)), y)
    with b.when("slt", z, Imm(0)):
        b.ret(b.alu("xor", total, z))
    b.ret(b.alu("add", total, b.alu("rsh", z, Imm(5))))
    return b.function


def memory_of(values):
    """The memory a recipe starts with."""
    data = bytearray(MEMORY_SIZE)
    for number, value in enumerate(values):
        data[8 * number : 8 * number + 8] = (value & ((1 << 64) - 1)).to_bytes(8, "little")
    for number in range(ATOMICS, OUTPUTS):
        data[number] = number
    return data


def duplicate(function):
    """The function again, for a pass to change."""
    return copy.deepcopy(function)
