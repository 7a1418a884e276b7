"""Random eBPF programs, for tests of machines and verifiers: reproducible from a seed, most of them valid.

`from_seed` is fast; `samples` is the strategy for hypothesis, which shrinks what fails.
"""

import random as random_module
from typing import NamedTuple

from hypothesis import strategies as st

from sonde.bpf import instructions as i
from sonde.bpf import programs
from sonde.bpf.btf_writer import BtfBuilder, pack_func_info
from sonde.model.spec import MapSpec, ProgramSpec
from support.bpf import bpf_access, bpf_calls, bpf_maps
from support.bpf import bpf_statements as statements
from support.bpf.bpf_functions import Function, Span

KINDS = (programs.XDP, programs.SCHED_CLS, programs.SOCKET_FILTER, programs.SYSCALL, programs.RAW_TRACEPOINT)
PACKETS = frozenset({programs.XDP, programs.SCHED_CLS, programs.SOCKET_FILTER})

_STATEMENTS = (
    (10, statements.arithmetic),
    (3, statements.unary),
    (3, statements.constant),
    (4, statements.store_stack),
    (4, statements.load_stack),
    (1, statements.atomic_stack),
    (4, bpf_access.access_spans),
    (2, bpf_access.context_access),
    (1, bpf_access.spill),
)
_COMPOUND = (
    (5, statements.branch),
    (2, statements.loop),
    (2, bpf_maps.direct_value),
    (4, bpf_maps.lookup),
    (1, bpf_maps.nested_lookup),
    (2, bpf_maps.update),
    (1, bpf_maps.delete),
    (2, bpf_maps.record),
    (1, bpf_maps.output),
    (5, bpf_access.packet),
    (3, bpf_calls.helper),
    (1, bpf_calls.tail_call),
    (2, bpf_calls.local_call),
    (1, bpf_calls.callback),
)


class Sample(NamedTuple):
    """A program, its maps, and what it runs on: the packet, or the bytes of the context. `context_accesses` are the
    indexes of instructions that access the context of a packet."""

    kind: int
    code: tuple[i.Instruction, ...]
    map_references: tuple[tuple[int, str], ...]
    maps: tuple[MapSpec, ...]
    data: bytes
    btf: bytes = b""
    func_info: bytes = b""
    context_accesses: tuple[int, ...] = ()

    def spec(self) -> ProgramSpec:
        return ProgramSpec(
            "random", self.kind, 0, i.encode(self.code), self.map_references, (), btf=self.btf,
            func_info=self.func_info,
        )  # fmt: skip


