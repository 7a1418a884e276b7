"""Hidden subroutines behind `progenyof($target)`: `__in_family()`, whether the current thread belongs to the process of
-c or -p or to what that has started, and `__adopt(task)`, which makes a new thread one that does.

What is known of a thread goes with it, so no number of a process that has ended can mean another one.
"""

from __future__ import annotations

from sonde.bpf import maps as kinds
from sonde.codegen.basis.generation import Generation
from sonde.codegen.expressions.integers import trusted_argument
from sonde.codegen.intermediate.ir import Imm, MapDescriptor, Operand
from sonde.model import program as tree
from sonde.model.spec import FAMILY, MapSpec

_CREATE = 1
"""BPF_LOCAL_STORAGE_GET_F_CREATE (include/uapi/linux/bpf.h)."""


def _map(g: Generation) -> MapDescriptor:
    return MapDescriptor(
        g.shared.maps.add(MapSpec(FAMILY, kinds.TASK_STORAGE, 4, 8, 0, kinds.F_NO_PREALLOC, typed=True))
    )


def in_family(g: Generation, _: tree.Call) -> Operand:
    """Whether it was adopted: the process of -c or -p itself need not have been."""
    storage = g.call("task_storage_get", _map(g), g.current_task(), Imm(0), Imm(0), pure=FAMILY)
    return g.b.truth("ne", storage, Imm(0))


def adopt(g: Generation, e: tree.Call) -> Operand:
    """The task is a typed argument of the probe: of other pointers the verifier does not know that they lead to one."""
    (task,) = e.arguments
    while isinstance(task, tree.Cast):
        task = task.operand
    assert isinstance(task, tree.Argument)
    storage = g.call("task_storage_get", _map(g), g.b.in_register(trusted_argument(g, task)), Imm(0), Imm(_CREATE))
    with g.b.when("eq", storage, Imm(0)):
        g.count("variables")
    with g.b.when("ne", storage, Imm(0)):
        g.b.store(storage, 0, 8, Imm(1))
    return Imm(0)
