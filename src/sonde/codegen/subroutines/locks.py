"""Subroutines that look into the kernel's mutexes and read-write spin locks."""

from __future__ import annotations

from collections.abc import Callable

from sonde.codegen.basis.generation import Generation
from sonde.codegen.expressions.integers import object_address
from sonde.codegen.expressions.structures import offset_of, read_member
from sonde.codegen.intermediate.ir import Imm, Operand
from sonde.model import program as tree
from sonde.model.types import Pointer, Struct, resolve

_MUTEX_FLAGS = 7
"""The bits of a mutex's owner word that are no part of the address (kernel/locking/mutex.h). An rtmutex, which a mutex
is on a PREEMPT_RT kernel, has one such bit (kernel/locking/rtmutex_common.h); tasks are aligned to more than either."""

_WRITER = 0xFF
_WRITER_WAITS = 0x100
_READERS = 9
"""The counter of a queued lock (include/asm-generic/qrwlock.h): the byte of a writer that holds it, the bit of one that
waits, and from which bit on readers are counted."""


def mutex_owner(g: Generation, e: tree.Call) -> Operand:
    """The thread that holds the mutex, NULL if none does."""
    mutex = g.shared.kernel_type("struct", "mutex")
    is_realtime = isinstance(mutex, Struct) and mutex.find("rtmutex") is not None
    offset = offset_of(g, e, "mutex", *(["rtmutex"] if is_realtime else []), "owner")
    word = read_member(g, object_address(g, e.arguments[0]), offset, 8)
    return g.b.alu("and", word, Imm(~_MUTEX_FLAGS))


def mutex_owned(g: Generation, e: tree.Call) -> Operand:
    """Whether any thread holds the mutex."""
    return g.b.truth("ne", mutex_owner(g, e), Imm(0))


def constant(number: int) -> Callable[[Generation, tree.Call], Operand]:
    """What is the same for all mutexes of Linux: each is adaptive (spins while its owner runs), none only spins."""

    def value(g: Generation, e: tree.Call) -> Operand:
        g.value(e.arguments[0])
        return Imm(number)

    return value


def rw_iswriter(g: Generation, e: tree.Call) -> Operand:
    """Whether a writer holds the lock or waits for it."""
    return g.b.truth("ne", g.b.alu("and", _counter(g, e), Imm(_WRITER | _WRITER_WAITS)), Imm(0))


def rw_write_held(g: Generation, e: tree.Call) -> Operand:
    return g.b.truth("eq", g.b.alu("and", _counter(g, e), Imm(_WRITER)), Imm(_WRITER))


def rw_read_held(g: Generation, e: tree.Call) -> Operand:
    """Whether readers hold the lock; those that wait for a writer's end are counted in the lock as well."""
    counter = _counter(g, e)
    readers = g.b.truth("ne", g.b.alu("rsh", counter, Imm(_READERS)), Imm(0))
    writer = g.b.truth("ne", g.b.alu("and", counter, Imm(_WRITER)), Imm(0))
    return g.b.alu("and", readers, g.b.alu("xor", writer, Imm(1)))


def _counter(g: Generation, e: tree.Call) -> Operand:
    """The word of a rwlock_t's queued lock."""
    base = resolve(e.arguments[0].type)
    lock = resolve(base.to) if isinstance(base, Pointer) else None
    raw = lock.find("raw_lock") if isinstance(lock, Struct) else None
    offset = (raw.offset if raw else 0) // 8 + offset_of(g, e, "qrwlock", "cnts")
    return read_member(g, object_address(g, e.arguments[0]), offset, 4)
