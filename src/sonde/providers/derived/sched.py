"""The `sched` provider: which threads run where, and why they do not.

The states of a thread that leaves the processor are those of include/linux/sched.h: 0 running, 1 and 2 asleep.
"""

from __future__ import annotations

from sonde.providers.derived.definition import Definition, Definitions, NativeArgument, ShownArgument
from sonde.providers.derived.syscalls import CALLING, YIELD, is_call

_TASK = "struct task_struct *"
_SHOWN = (ShownArgument("lwpsinfo_t *", 0), ShownArgument("psinfo_t *", 0))

_BLOCKS = "!args->preempt && args->prev_state != 0"
_CURRENT = (NativeArgument(_TASK, "curthread"),)

_TICK = "(uintptr_t)args->hrtimer->function == (uintptr_t)&`{}"
"""The timer of the scheduling clock is known by its function (kernel/time/tick-sched.c)."""


def _queued(task: str) -> tuple[NativeArgument, ...]:
    return (NativeArgument(_TASK, task), NativeArgument("int", f"{task}->thread_info.cpu"), NativeArgument("int", "0"))


def _tick(function: str) -> Definition:
    return Definition("hrtimer_expire_entry", _TICK.format(function), _CURRENT, _SHOWN)


_QUEUED_SHOWN = (*_SHOWN, ShownArgument("cpuinfo_t *", 1))
_DEQUEUED_SHOWN = (*_QUEUED_SHOWN, ShownArgument("int", 2))

DEFINITIONS: Definitions = {
    "change-pri": (
        Definition(
            "sched_pi_setprio",
            "",
            (
                NativeArgument(_TASK, "args->tsk"),
                NativeArgument(
                    "int",
                    "(args->pi_task != NULL && args->pi_task->prio < args->tsk->normal_prio ? "
                    "args->pi_task->prio : args->tsk->normal_prio)",
                ),
            ),
            (*_SHOWN, ShownArgument("int", 1)),
        ),
    ),
    "dequeue": (
        Definition("sched_switch", _BLOCKS, _queued("args->prev"), _DEQUEUED_SHOWN),
        Definition("switch_out", "!args->runnable", _queued("args->prev"), _DEQUEUED_SHOWN, is_embedded=True),
    ),
    "enqueue": (
        Definition(
            "sched_wakeup",
            "",
            _queued("args->p"),
            _QUEUED_SHOWN,
            more=(Definition("sched_wakeup_new", "", _queued("args->p")),),
        ),
    ),
    "preempt": (
        Definition("sched_switch", "(args->preempt || args->prev_state == 0) && args->prev->pid != 0"),
        Definition("switch_out", "args->runnable", is_embedded=True),
    ),
    "sleep": (Definition("sched_switch", f"{_BLOCKS} && (args->prev_state & 3)"),),
    "off-cpu": (
        Definition("sched_switch", "", (NativeArgument(_TASK, "args->next"),), _SHOWN),
        Definition("switch_out", is_embedded=True),
    ),
    "on-cpu": (Definition("sched_exit_tp", "args->is_switch"), Definition("switch_in", is_embedded=True)),
    "remain-cpu": (Definition("sched_exit_tp", "!args->is_switch"),),
    "surrender": (Definition("sys_enter", is_call(CALLING, YIELD), _CURRENT, _SHOWN),),
    "tick": (_tick("tick_nohz_handler"), _tick("tick_sched_timer")),
    "wakeup": (Definition("sched_waking", "", (NativeArgument(_TASK, "args->p"),), _SHOWN),),
}
