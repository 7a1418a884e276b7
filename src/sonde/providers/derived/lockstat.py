"""The `lockstat` provider: waiting for the kernel's locks (include/trace/events/lock.h, since Linux 5.19).

A wait begins once and ends once, but a mutex is waited for by turns spinning and sleeping: contention_begin says where
one turns into the other. What a thread has done so far for a lock is kept by both, and handed over at the end in
variables of the thread, with the lock: an interrupt between the programs of one tracepoint may have locks of its own.

Locks that are free are taken and given back without a tracepoint: these probes are in the functions that do it
(kernel/locking/mutex.c, spinlock.c), where the kernel lets functions be probed. Which lock it was is kept from the
function's entry to its return.
"""

from __future__ import annotations

from sonde.providers.derived.definition import Definition, Definitions, NativeArgument, ShownArgument

_KEY = "(uint64_t)curthread, (uint64_t)args[0]"

BEFORE = f"""
int __lock_flags[uint64_t, uint64_t];
uint64_t __lock_began[uint64_t, uint64_t];
uint64_t __lock_spun[uint64_t, uint64_t];
uint64_t __lock_blocked[uint64_t, uint64_t];
self uint64_t __lock;
self int __lock_flags;
self uint64_t __lock_last;
self uint64_t __lock_spun;
self uint64_t __lock_blocked;
rawtp:::contention_begin /__lock_flags[{_KEY}] & LOCK_SPINS/ {{
    __lock_spun[{_KEY}] += timestamp - __lock_began[{_KEY}];
}}
rawtp:::contention_begin /__lock_flags[{_KEY}] && !(__lock_flags[{_KEY}] & LOCK_SPINS)/ {{
    __lock_blocked[{_KEY}] += timestamp - __lock_began[{_KEY}];
}}
rawtp:::contention_begin {{
    __lock_flags[{_KEY}] = args[1] | LOCK_WAITS;
    __lock_began[{_KEY}] = timestamp;
}}
rawtp:::contention_end {{
    self->__lock = 0;
}}
rawtp:::contention_end /__lock_flags[{_KEY}]/ {{
    self->__lock = (uint64_t)args[0];
    self->__lock_flags = __lock_flags[{_KEY}];
    self->__lock_last = timestamp - __lock_began[{_KEY}];
    self->__lock_spun = __lock_spun[{_KEY}] + ((self->__lock_flags & LOCK_SPINS) ? self->__lock_last : 0);
    self->__lock_blocked = __lock_blocked[{_KEY}] + ((self->__lock_flags & LOCK_SPINS) ? 0 : self->__lock_last);
    __lock_flags[{_KEY}] = 0;
    __lock_began[{_KEY}] = 0;
    __lock_spun[{_KEY}] = 0;
    __lock_blocked[{_KEY}] = 0;
}}
"""

MINE = "self->__lock == (uint64_t)args->lock"
SLEPT_FOR_MUTEX = "lock_is_adaptive[self->__lock_flags] && self->__lock_blocked != 0"
SLEPT_FOR_RW = "lock_is_rw[self->__lock_flags] && !(self->__lock_flags & LOCK_SPINS)"
_READS = "(self->__lock_flags & LOCK_READS) ? RW_READER : RW_WRITER"


def _waited(lock: str, condition: str, *more: NativeArgument) -> tuple[Definition, ...]:
    """A probe at the end of a wait for a lock of that type."""
    values = (NativeArgument(lock, f"({lock})args->lock"), *more)
    shown = tuple(ShownArgument(value.type, number) for number, value in enumerate(values))
    return (Definition("contention_end", f"{MINE} && {condition}", values, shown, (BEFORE,)),)


_SUFFIXES = ("", "_irq", "_irqsave", "_bh")
_BACK = ("", "_irq", "_irqrestore", "_bh")


