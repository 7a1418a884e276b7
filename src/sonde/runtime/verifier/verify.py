"""The verifier's front: a program in, the proof that it is harmless out, or a message that says why not."""

from __future__ import annotations

import gc
from collections.abc import Callable, Container, Mapping, Sequence

from sonde.bpf import programs
from sonde.bpf.instructions import Instruction
from sonde.bpf.signatures import SIGNATURES
from sonde.model.spec import MapSpec, ProgramSpec
from sonde.runtime.verifier import messages
from sonde.runtime.verifier.checks import Problem
from sonde.runtime.verifier.depth import check_depth, check_nesting, check_used
from sonde.runtime.verifier.exploration import Exploration, RefusedError
from sonde.runtime.verifier.rewriting import rewritten
from sonde.runtime.verifier.rules import USUAL, Rules
from sonde.runtime.verifier.state import State
from sonde.runtime.verifier.structure import MalformedError, structure
from sonde.runtime.verifier.subject import Subject
from sonde.typed import NamedTuple

_SELDOM = 100_000
"""Objects between collections: states are many and short-lived, and none refers to itself. Looking for those that do
would take a fifth of the time."""


class Refusal(Exception):  # noqa: N818 - a program is refused, the verifier does not err
    """A program that must not run.

    `text` names the place, the instruction and what is wrong; `line` is the D line as "file:line", "" where the program
    has none; `at` the instruction's index and `instruction` its text; `register` what the register that it is about
    holds, "" if it is about none; `reason` the missing check alone.
    """

    def __init__(self, program: str, line: str, at: int, instruction: str, register: str, reason: str) -> None:
        place = f"{line}: " if line else ""
        held = f" ({register})" if register else ""
        super().__init__(f"{place}{reason}{held}, in instruction {at} of program {program}: {instruction}")
        self.program = program
        self.line = line
        self.at = at
        self.instruction = instruction
        self.register = register
        self.reason = reason

    @property
    def text(self) -> str:
        """The whole message."""
        return str(self)


class Verified(NamedTuple):
    """A program that may run. `code` has as many instructions as the program, its accesses to the context are those of
    the engine's layouts (`contexts.py`); `steps` is how many instructions were gone through to prove it. It reads the
    first `context_end` bytes of its context at most (`max_ctx_offset` of struct bpf_prog_aux), and loads at the offsets
    `context_seen` alone."""

    code: tuple[Instruction, ...]
    steps: int
    context_end: int = 0
    context_seen: frozenset[int] = frozenset()


def verify(
    program: ProgramSpec,
    maps: Mapping[str, MapSpec],
    arguments: Sequence[str] | None = None,
    observe: Callable[[int, State], None] | None = None,
    rules: Rules = USUAL,
    size_of: Callable[[str], int | None] = lambda _name: None,
    helpers: Container[int] = SIGNATURES,
) -> Verified:
    """Prove that the program reads and writes nothing but what it was given, ends, and releases what it takes.

    `maps` are those that it refers to, by name. `arguments` are the structures that the arguments of a tp_btf program
    point to, "" for numbers; without them a word of its context can be used as either. `observe` is told of each
    instruction gone through and the state before it. `rules` say what is refused that the kernel lets privileged users
    do. `size_of` tells the size of a structure of the kernel by its name, None if it is not known: then nothing can be
    said of where it ends. `helpers` are the numbers of those that there are. Raises Refusal.
    """
    subject = Subject(program, maps, arguments, rules, size_of, helpers)
    collections = gc.get_threshold()
    gc.set_threshold(_SELDOM)
    try:
        shape = structure(subject.code, subject.maps)
        check_nesting(shape)
        if subject.context is None:
            kind = programs.name_of(program.kind)
            raise RefusedError(0, None, Problem(f"this engine runs no programs of type {kind}"))
        exploration = Exploration(subject, shape, observe)
        exploration.run()
        check_depth(subject, shape)
        check_used(subject)
        return Verified(rewritten(subject), exploration.steps, subject.context_end, frozenset(subject.context_seen))
    except MalformedError as error:
        raise _refusal(subject, error.at, None, Problem(error.text)) from None
    except RefusedError as error:
        raise _refusal(subject, error.at, error.state, error.problem) from None
    finally:
        gc.set_threshold(*collections)


def _refusal(subject: Subject, at: int, state: State | None, problem: Problem) -> Refusal:
    return Refusal(*messages.about(subject, at, state, problem))
