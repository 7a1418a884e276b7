"""The verifier's front: a program in, the proof that it is harmless out, or a message that says why not."""

from __future__ import annotations

import gc
from collections.abc import Callable, Container, Mapping, Sequence

from sonde.bpf import programs
from sonde.bpf.instructions import Instruction
from sonde.bpf.signatures import SIGNATURES
from sonde.model.spec import MapSpec, ProgramSpec
from sonde.runtime.verifier.checks import Problem
from sonde.runtime.verifier.depth import check_depth, check_nesting, check_used
from sonde.runtime.verifier.exploration import Exploration, RefusedError
from sonde.runtime.verifier.messages import Refusal, refusal
from sonde.runtime.verifier.rewriting import rewritten
from sonde.runtime.verifier.rules import USUAL, Rules
from sonde.runtime.verifier.state import State
from sonde.runtime.verifier.structure import MalformedError, structure
from sonde.runtime.verifier.subject import Subject
from sonde.typed import NamedTuple

__all__ = ["Refusal", "Verified", "verify"]

_SELDOM = 100_000
"""Objects between collections: states are many and short-lived, and none refers to itself. Looking for those that do
would take a fifth of the time."""


class Verified(NamedTuple):
    """A program that may run. `code` has as many instructions as the program, its accesses to the context are those of
    the engine's layouts (`contexts.py`); `steps` is how many instructions were gone through to prove it. It reads the
    first `context_end` bytes of its context at most (`max_ctx_offset` of struct bpf_prog_aux)."""

    code: tuple[Instruction, ...]
    steps: int
    context_end: int = 0


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
        return Verified(rewritten(subject), exploration.steps, subject.context_end)
    except MalformedError as error:
        raise refusal(subject, error.at, None, Problem(error.text)) from None
    except RefusedError as error:
        raise refusal(subject, error.at, error.state, error.problem) from None
    finally:
        gc.set_threshold(*collections)
