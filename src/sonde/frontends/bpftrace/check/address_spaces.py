"""Whose memory addresses are of: a process's or the kernel's. Types of pointers have it (`Pointer.user`). Of a number
it is known where the number comes from; of one that was kept, the address tells it when it is read
(`Pointer.anywhere`)."""

from __future__ import annotations

from sonde.frontends.bpftrace.check.conversions import memory_of
from sonde.frontends.bpftrace.check.scope import BtScope
from sonde.frontends.bpftrace.check.types import is_scalar
from sonde.model import program as tree
from sonde.model.kinds import pointer_like
from sonde.model.program import Expr
from sonde.model.types import VOID, Pointer, Type, resolve

KERNEL = Pointer(VOID)
PROCESS = Pointer(VOID, user=True)
EITHER = Pointer(VOID, user=True, anywhere=True)

_LOWEST_OF_KERNEL = 1 << 63


def pointer_into(kind: Type, e: Expr, scope: BtScope) -> Pointer:
    """A pointer to `kind` into the memory that a pointer or a number leads to, or that an object is in."""
    base = resolve(e.type)
    space: Type = base if isinstance(base, Pointer) else (_of_number(e, scope) if is_scalar(e.type) else memory_of(e))
    return pointer_like(space, kind)


def _of_probes(scope: BtScope) -> Pointer:
    """What the arguments of the clause's probes lead to."""
    found = scope.attached.of_processes()
    if not found:
        return PROCESS
    return EITHER if len(found) > 1 else PROCESS if found.pop() else KERNEL


def _of_number(e: Expr, scope: BtScope) -> Pointer:
    probes = _of_probes(scope)
    if isinstance(e, tree.Cast):
        kind = resolve(e.operand.type)
        return pointer_like(kind, VOID) if isinstance(kind, Pointer) else _of_number(e.operand, scope)
    if isinstance(e, tree.Const):
        return KERNEL if e.value % (1 << 64) >= _LOWEST_OF_KERNEL or probes == KERNEL else PROCESS
    if isinstance(e, tree.Binary):
        sides = {_of_number(each, scope) for each in (e.left, e.right) if not isinstance(each, tree.Const)}
        return sides.pop() if len(sides) == 1 else EITHER
    if isinstance(e, (tree.Argument, tree.ProbeVariable)) or _is_register(e):
        return probes
    memory = memory_of(e)
    if memory.user:
        return memory
    # A number that was kept, or is in the kernel's memory, may be any address.
    return KERNEL if probes == KERNEL and not scope.known.has_processes else EITHER


def _is_register(e: Expr) -> bool:
    return isinstance(e, tree.Index) and isinstance(e.object, tree.Builtin) and e.object.name == "uregs"
