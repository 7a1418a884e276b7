"""The `proc` provider: what happens to processes and threads."""

from __future__ import annotations

from sonde.providers.derived.definition import Definition, Definitions, NativeArgument, ShownArgument
from sonde.providers.derived.syscalls import (
    ARGUMENTS,
    BEGUN,
    CALLED,
    CALLING,
    COMPAT_ARGUMENTS,
    EXEC,
    SIGTIMEDWAIT,
    is_call,
)

_TASK = "struct task_struct *"
_PROCESS = ShownArgument("psinfo_t *", 0)
_THREAD = ShownArgument("lwpsinfo_t *", 0)

_EXECVE, _EXECVEAT = EXEC.native
_PATH = (
    f"({CALLING} == {_EXECVE} ? {ARGUMENTS[0]} : {CALLING} == {_EXECVEAT} ? {ARGUMENTS[1]} : "
    f"{CALLING} == {EXEC.compat[0]} ? {COMPAT_ARGUMENTS[0]} : {COMPAT_ARGUMENTS[1]})"
)
"""execve has the path as its first argument, execveat as its second."""

_STATUS = "(args->p->signal->flags & 4 ? args->p->signal->group_exit_code : args->p->exit_code)"
"""As wait() tells it: SIGNAL_GROUP_EXIT says that all threads end, for a reason of the process's own."""
_REASON = f"(({_STATUS} & 0x7f) == 0 ? 1 : {_STATUS} & 0x80 ? 3 : 2)"
"""CLD_EXITED, CLD_DUMPED or CLD_KILLED."""

_FAULTS = "(args->sig == 11 || args->sig == 8 || args->sig == 4 || args->sig == 7 || args->sig == 5)"
"""SIGSEGV, SIGFPE, SIGILL, SIGBUS, SIGTRAP."""
_FAULT_CODE = (
    "(args->sig == 11 ? (args->info->si_code == 2 ? 5 : 6) : "
    "args->sig == 8 ? (args->info->si_code == 1 ? 8 : args->info->si_code == 2 ? 7 : 9) : "
    "args->sig == 4 ? (args->info->si_code == 5 || args->info->si_code == 6 ? 2 : 1) : "
    "args->sig == 7 ? 5 : args->info->si_code == 2 ? 4 : 3)"
)
"""FLT* of the library procfs.d, from the si_code of each signal (include/uapi/asm-generic/siginfo.h)."""

_SIGNAL = (NativeArgument(_TASK, "args->task"), NativeArgument("int", "args->sig"))
_SIGNAL_SHOWN = (_THREAD, _PROCESS, ShownArgument("int", 1))
_HANDLED = "(args->sig == 9 && (curthread->signal->group_exit_code & 0x7f) ? "
_HANDLED += "curthread->signal->group_exit_code & 0x7f : args->sig)"
"""A signal that ends the process reaches its threads as SIGKILL, the signal itself being noted there."""

_EXIT = (NativeArgument("int", _REASON),)
_EXIT_SHOWN = (ShownArgument("int", 0),)

DEFINITIONS: Definitions = {
    "create": (
        Definition(
            "sched_process_fork",
            "args->child->pid == args->child->tgid",
            (NativeArgument(_TASK, "args->child"),),
            (_PROCESS,),
        ),
    ),
    "lwp-create": (Definition("sched_process_fork", "", (NativeArgument(_TASK, "args->child"),), (_THREAD, _PROCESS)),),
    "exec": (
        Definition(
            "sys_enter",
            is_call(CALLING, EXEC),
            (NativeArgument("char __user *", _PATH),),
            (ShownArgument("string", 0),),
        ),
    ),
    "exec-failure": (
        Definition(
            "sys_exit",
            f"args->ret < 0 && {is_call(CALLED, EXEC)}",
            (NativeArgument("int", "args->ret"),),
            (ShownArgument("int", 0),),
        ),
    ),
    "exec-success": (Definition("sched_process_exec"),),
    "fault": (
        Definition(
            "signal_generate",
            f"{_FAULTS} && (uintptr_t)args->info > 1 && args->info->si_code > 0 && args->task == curthread",
            (NativeArgument("int", _FAULT_CODE), NativeArgument("siginfo_t *", "args->info")),
            (ShownArgument("int", 0), ShownArgument("siginfo_t *", 1)),
        ),
    ),
    "signal-send": (Definition("signal_generate", "", _SIGNAL, _SIGNAL_SHOWN),),
    "signal-discard": (Definition("signal_generate", "args->result == 1", _SIGNAL, _SIGNAL_SHOWN),),
    "signal-handle": (
        Definition(
            "signal_deliver",
            "",
            (
                NativeArgument("int", _HANDLED),
                NativeArgument("siginfo_t *", "args->info"),
                NativeArgument("void (*)(void)", "args->ka->sa.sa_handler"),
            ),
            (ShownArgument("int", 0), ShownArgument("siginfo_t *", 1), ShownArgument("void (*)(void)", 2)),
        ),
        Definition(
            "signal_deliver",
            "",
            (NativeArgument("int", _HANDLED), NativeArgument("siginfo_t *", "args->info")),
            (ShownArgument("int", 0), ShownArgument("siginfo_t *", 1)),
        ),
    ),
    "signal-clear": (
        Definition(
            "sys_exit",
            f"args->ret > 0 && {is_call(CALLED, SIGTIMEDWAIT)}",
            (NativeArgument("int", "args->ret"),),
            (ShownArgument("int", 0),),
        ),
    ),
    "start": (Definition("sys_exit", f"{BEGUN} && curthread->pid == curthread->tgid"),),
    "lwp-start": (Definition("sys_exit", BEGUN),),
    "lwp-exit": (Definition("sched_process_exit"),),
    "exit": (
        Definition("sched_process_exit", "args->group_dead", _EXIT, _EXIT_SHOWN),
        Definition("sched_process_exit", "args->p->pid == args->p->tgid", _EXIT, _EXIT_SHOWN),
    ),
}
"""Who cannot tell the handler of a signal leaves it out. Where the tracepoint of an end does not tell which thread is
the last one, the process ends with its first thread."""
