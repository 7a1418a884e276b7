"""Sums of a pointer and a number: adjust_ptr_min_max_vals() of kernel/bpf/verifier.c."""

from __future__ import annotations

from sonde.bpf import instructions as i
from sonde.runtime.verifier.arithmetic import compute
from sonde.runtime.verifier.scalar import UNKNOWN, ScalarValue, unsigned
from sonde.runtime.verifier.subject import Subject
from sonde.runtime.verifier.values import OBJECT, PACKET, PACKET_META, PointerValue, Value


def moved(subject: Subject, at: int, pointer: PointerValue, number: ScalarValue, operation: int, bits: int) -> Value:
    """`pointer` `operation` `number` at an instruction; what is no sum is a number of which nothing is known."""
    if bits == 32:
        return unsigned(32)
    if operation not in (i.ADD, i.SUB):
        return UNKNOWN
    if not number.mask:
        by = number.smin if operation == i.ADD else -number.smin
        return PointerValue(pointer.kind, pointer.offset + by, *pointer[2:])
    if pointer.kind == OBJECT and not pointer.referent:
        return UNKNOWN
    variable = compute(operation, pointer.variable, number, 64)
    if pointer.kind in (PACKET, PACKET_META):
        # How it lies to the pointers that were compared with the end is not known.
        return pointer._replace(variable=variable, size=0, id=subject.identities.give(at))
    return pointer._replace(variable=variable)
