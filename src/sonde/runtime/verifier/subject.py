"""What is verified: a program, with what the verifier looks up about it and notes down on the way."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence

from sonde.bpf import disassembler, instructions, programs
from sonde.bpf import helpers as bpf_helpers
from sonde.bpf.instructions import Instruction, decode
from sonde.bpf.signatures import SIGNATURES
from sonde.model.spec import MapSpec, ProgramSpec
from sonde.runtime.verifier.contexts import CONTEXTS, ContextTable, tracing
from sonde.runtime.verifier.rules import Rules
from sonde.runtime.verifier.state import Identities, State
from sonde.typed import NamedTuple


class Rewriting(NamedTuple):
    """An access to the context in the engine's layout: `by` bytes farther on, of `size` bytes."""

    by: int
    size: int


class Doubt(NamedTuple):
    """What instruction `at` takes as a map's key or value has no byte that was written: bytes `low` to `high` of the
    stack of `function`, in register `register`; `what` says it in words."""

    at: int
    function: int
    low: int
    high: int
    register: int
    is_key: bool
    what: str
    state: State


class Subject:
    """A program and what becomes known about it.

    `maps` are by the instruction that refers to them.

    `accesses` collects how each instruction that reads or writes the context is to be rewritten, None for one
    that accesses something else, and `conflicts` those that would have to do it in two ways; `depths` how much
    of its stack each function uses, in bytes, `written` how much of it is written at the deepest, and `doubts` what is
    taken from it though it was not written, by instruction, argument, function and place. `is_typed`: what a word of
    the context is, is known. `size_of` tells how large a structure of the kernel is, None where that is not known;
    `helpers` are those that there are.
    """

    def __init__(
        self, program: ProgramSpec, maps: Mapping[str, MapSpec], arguments: Sequence[str] | None, rules: Rules,
        size_of: Callable[[str], int | None] = lambda _name: None, helpers: Container[int] = SIGNATURES,
    ) -> None:  # fmt: skip
        self.program = program
        self.code: list[Instruction] = decode(program.code)
        self.maps = {at: maps[name] for at, name in program.map_references}
        self.context = _context(program, arguments)
        self.is_typed = program.kind != programs.TRACING or arguments is not None
        self.rules = rules
        self.size_of = size_of
        self.helpers = helpers
        self.identities = Identities()
        self.accesses: dict[int, Rewriting | None] = {}
        self.context_end = 0
        """Behind the last byte of the context that the program sees and accesses."""
        self.context_seen: set[int] = set()
        """Where in the context it loads, as the program sees it."""
        self.conflicts: set[int] = set()
        self.depths: dict[int, int] = {}
        self.written: dict[int, int] = {}
        self.doubts: dict[tuple[int, int, int, int], Doubt] = {}

    @property
    def kind(self) -> int:
        """The program's type (enum bpf_prog_type)."""
        return self.program.kind

    def note(self, at: int, access: Rewriting | None) -> None:
        """Instruction `at` accesses the context, to be rewritten so, or, with None, something else."""
        if self.accesses.setdefault(at, access) != access:
            self.conflicts.add(at)

    def use_stack(self, function: int, offset: int) -> None:
        """The function accesses its stack at this offset, which is negative."""
        if -offset > self.depths.get(function, 0):
            self.depths[function] = -offset

    def write_stack(self, function: int, offset: int) -> None:
        """The function's stack is written at this offset, which is negative."""
        if -offset > self.written.get(function, 0):
            self.written[function] = -offset

    def name_of(self, at: int) -> str:
        """What an instruction is, where a message says where a value comes from."""
        instruction = self.code[at]
        if instruction.opcode == instructions.JMP | instructions.CALL and instruction.src == 0:
            return bpf_helpers.name_of(instruction.imm)
        return f"`{disassembler.disassemble(self.code[at : at + 2])[0]}`"


MOST_ARGUMENTS = 12
"""Of a tracepoint (MAX_BPF_FUNC_ARGS, include/linux/bpf.h)."""


def _context(program: ProgramSpec, arguments: Sequence[str] | None) -> ContextTable | None:
    if program.kind == programs.TRACING:
        return tracing(arguments if arguments is not None else ("",) * MOST_ARGUMENTS)
    return CONTEXTS.get(program.kind)
