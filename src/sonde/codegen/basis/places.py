"""Where an object is: what an lvalue of D comes to in a program."""

from __future__ import annotations

from sonde.codegen.intermediate.ir import Base, Operand, Reg
from sonde.typed import NamedTuple, TypeAlias


class Memory(NamedTuple):
    """Memory the program may load from and store to: stack, map value, ring-buffer record."""

    base: Base
    offset: int


class Trusted(NamedTuple):
    """A kernel object behind a pointer the verifier trusts: direct loads, at constant offsets."""

    base: Reg
    offset: int


class Remote(NamedTuple):
    """An address in the kernel or, if `user`, in the traced process: read through a helper, which may fail. With
    `anywhere` it may be either, and the address tells which.

    With `scratch` it is one in the clause's scratch memory (`codegen/expressions/region.py`), to be read and written
    within its bounds. With `tracked` the address is a pointer whose type the verifier may know, so nothing but
    constants may be added.
    """

    address: Operand
    offset: int
    user: bool = False
    scratch: bool = False
    tracked: bool = False
    anywhere: bool = False


class HeldInRegister(NamedTuple):
    """A clause-local integer that lives in a register."""

    register: Reg


Place: TypeAlias = Memory | Trusted | Remote | HeldInRegister


def at(place: Place, offset: int) -> Place:
    """The place `offset` bytes further on."""
    assert not isinstance(place, HeldInRegister)
    return place._replace(offset=place.offset + offset)
