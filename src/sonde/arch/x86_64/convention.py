"""Where a function of x86-64 finds its arguments when it is entered (System V ABI, AMD64 supplement, 3.2.3), as far as
functions of the kernel go: integers, pointers and structures, no floating point."""

from __future__ import annotations

from collections.abc import Iterable

from sonde.arch.x86_64 import registers
from sonde.model.types import Enum, Function, Int, Pointer, Struct, Type, Void, align_of, resolve, size_of
from sonde.typed import NamedTuple

STACK_ARGUMENTS = 8
"""Bytes above the stack pointer: there a function that is entered has its first argument that is in no register, behind
the return address."""

_IN_REGISTERS = 16
"""Bytes: what is larger is passed in memory."""


class ParameterPlace(NamedTuple):
    """An argument: in registers, by their offsets, or in memory, `stack` bytes behind the first word of arguments."""

    registers: tuple[int, ...]
    stack: int = 0


def parameters(kinds: Iterable[Type]) -> tuple[ParameterPlace, ...]:
    """Where each argument is."""
    free, end = list(registers.ARGUMENTS), 0
    found: list[ParameterPlace] = []
    for kind in kinds:
        words = -(-size_of(kind) // 8)
        if 8 * words <= _IN_REGISTERS and words <= len(free) and not _is_packed(kind):
            found.append(ParameterPlace(tuple(free[:words])))
            del free[:words]
            continue
        if align_of(kind) > 8:
            end = -(-end // 16) * 16
        found.append(ParameterPlace((), end))
        end += 8 * words
    return tuple(found)


def is_simple(signature: Function) -> bool:
    """Whether every kernel that has fentry and fexit takes the function: at most six arguments, each a number or
    pointer in a register of its own, as is the result (btf_distill_func_proto, kernel/bpf/btf.c)."""
    kinds = signature.parameters
    returns = resolve(signature.returns)
    if signature.variadic or len(kinds) > len(registers.ARGUMENTS):
        return False
    return all(map(_is_word, kinds)) and (isinstance(returns, Void) or _is_word(returns))


def _is_word(kind: Type) -> bool:
    return isinstance(resolve(kind), (Int, Enum, Pointer)) and size_of(kind) <= 8


def _is_packed(kind: Type) -> bool:
    """Whether it has members that are not aligned: then it is in memory, however small."""
    base = resolve(kind)
    return isinstance(base, Struct) and any(
        not member.bits and (member.offset // 8 % align_of(member.type) or _is_packed(member.type))
        for member in base.members
    )
