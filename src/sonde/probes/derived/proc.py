"""The `proc` provider: what happens to processes and threads."""

from __future__ import annotations

from sonde.probes.derived.definition import Definition, Definitions, Shown, Value

DEFINITIONS: Definitions = {
    "create": (
        Definition(
            "sched_process_fork",
            "args->child->pid == args->child->tgid",
            (Value("struct task_struct *", "args->child"),),
            (Shown("psinfo_t *", 0),),
        ),
    ),
}
