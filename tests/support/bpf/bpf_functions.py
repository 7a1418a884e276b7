"""One function of a random eBPF program while it is written: its code, and what is known where it has got to."""

from typing import NamedTuple

from sonde.bpf import instructions as i
from sonde.bpf.helpers import NUMBERS

CALLER_SAVED, CALLEE_SAVED = range(6), range(6, 10)

NUMBERS_OF_INTEREST = (
    0, 1, 2, 3, 7, 8, 16, 31, 32, 63, 64, 127, 128, 255, 256, 0x7FFF, 0x8000, 0xFFFF, 0x10000, 0x7FFFFFFF, -1, -2, -8,
    -128, -0x8000, -0x80000000,
)  # fmt: skip
WIDE_NUMBERS = (
    1 << 31, 1 << 32, (1 << 32) - 1, 1 << 63, (1 << 63) - 1, (1 << 64) - 1, (1 << 64) - (1 << 31), 0x0123456789ABCDEF,
)  # fmt: skip


class Span(NamedTuple):
    """Memory that a pointer leads to: `size` bytes at `start` from it. `number` tells equal ones apart."""

    number: int
    kind: str
    start: int
    size: int
    is_writable: bool = True
    is_atomic: bool = True


class Function:
    """`scalars` are the registers that hold numbers, `pointers` those that hold pointers, `slots` the offsets of the
    8-byte stack slots that hold numbers, `locked` the registers and slots that statements must leave as they are."""

    def __init__(self, random, arguments=0, depth=0):
        self.random = random
        self.depth = depth
        self.code = []
        self.calls = []
        self.references = []
        self.context_accesses = []
        self.scalars = set(range(1, 1 + arguments))
        self.pointers = {}
        self.slots = set()
        self.locked = set()
        self.nesting = 0

    def emit(self, *instructions):
        self.code += instructions

    def emit_access(self, instruction):
        """Emit an access to the context."""
        self.context_accesses.append(len(self.code))
        self.emit(instruction)

    # Registers.

    def set_scalar(self, register):
        self.pointers.pop(register, None)
        self.scalars.add(register)
        return register

    def set_pointer(self, register, span):
        self.scalars.discard(register)
        self.pointers[register] = span

    def forget(self, registers):
        for register in registers:
            self.scalars.discard(register)
            self.pointers.pop(register, None)

    def free(self, saved=False, but=()):
        """A register that may be overwritten; `saved` over calls. None if there is none."""
        choice = [r for r in (CALLEE_SAVED if saved else range(10)) if r not in self.locked and r not in but]
        return self.random.choice(choice) if choice else None

    def number(self, but=()):
        """A register that holds a number; one is made if there is none."""
        choice = sorted(r for r in self.scalars if r not in but)
        if choice:
            return self.random.choice(choice)
        register = self.free(but=but)
        assert register is not None, "no register is left"
        self.load_constant(register)
        return register

    def target(self, but=()):
        """A register with a number that may be changed."""
        choice = sorted(r for r in self.scalars - self.locked if r not in but)
        if choice and self.random.random() < 0.8:
            return self.random.choice(choice)
        register = self.free(but=but)
        self.load_constant(register)
        return register

    def load_constant(self, register):
        if self.random.random() < 0.25:
            value = self.random.choice(WIDE_NUMBERS) if self.random.random() < 0.6 else self.random.getrandbits(64)
            self.emit(*i.ld_imm64(register, value))
        else:
            self.emit(self.random.choice((i.mov_imm, i.mov_imm, i.mov32_imm))(register, self.immediate()))
        self.set_scalar(register)

    def immediate(self):
        if self.random.random() < 0.7:
            return self.random.choice(NUMBERS_OF_INTEREST)
        return self.random.getrandbits(32) - (1 << 31)

    # Stack.

    def slot(self, fresh=False):
        """The offset of a stack slot with a number; `fresh`: of one that may be overwritten."""
        if not fresh and self.slots:
            return self.random.choice(sorted(self.slots))
        room = [-8 * n for n in range(1, 17 if self.depth == 0 else 13) if -8 * n not in self.locked]
        offset = self.random.choice(room)
        if fresh:
            return offset
        self.emit(i.store_imm(8, 10, offset, self.immediate()))
        self.slots.add(offset)
        return offset

    def slots_for(self, size):
        """The offset of enough neighbouring slots, all of them set, for `size` bytes."""
        count = -(-size // 8)
        starts = [-8 * n for n in range(count, 17 if self.depth == 0 else 13)]
        fitting = [s for s in starts if not any(s + 8 * k in self.locked for k in range(count))]
        if not fitting:
            return None
        start = self.random.choice(fitting)
        for offset in range(start, start + 8 * count, 8):
            if offset not in self.slots:
                self.emit(i.store_imm(8, 10, offset, self.immediate()))
                self.slots.add(offset)
        return start

    # Control flow.

    def jump(self, instruction):
        """Emit a jump whose target is set by `land`."""
        self.emit(instruction)
        return len(self.code) - 1

    def land(self, *places):
        for place in places:
            distance = len(self.code) - place - 1
            self.code[place] = self.code[place]._replace(offset=distance)

    def state(self):
        return set(self.scalars), dict(self.pointers), set(self.slots)

    def resume(self, state):
        self.scalars, self.pointers, self.slots = set(state[0]), dict(state[1]), set(state[2])

    def merge(self, state):
        """Hold on to what is also true in another state."""
        self.scalars &= state[0]
        self.pointers = {r: span for r, span in self.pointers.items() if state[1].get(r) == span}
        self.slots &= state[2]

    # Calls.

    def call(self, name):
        self.emit(i.call(NUMBERS[name]))
        self.forget(CALLER_SAVED)

    def load_map(self, register, name):
        self.references.append((len(self.code), name))
        self.emit(*i.ld_map_fd(register))

    def load_map_value(self, register, name, offset=0):
        self.references.append((len(self.code), name))
        self.emit(*i.ld_map_value(register, offset))

    def callable_arguments(self):
        """Whether r1 to r5 may be overwritten."""
        return not self.locked & set(CALLER_SAVED)
