"""Process numbers as a pid namespace sees them, and who descends from whom."""

from __future__ import annotations

from collections.abc import Callable

from sonde.bpf.helpers import NUMBERS
from sonde.codegen.intermediate.builder import Builder
from sonde.codegen.intermediate.ir import BpfFunction, Imm, Operand, Reg, SlotAddress
from sonde.codegen.routines.reading import read


def namespace_pid() -> BpfFunction:
    """(): process << 32 | thread of the current task in sonde's pid namespace, 0 for a task outside of it.

    bpf_get_ns_current_pid_tgid fills struct bpf_pidns_info: u32 pid (the thread), u32 tgid (the process). It knows no
    task of a namespace below the one it is asked for, so in the initial one, which has them all, it is not asked; the
    verifier, to which a stamp is a constant, leaves the other way out.
    """
    b = Builder("namespace_pid", 0)
    info = b.slot(8)
    b.store(info, 0, 8, Imm(0))
    device, inode = b.stamp("namespace_device"), b.stamp("namespace_inode")
    with b.when("eq", inode, Imm(0)):
        b.ret(b.call(NUMBERS["get_current_pid_tgid"]))
    b.call(NUMBERS["get_ns_current_pid_tgid"], device, inode, SlotAddress(info), Imm(8))
    thread = b.load(info, 0, 4)
    process = b.load(info, 4, 4)
    b.ret(b.alu("or", b.alu("lsh", process, Imm(32)), thread))
    return b.function


GENERATIONS = 256
"""How many ancestors of a process are looked at."""

LEVELS = 33
"""Levels of pid namespaces, the initial one included (MAX_PID_NS_LEVEL, include/linux/pid_namespace.h)."""


def progenyof(name: str, offsets: list[int]) -> BpfFunction:
    """(pid, task): 1 if the task's process or an ancestor of it has this number, else 0.

    `offsets` are those of task_struct.real_parent and .tgid. For programs that run in any pid namespace the offsets of
    task_struct.group_leader and .thread_pid follow, of pid.level and .numbers, the size of struct upid, and the offsets
    of upid.ns and pid_namespace.ns.inum; the number is then the one that sonde's namespace knows the process by.
    """
    b = Builder(name, 2)
    wanted, current = b.function.parameters
    plain, end = b.label(), b.label()
    real_parent, tgid, *others = offsets
    if others:
        inode = b.stamp("namespace_inode")
        b.branch("eq", inode, Imm(0), plain)
        start = _place_in_namespace(b, current, inode, others, end)
        _climb(b, current, real_parent, end, lambda task: _is_at(b, task, wanted, start, others, end))
    b.place(plain)
    _climb(b, current, real_parent, end, lambda task: b.truth("eq", read(b, task, tgid, 4, end), wanted))
    b.place(end)
    b.ret(Imm(0))
    return b.function


def _climb(b: Builder, current: Reg, real_parent: int, end: int, is_wanted: Callable[[Reg], Operand]) -> None:
    """Return 1 at the first ancestor that is wanted; go to `end` behind the last."""
    task, left = b.copy(current), b.copy(Imm(GENERATIONS))
    loop = b.label()
    b.place(loop)
    with b.when("ne", is_wanted(task), Imm(0)):
        b.ret(Imm(1))
    parent = read(b, task, real_parent, 8, end)
    b.branch("eq", parent, task, end)
    b.move(task, parent)
    b.move(left, b.alu("sub", left, Imm(1)))
    b.branch("ne", left, Imm(0), loop, end)


def _place_in_namespace(b: Builder, task: Reg, inode: Operand, offsets: list[int], end: int) -> Operand:
    """Where, behind its struct pid, a process of the namespace has its number there: at the namespace's level."""
    *_, level, numbers, upid, ns, inum = offsets
    pid = _pid_of(b, task, offsets, end)
    rest = b.copy(read(b, pid, level, 4, end))
    left = b.copy(Imm(LEVELS))
    loop, found = b.label(), b.label()
    b.place(loop)
    start = b.alu("add", b.alu("mul", rest, Imm(upid)), Imm(numbers))
    at = b.alu("add", pid, start)
    b.branch("eq", read(b, read(b, at, ns, 8, end), inum, 4, end), inode, found)
    b.branch("eq", rest, Imm(0), end)
    b.move(rest, b.alu("sub", rest, Imm(1)))
    b.move(left, b.alu("sub", left, Imm(1)))
    b.branch("ne", left, Imm(0), loop, end)
    b.place(found)
    return b.copy(start)


def _is_at(b: Builder, task: Reg, wanted: Reg, start: Operand, offsets: list[int], end: int) -> Operand:
    """Whether the process has this number at that place; one that is above the namespace has none, nor its parents."""
    *_, level, numbers, upid, _, _ = offsets
    pid = _pid_of(b, task, offsets, end)
    last = b.alu("add", b.alu("mul", read(b, pid, level, 4, end), Imm(upid)), Imm(numbers))
    b.branch("gt", start, last, end)
    return b.truth("eq", read(b, b.alu("add", pid, start), 0, 4, end), wanted)


def _pid_of(b: Builder, task: Reg, offsets: list[int], end: int) -> Operand:
    group_leader, thread_pid, *_ = offsets
    return read(b, read(b, task, group_leader, 8, end), thread_pid, 8, end)
