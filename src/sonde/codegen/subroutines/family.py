"""Hidden subroutines behind `progenyof($target)`: `__in_family()`, whether the current thread belongs to the process of
-c or -p or to what that has started, and `__adopt(task)`, which makes a new thread one that does.

What is known of a thread goes with it, so no number of a process that has ended can mean another one.
"""

from __future__ import annotations

from sonde.bpf import maps as kinds
from sonde.codegen.basis.generation import REPLAYS, Generation
from sonde.codegen.expressions.access import plain
from sonde.codegen.expressions.integers import trusted_argument
from sonde.codegen.intermediate.ir import Imm, MapDescriptor, Operand, Reg, SlotAddress
from sonde.model import program as tree
from sonde.model.named_maps import FAMILY
from sonde.model.spec import MapSpec

_MOST_RECORDED = 1 << 15

_CREATE = 1
"""BPF_LOCAL_STORAGE_GET_F_CREATE (include/uapi/linux/bpf.h)."""


def _map(g: Generation) -> MapDescriptor:
    return MapDescriptor(
        g.shared.maps.add(MapSpec(FAMILY, kinds.TASK_STORAGE, 4, 8, 0, kinds.F_NO_PREALLOC, typed=True))
    )


def _by_address(g: Generation) -> MapDescriptor:
    """Of recorded threads no more is known than the addresses of their structures."""
    return MapDescriptor(g.shared.maps.add(MapSpec(FAMILY, kinds.HASH, 8, 8, _MOST_RECORDED)))


def _key(g: Generation, task: Reg) -> SlotAddress:
    key = g.b.slot(8)
    g.b.store(key, 0, 8, plain(g, task))
    return SlotAddress(key)


def in_family(g: Generation, _: tree.Call) -> Operand:
    """Whether it was adopted: the process of -c or -p itself need not have been."""
    if REPLAYS in g.shared.target.features:
        return g.b.truth("ne", g.call("map_lookup_elem", _by_address(g), _key(g, g.current_task())), Imm(0))
    storage = g.call("task_storage_get", _map(g), g.current_task(), Imm(0), Imm(0), pure=FAMILY)
    return g.b.truth("ne", storage, Imm(0))


def adopt(g: Generation, e: tree.Call) -> Operand:
    """The task is a typed argument of the probe: of other pointers the verifier does not know that they lead to one."""
    (task,) = e.arguments
    while isinstance(task, tree.Cast):
        task = task.operand
    assert isinstance(task, tree.Argument)
    thread = g.b.in_register(trusted_argument(g, task))
    if REPLAYS in g.shared.target.features:
        mark = g.b.slot(8)
        g.b.store(mark, 0, 8, Imm(1))
        g.call("map_update_elem", _by_address(g), _key(g, thread), SlotAddress(mark), Imm(kinds.ANY))
        return Imm(0)
    storage = g.call("task_storage_get", _map(g), thread, Imm(0), Imm(_CREATE))
    with g.b.when("eq", storage, Imm(0)):
        g.count("variables")
    with g.b.when("ne", storage, Imm(0)):
        g.b.store(storage, 0, 8, Imm(1))
    return Imm(0)
