"""Who descends from whom."""

from __future__ import annotations

from sonde.codegen.basis.generation import Generation
from sonde.codegen.expressions.structures import offset_of
from sonde.codegen.intermediate.ir import Operand
from sonde.model import program as tree
from sonde.model.types import Struct


def progenyof(g: Generation, e: tree.Call) -> Operand:
    """progenyof(pid): whether the process is that one, or a child of it, or a child's child ..."""
    wanted = g.b.in_register(g.value(e.arguments[0]))
    offsets = [offset_of(g, e, "task_struct", name) for name in ("real_parent", "tgid")]
    if not g.shared.target.initial_namespace:
        upid = g.shared.kernel_type("struct", "upid")
        offsets += [offset_of(g, e, "task_struct", name) for name in ("group_leader", "thread_pid")]
        offsets += [offset_of(g, e, "pid", name) for name in ("level", "numbers")]
        offsets += [upid.size if isinstance(upid, Struct) else 16, offset_of(g, e, "upid", "ns")]
        offsets.append(offset_of(g, e, "pid_namespace", "ns", "inum"))
    return g.routine("progenyof_" + "_".join(map(str, offsets)), wanted, g.current_task())
