"""What most contexts say alike: methods for those whose probes know no error number, or no pointer that the verifier
trusts. They are taken over by assignment in the class (`errno = no_errno`)."""

from __future__ import annotations

from sonde.codegen.basis.generation import Generation
from sonde.codegen.intermediate.ir import Imm, Operand


def no_errno(_self: object, _g: Generation) -> Operand:
    """The error of a system call, of which there is none here."""
    return Imm(0)


def trusts_nothing(_self: object, _number: int) -> bool:
    """Of no argument does the verifier know what it points to."""
    return False
