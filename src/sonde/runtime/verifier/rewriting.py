"""Accesses to the context as the engine makes them: each instruction becomes one other (convert_ctx_accesses())."""

from __future__ import annotations

from sonde.bpf import instructions as i
from sonde.bpf.instructions import Instruction
from sonde.runtime.verifier.checks import Problem
from sonde.runtime.verifier.exploration import RefusedError
from sonde.runtime.verifier.subject import Rewriting, Subject


def rewritten(subject: Subject) -> tuple[Instruction, ...]:
    """The code with the accesses that the exploration noted. Raises RefusedError where one would have to be two."""
    for at in sorted(subject.conflicts):
        raise RefusedError(
            at,
            None,
            Problem("it accesses the context on one way and something else, or something else of it, on another"),
        )
    code = list(subject.code)
    for at, rewriting in subject.accesses.items():
        if rewriting is not None:
            code[at] = _rewritten(code[at], rewriting)
    return tuple(code)


def _rewritten(x: Instruction, rewriting: Rewriting) -> Instruction:
    size = i.SIZE_OF_BYTES[rewriting.size]
    return x._replace(opcode=x.opcode & ~0x18 | size, offset=x.offset + rewriting.by)
