"""The verifier's front: a program in, the proof that it is harmless out, or a message that says why not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sonde.bpf import programs
from sonde.bpf.instructions import Instruction
from sonde.engines.embedded.verifier.checks import Problem
from sonde.engines.embedded.verifier.depth import check_depth, check_nesting
from sonde.engines.embedded.verifier.exploration import Exploration, RefusedError
from sonde.engines.embedded.verifier.messages import Refusal, refusal
from sonde.engines.embedded.verifier.rewriting import rewritten
from sonde.engines.embedded.verifier.state import State
from sonde.engines.embedded.verifier.structure import MalformedError, structure
from sonde.engines.embedded.verifier.subject import Subject
from sonde.spec import MapSpec, ProgramSpec
from sonde.typed import NamedTuple

__all__ = ["Refusal", "Verified", "verify"]


class Verified(NamedTuple):
    """A program that may run. `code` has as many instructions as the program, its accesses to the context are those of
    the engine's layouts (`contexts.py`); `steps` is how many instructions were gone through to prove it."""

    code: tuple[Instruction, ...]
    steps: int


def verify(
    program: ProgramSpec,
    maps: Mapping[str, MapSpec],
    arguments: Sequence[str] | None = None,
    observe: Callable[[int, State], None] | None = None,
    is_lenient: bool = False,
    size_of: Callable[[str], int | None] = lambda _name: None,
) -> Verified:
    """Prove that the program reads and writes nothing but what it was given, ends, and releases what it takes.

    `maps` are those that it refers to, by name. `arguments` are the structures that the arguments of a tp_btf program
    point to, "" for numbers; without them a word of its context can be used as either. `observe` is told of each
    instruction gone through and the state before it. `is_lenient`: bytes of the stack may be read that were never
    written, and addresses used as numbers, as in the kernel for a user with CAP_PERFMON. `size_of` tells the size of a
    structure of the kernel by its name, None if it is not known: then nothing can be said of where it ends. Raises
    Refusal.
    """
    subject = Subject(program, maps, arguments, is_lenient, size_of)
    try:
        shape = structure(subject.code, subject.maps)
        check_nesting(shape)
        if subject.context is None:
            kind = programs.name_of(program.kind)
            raise RefusedError(0, None, Problem(f"this engine runs no programs of type {kind}"))
        exploration = Exploration(subject, shape, observe)
        exploration.run()
        check_depth(subject, shape)
        return Verified(rewritten(subject), exploration.steps)
    except MalformedError as error:
        raise refusal(subject, error.at, None, Problem(error.text)) from None
    except RefusedError as error:
        raise refusal(subject, error.at, error.state, error.problem) from None
