"""The `sysinfo` provider: what the processors are busy with.

System calls are counted where they return, except those that replace the process.
"""

from __future__ import annotations

from sonde.arch.call_numbers import compat, native
from sonde.providers.derived.counters import grows
from sonde.providers.derived.definition import Absent, Definition, Definitions
from sonde.providers.derived.lockstat import BEFORE, MINE, SLEPT_FOR_MUTEX, SLEPT_FOR_RW
from sonde.providers.derived.syscalls import CALLED, CALLING, EXEC, FLAGS_OF_FORK, FORK, SystemCalls, is_call

_READ = SystemCalls(
    native("read", "pread64", "readv", "preadv", "preadv2"), compat("read", "readv", "pread64", "preadv", "preadv2")
)
_WRITE = SystemCalls(
    native("write", "pwrite64", "writev", "pwritev", "pwritev2"),
    compat("write", "writev", "pwrite64", "pwritev", "pwritev2"),
)
_MESSAGE = SystemCalls(native("msgsnd", "msgrcv"), compat("msgsnd", "msgrcv"))
_SEMAPHORE = SystemCalls(native("semop", "semtimedop"), compat("semtimedop_time64"))
"""Of the older 32-bit ipc() nothing is told."""

_FORKED = f"args->ret > 0 && {is_call(CALLED, FORK)} && ({FLAGS_OF_FORK} & 0x10000) == 0"
"""In the process that called, and not CLONE_THREAD."""
_WAITS_FOR_CHILD = f"({FLAGS_OF_FORK} & 0x4000)"
"""CLONE_VFORK."""


def _called(call: SystemCalls, by: str = "1", condition: str = "args->ret >= 0") -> tuple[Definition, ...]:
    return (grows("sys_exit", f"{condition} && {is_call(CALLED, call)}", by),)


def _waited(*conditions: str) -> tuple[Definition, ...]:
    return (grows("contention_end", " && ".join((MINE, *conditions)), before=(BEFORE,)),)


_TRANSFERS = "(args->bio->bi_opf & 0xff) == {}"

DEFINITIONS: Definitions = {
    "bread": (grows("block_bio_queue", _TRANSFERS.format("REQ_OP_READ")),),
    "bwrite": (grows("block_bio_queue", _TRANSFERS.format("REQ_OP_WRITE")),),
    "idlethread": (grows("sched_switch", "args->next->pid == 0"),),
    "inv_swtch": (grows("sched_switch", "(args->preempt || args->prev_state == 0) && args->prev->pid != 0"),),
    "lread": (grows("block_touch_buffer"),),
    "lwrite": (grows("block_dirty_buffer"),),
    "modload": (grows("module_load"),),
    "modunload": (grows("module_free"),),
    "msg": _called(_MESSAGE),
    "mutex_adenters": _waited(SLEPT_FOR_MUTEX),
    "namei": (grows("fbt:link_path_walk:entry"), grows("fbt:path_init:entry")),
    "nthreads": (grows("sched_process_fork"),),
    "procovf": (grows("sys_exit", f"args->ret == -11 && {is_call(CALLED, FORK)}"),),
    "pswitch": (grows("sched_switch"),),
    "readch": _called(_READ, "args->ret", "args->ret > 0"),
    "rw_rdfails": _waited(SLEPT_FOR_RW, "(self->__lock_flags & LOCK_READS)"),
    "rw_wrfails": _waited(SLEPT_FOR_RW, "!(self->__lock_flags & LOCK_READS)"),
    "sema": _called(_SEMAPHORE),
    "sysexec": (grows("sys_enter", is_call(CALLING, EXEC)),),
    "sysfork": (grows("sys_exit", f"{_FORKED} && !{_WAITS_FOR_CHILD}"),),
    "sysread": (grows("sys_enter", is_call(CALLING, _READ)),),
    "sysvfork": (grows("sys_exit", f"{_FORKED} && {_WAITS_FOR_CHILD}"),),
    "syswrite": (grows("sys_enter", is_call(CALLING, _WRITE)),),
    "writech": _called(_WRITE, "args->ret", "args->ret > 0"),
    "xcalls": (grows("csd_queue_cpu"),),
}

_TICKS = "Linux has no event for it: profile:::profile-97 tells by arg0 and arg1 whether the kernel or a process ran"
_TERMINALS = "Linux has no tracepoint in its terminals; fbt::n_tty_write:entry and fbt::n_tty_read:entry are near"

ABSENT: Absent = {
    "bawrite": "Linux queues all writes: bwrite",
    "cpu_ticks_*": _TICKS,
    "intrblk": "no thread of Linux's interrupts has to be unblocked; rawtp:::irq_handler_entry fires for interrupts",
    "canch": _TERMINALS,
    "mdmint": _TERMINALS,
    "*[cx]*int": _TERMINALS,
    "outch": _TERMINALS,
    "phread": "Linux has no raw devices: bread",
    "phwrite": "Linux has no raw devices: bwrite",
    "rawch": _TERMINALS,
    "trap": "Linux has tracepoints for page faults alone: vminfo:::as_fault and vminfo:::kernel_asflt",
    "ufs*": "Linux has no such event of UFS",
    "wait_ticks_*": "Linux has no event for it: /proc/stat counts the time of idle processors with I/O under way",
}