def _at_return(function: str, condition: str, lock: str, *more: NativeArgument) -> Definition:
    """A probe at the return of a function whose first argument is the lock."""
    name = f"self->__{''.join(word for word in lock.split() if word.isidentifier() and word != 'struct')}"
    declared = f"self uint64_t {name.removeprefix('self->')};"
    kept = f"fbt:vmlinux:{function}:entry {{ {name} = arg0; }}"
    values = (NativeArgument(lock, f"({lock}){name}"), *more)
    shown = tuple(ShownArgument(value.type, number) for number, value in enumerate(values))
    return Definition(f"fbt:{function}:return", condition, values, shown, (declared, kept))


def _each(*definitions: Definition) -> tuple[Definition, ...]:
    """One probe in several functions."""
    return (definitions[0]._replace(more=definitions[1:]),)


_MUTEX, _SPIN, _RWLOCK = "struct mutex *", "spinlock_t *", "struct rwlock *"
_GOT, _DONE = "args[1] == 1", "args[1] == 0"
"""What trylock, and what waiting that may be interrupted, returns with the lock."""


def _taken_rw(way: str, kind: NativeArgument) -> list[Definition]:
    return [
        *(_at_return(f"_raw_{way}_lock{suffix}", "", _RWLOCK, kind) for suffix in _SUFFIXES),
        _at_return(f"_raw_{way}_trylock", _GOT, _RWLOCK, kind),
    ]


def _given_back_rw(way: str, kind: NativeArgument) -> list[Definition]:
    return [_at_return(f"_raw_{way}_unlock{suffix}", "", _RWLOCK, kind) for suffix in _BACK]


_READER, _WRITER = NativeArgument("int", "RW_READER"), NativeArgument("int", "RW_WRITER")

_SPUN = NativeArgument("uint64_t", "self->__lock_spun")
_BLOCKED = NativeArgument("uint64_t", "self->__lock_blocked")
_RW = NativeArgument("int", _READS)

DEFINITIONS: Definitions = {
    "adaptive-acquire-error": _waited(
        "struct mutex *", "lock_is_adaptive[self->__lock_flags] && args->ret != 0", NativeArgument("int", "args->ret")
    ),
    "adaptive-block": _waited(_MUTEX, SLEPT_FOR_MUTEX, _BLOCKED),
    "adaptive-spin": _waited(_MUTEX, "lock_is_adaptive[self->__lock_flags] && self->__lock_spun != 0", _SPUN),
    "rw-block": _waited("struct rw_semaphore *", SLEPT_FOR_RW, _BLOCKED, _RW),
    "rw-spin": _waited(_RWLOCK, "lock_is_rw[self->__lock_flags] && (self->__lock_flags & LOCK_SPINS)", _SPUN, _RW),
    "spin-spin": _waited(_SPIN, "self->__lock_flags == (LOCK_SPINS | LOCK_WAITS)", _SPUN),
    "adaptive-acquire": _each(
        _at_return("mutex_lock", "", _MUTEX),
        _at_return("mutex_lock_interruptible", _DONE, _MUTEX),
        _at_return("mutex_lock_killable", _DONE, _MUTEX),
        _at_return("mutex_trylock", _GOT, _MUTEX),
    ),
    "adaptive-release": _each(_at_return("mutex_unlock", "", _MUTEX)),
    "rw-acquire": _each(*_taken_rw("read", _READER), *_taken_rw("write", _WRITER)),
    "rw-release": _each(*_given_back_rw("read", _READER), *_given_back_rw("write", _WRITER)),
    "spin-acquire": _each(
        *(_at_return(f"_raw_spin_lock{suffix}", "", _SPIN) for suffix in _SUFFIXES),
        _at_return("_raw_spin_trylock", _GOT, _SPIN),
        _at_return("_raw_spin_trylock_bh", _GOT, _SPIN),
    ),
    "spin-release": _each(*(_at_return(f"_raw_spin_unlock{suffix}", "", _SPIN) for suffix in _BACK)),
}