class Generation:
    """One program while it is made."""

    def __init__(self, random, kind):
        self.random = random
        self.kind = kind
        self.functions = []
        self.budget = random.choice((6, 12, 20, 30, 45))
        self.spans = 0
        self.has_tail_call = self.has_callback = False
        # Programs that may sleep cannot have arrays of programs.
        self.may_tail_call = kind != programs.SYSCALL

    def span(self, kind, start, size, is_writable=True, is_atomic=True):
        self.spans += 1
        return Span(self.spans, kind, start, size, is_writable, is_atomic)

    def block(self, count):
        """`count` statements, or fewer when the program has become long."""
        function = self.function
        function.nesting += 1
        for _ in range(count):
            self.budget -= 1
            if self.budget > 0 and function.nesting < 5 and self.random.random() < 0.4:
                self._choose(_COMPOUND)(self)
            else:
                self.statement()
        function.nesting -= 1

    def statement(self):
        self.budget -= 1
        choice = self._choose(_STATEMENTS) if self.budget > -20 else statements.arithmetic
        choice(self)

    def _choose(self, weighted):
        return self.random.choices([s for _, s in weighted], [w for w, _ in weighted])[0]

    def _begin(self, arguments, depth):
        function = Function(self.random, arguments, depth)
        self.functions.append(function)
        self.function = function
        return len(self.functions) - 1

    def main(self):
        self._begin(0, 0)
        f = self.function
        context = self.random.choice((6, 6, 7, 9))
        f.emit(i.mov_reg(context, 1))
        f.set_pointer(context, self.span("context", 0, 0))
        f.locked.add(context)
        while self.budget > 0:
            self.block(self.random.randint(1, 6))
        self._show()

    def _show(self):
        """Store every number that is left where the test sees it."""
        f = self.function
        f.number()
        live = sorted(f.scalars)[:8]
        base = next(r for r in range(9, -1, -1) if r not in live)
        f.load_map_value(base, bpf_maps.RESULTS)
        for place, register in enumerate(live):
            f.emit(i.store_reg(8, base, 8 * place, register))
        if 0 not in live:
            f.emit(i.mov_reg(0, live[0]))
        f.emit(i.exit_())

    def subprogram(self, arguments, has_pointer, depth):
        """Write a function and return its number; the one that calls it goes on afterwards."""
        caller = self.function
        number = self._begin(arguments, depth)
        f = self.function
        if has_pointer:
            f.set_pointer(arguments + 1, self.span("value", 0, 16))
        self.block(self.random.randint(1, 5))
        self._return()
        self.function = caller
        return number

    def callback(self):
        """A function for bpf_loop: of the turn's number and a pointer to 16 bytes of stack; it returns 0 or 1."""
        caller = self.function
        number = self._begin(1, 2)
        f = self.function
        f.set_pointer(2, self.span("value", 0, 16))
        self.block(self.random.randint(1, 4))
        f.emit(i.mov_imm(0, int(self.random.random() < 0.1)), i.exit_())
        self.function = caller
        return number

    def _return(self):
        f = self.function
        if 0 not in f.scalars:
            f.emit(i.mov_reg(0, f.number()))
        f.emit(i.exit_())

    def finish(self, data):
        """Put the functions behind each other and resolve the calls."""
        starts, code, references = [], [], []
        for function in self.functions:
            starts.append(len(code))
            references += [(len(code) + at, name) for at, name in function.references]
            code += function.code
        for start, function in zip(starts, self.functions, strict=True):
            for at, callee in function.calls:
                code[start + at] = code[start + at]._replace(imm=starts[callee] - start - at - 1)
        used = tuple(sorted({name for _, name in references}))
        btf, func_info = function_types(starts) if self.has_callback else (b"", b"")
        specs = tuple(bpf_maps.SPECS[name] for name in used)
        accesses = tuple(
            start + at for start, f in zip(starts, self.functions, strict=True) for at in f.context_accesses
        )
        return Sample(self.kind, tuple(code), tuple(references), specs, data, btf, func_info, tuple(accesses))


def function_types(starts):
    """BTF for the functions, which the address of one needs."""
    builder = BtfBuilder()
    prototype = builder.add_function_type(builder.add_int("long", 8, 1), ())
    infos = [(start, builder.add_func(f"f{number}", prototype)) for number, start in enumerate(starts)]
    return builder.build(), pack_func_info(infos)


def generate(random, kind=None):
    """A program of that type, or of any, from the numbers that `random` gives."""
    kind = random.choice(KINDS) if kind is None else kind
    generation = Generation(random, kind)
    generation.main()
    return generation.finish(_data(random, kind))


def _data(random, kind):
    size = {programs.SYSCALL: 32, programs.RAW_TRACEPOINT: 96}.get(kind)
    if size is None:
        size = random.choice((14, 15, 20, 34, 60, 64, 65, 100, 256))
    return random.getrandbits(8 * size).to_bytes(size, "little")


def from_seed(seed, kind=None):
    """The program of that number."""
    return generate(random_module.Random(seed), kind)


def samples(kind=None):
    """Programs as hypothesis draws them."""
    return st.randoms(use_true_random=False).map(lambda random: generate(random, kind))


def touches_memory(sample):
    """Whether the program uses a map, a ring buffer or packet bytes besides the map of its results."""
    packets = {(programs.XDP, 0), (programs.SCHED_CLS, 76)}
    reads_packet = any(
        one.opcode == i.LDX | i.MEM | i.W and (sample.kind, one.offset) in packets for one in sample.code
    )
    return reads_packet or any(name != bpf_maps.RESULTS for _, name in sample.map_references)
