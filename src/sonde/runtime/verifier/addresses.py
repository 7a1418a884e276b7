"""Addresses of the engine's memory in the place of numbers: where that is a mistake, and harmless all the same.

The kernel lets users with CAP_PERFMON do it, and so does the verifier by the kernel's rules. Addresses of the kernel's
structures are numbers that D programs compare, print and use as keys; they are none of this.
"""

from __future__ import annotations

from sonde.bpf import instructions as i
from sonde.runtime.verifier import stack
from sonde.runtime.verifier.scalar import ZERO
from sonde.runtime.verifier.subject import Subject
from sonde.runtime.verifier.values import CONTEXT, MAP, OBJECT, PACKETS, STACK, PointerValue, Value, show

_MEASURED = PACKETS | {CONTEXT, STACK, OBJECT}
"""What the distance of two pointers into the same is told of."""

_EQUALITY = frozenset({i.JEQ, i.JNE})
_UNSIGNED = frozenset({i.JEQ, i.JNE, i.JGT, i.JGE, i.JLT, i.JLE})
"""Comparisons with 0 that a pointer can stand: those without a sign."""


def as_number(subject: Subject, value: Value) -> str | None:
    """What is wrong with the value where a number is meant."""
    if not subject.rules.addresses or type(value) is not PointerValue or value.kind == OBJECT:
        return None
    return f"is {show(value)}, an address, where only a number has a meaning"


def compared(subject: Subject, operation: int, left: Value, right: Value, bits: int) -> str | None:
    """What is wrong with comparing the two, of which one may be an address. A comparison with 0 is meant to find out
    whether it is NULL."""
    if not subject.rules.addresses or not (_is_address(left) or _is_address(right)):
        return None
    pointer, other = (left, right) if _is_address(left) else (right, left)
    assert isinstance(pointer, PointerValue)
    if isinstance(other, PointerValue):
        has_order = operation in _EQUALITY or MAP not in (pointer.kind, other.kind)
        return None if has_order else f"is {show(pointer)}, and maps have no order: it can be compared by == and !="
    if other != ZERO:
        return None
    if bits == 32:
        return f"is {show(pointer)}, an address: it can be compared with 0 in 64 bits"
    return (
        None if operation in _UNSIGNED else f"is {show(pointer)}, an address, which has neither sign nor bits to test"
    )


def subtracted(subject: Subject, left: PointerValue, right: PointerValue) -> str | None:
    """What is wrong with the distance of two pointers."""
    if not subject.rules.addresses or OBJECT in (left.kind, right.kind):
        return None
    if left.kind not in _MEASURED or (left.kind != right.kind and not {left.kind, right.kind} <= PACKETS):
        return f"is {show(left)}, and what is subtracted {show(right)}: their distance has no meaning"
    for each in (left, right):
        low, high = each.offset + each.variable.smin, each.offset + each.variable.smax
        if each.kind == STACK and not -stack.SIZE <= low <= high <= 0:
            return f"is subtracted with {show(each)}, which is outside of the stack"
    return None


def _is_address(value: Value) -> bool:
    return type(value) is PointerValue and value.kind != OBJECT
