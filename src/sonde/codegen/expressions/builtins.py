"""Built-in variables with an integer value (D-LANGUAGE: `pid`, `timestamp`, `arg0` ...)."""

from __future__ import annotations

from collections.abc import Callable

from sonde.arch import registers
from sonde.bpf import programs
from sonde.codegen.basis.faults import BAD_ADDRESS, ILLEGAL_OPERATION, fault, fault_if
from sonde.codegen.basis.generation import REPLAYS, Generation, Unsupported
from sonde.codegen.basis.identity import identity, process
from sonde.codegen.basis.names import clause_number, probe_id
from sonde.codegen.basis.places import Remote
from sonde.codegen.basis.return_places import RETURNED
from sonde.codegen.expressions import clock, images, packet_access
from sonde.codegen.expressions.access import as_number, load, plain
from sonde.codegen.expressions.callers import HELPER, caller_at
from sonde.codegen.expressions.integers import argument_number
from sonde.codegen.expressions.processors import cpu_place
from sonde.codegen.expressions.stacks import USER_STACK, call_stack
from sonde.codegen.expressions.structures import offset_of, read_member
from sonde.codegen.intermediate.ir import Imm, Operand, Reg
from sonde.model import program as tree
from sonde.model.types import Struct

_IDS = "get_current_uid_gid"


def value(g: Generation, e: tree.Builtin) -> Operand:
    number = argument_number(e)
    if number is not None:
        value = g.context.argument(g, number)
        return plain(g, value) if g.context.is_trusted(number) else value
    if e.name not in _VALUES:
        raise Unsupported(f"the variable {e.name}", e.position)
    return _VALUES[e.name](g, e)


def _context(g: Generation, e: tree.Builtin) -> Operand:
    """The address of what the kernel gives the program: registers, or them and a sample's period, or arguments."""
    if g.context.kind not in (programs.KPROBE, programs.PERF_EVENT, programs.TRACING):
        raise Unsupported("ctx where no registers are given", e.position)
    return plain(g, g.ctx)


def _pid(g: Generation, e: tree.Builtin) -> Operand:
    return process(g)


def _tid(g: Generation, e: tree.Builtin) -> Operand:
    return g.b.extend(identity(g), 4, False)


def _ppid(g: Generation, e: tree.Builtin) -> Operand:
    """The thread group of the real parent; in a pid namespace its number there, 0 if it is not in it."""
    if REPLAYS in g.shared.target.features:
        found = g.call("firing_parent", pure="parent")
        fault_if(g, "slt", found, Imm(0), BAD_ADDRESS, Imm(0))
        return found
    task = g.current_task()
    parent = g.b.load(task, offset_of(g, e, "task_struct", "real_parent"), 8, invariant=True)
    number = load(g, Remote(parent, offset_of(g, e, "task_struct", "tgid"), False), e.type)
    if g.shared.target.initial_namespace:
        return number
    inode = g.b.stamp("namespace_inode")
    return g.b.choose("eq", inode, Imm(0), lambda: number, lambda: _ppid_in(g, e, task, parent, inode))


def _ppid_in(g: Generation, e: tree.Builtin, task: Reg, parent: Operand, inode: Operand) -> Operand:
    """A task that is being reaped has lost its struct pid, which tells the level: no number is found then."""
    leader = read_member(g, parent, offset_of(g, e, "task_struct", "group_leader"), 8)
    pid = read_member(g, leader, offset_of(g, e, "task_struct", "thread_pid"), 8)
    own = read_member(g, task, offset_of(g, e, "task_struct", "thread_pid"), 8)
    both = g.b.choose("eq", own, Imm(0), lambda: Imm(0), lambda: pid)
    return g.b.choose("eq", both, Imm(0), lambda: Imm(0), lambda: _ppid_at(g, e, own, pid, inode))


def _ppid_at(g: Generation, e: tree.Builtin, own: Operand, pid: Operand, inode: Operand) -> Operand:
    level = read_member(g, own, offset_of(g, e, "pid", "level"), 4)
    depth = read_member(g, pid, offset_of(g, e, "pid", "level"), 4)
    return g.b.choose("lt", depth, level, lambda: Imm(0), lambda: _number_in(g, e, pid, level, inode))


def _number_in(g: Generation, e: tree.Builtin, pid: Operand, level: Operand, inode: Operand) -> Operand:
    """The number of a struct pid at a level of pid namespaces, 0 if it is in another one there."""
    upid = g.shared.kernel_type("struct", "upid")
    size = upid.size if isinstance(upid, Struct) else 16
    at = g.b.alu("add", pid, g.b.alu("mul", level, Imm(size)))
    numbers = offset_of(g, e, "pid", "numbers")
    owner = read_member(g, at, numbers + offset_of(g, e, "upid", "ns"), 8)
    found = read_member(g, owner, offset_of(g, e, "pid_namespace", "ns", "inum"), 4)
    return g.b.choose("ne", found, inode, lambda: Imm(0), lambda: read_member(g, at, numbers, 4))


def _uid(g: Generation, e: tree.Builtin) -> Operand:
    return _credential(g, e) if _is_of_packets(g) else g.b.extend(g.call(_IDS, pure="uid"), 4, False)


def _gid(g: Generation, e: tree.Builtin) -> Operand:
    return _credential(g, e) if _is_of_packets(g) else g.b.alu("rsh", g.call(_IDS, pure="uid"), Imm(32))


def _is_of_packets(g: Generation) -> bool:
    return g.context.kind in programs.FOR_PACKETS and REPLAYS not in g.shared.target.features


def _credential(g: Generation, e: tree.Builtin) -> Operand:
    """What the helper gives, which programs for packets do not have."""
    cred = g.b.load(g.current_task(), offset_of(g, e, "task_struct", "cred"), 8, invariant=True)
    return read_member(g, cred, offset_of(g, e, "cred", e.name), 4)


def _timestamp(g: Generation, e: tree.Builtin) -> Operand:
    return clock.reading(g)


def _walltimestamp(g: Generation, e: tree.Builtin) -> Operand:
    """It goes on within a clause, as time does."""
    now = g.firing_time if g.firing_time is not None else g.call("ktime_get_ns")
    return g.b.alu("add", now, g.b.stamp("realtime_offset"))


def _cpu(g: Generation, e: tree.Builtin) -> Operand:
    return g.cpu_number()


def _id(g: Generation, e: tree.Builtin) -> Operand:
    return probe_id(g)


def _epid(g: Generation, e: tree.Builtin) -> Operand:
    assert g.clause is not None
    return g.b.alu("or", g.b.alu("lsh", probe_id(g), Imm(32)), clause_number(g, g.clause))


def _curthread(g: Generation, e: tree.Builtin) -> Operand:
    return plain(g, g.current_task())


def _curcpu(g: Generation, e: tree.Builtin) -> Operand:
    return as_number(g, cpu_place(g))


def _depth(flags: int) -> Callable[[Generation, tree.Builtin], Operand]:
    def frames(g: Generation, e: tree.Builtin) -> Operand:
        if not flags and not g.context.has_kernel_stack and HELPER not in g.lacks:
            return Imm(0)
        size = 8 * g.shared.settings.maxframes
        memory = g.temporary(size)
        got = call_stack(g, memory, size, flags)
        return g.b.choose("sgt", got, Imm(0), lambda: g.b.alu("rsh", got, Imm(3)), lambda: Imm(0))

    return frames


def _caller(flags: int) -> Callable[[Generation, tree.Builtin], Operand]:
    def frame(g: Generation, e: tree.Builtin) -> Operand:
        if not flags and not g.context.has_kernel_stack and HELPER not in g.lacks:
            return Imm(0)
        places = {place for _, place in g.caller_at} if flags else set()
        if RETURNED not in places:
            return _second(g, flags)

        def counter() -> Operand:
            return g.b.load(g.ctx, registers.PROGRAM_COUNTER, 8, invariant=True)

        if len(places) == 1:
            return counter()
        return g.b.choose("eq", caller_at(g), Imm(RETURNED), counter, lambda: _second(g, flags))

    return frame


def _second(g: Generation, flags: int) -> Operand:
    """The second address of a stack."""
    memory = g.temporary(16)
    call_stack(g, memory, 16, flags)
    return g.b.load(memory.base, memory.offset + 8, 8)


def _errno(g: Generation, e: tree.Builtin) -> Operand:
    return g.context.errno(g)


def _ipl(g: Generation, e: tree.Builtin) -> Operand:
    """Linux has no interrupt priority level."""
    after = g.b.label()
    fault(g, ILLEGAL_OPERATION, Imm(0))
    g.b.place(after)
    return Imm(0)


def _target(g: Generation, e: tree.Builtin) -> Operand:
    return g.b.stamp("target")


def _pktlen(g: Generation, e: tree.Builtin) -> Operand:
    return packet_access.passing_packet(g, e.name, e.position).length(g)


def _ifindex(g: Generation, e: tree.Builtin) -> Operand:
    return packet_access.passing_packet(g, e.name, e.position).interface(g)


def _jiffies(g: Generation, e: tree.Builtin) -> Operand:
    return g.call("jiffies64")


def _numa_node(g: Generation, e: tree.Builtin) -> Operand:
    return g.b.extend(g.call("get_numa_node_id"), 4, False)


def _cgroup(g: Generation, e: tree.Builtin) -> Operand:
    return g.call("get_current_cgroup_id")


def _image(g: Generation, e: tree.Builtin) -> Operand:
    return images.image(g)


_VALUES: dict[str, Callable[[Generation, tree.Builtin], Operand]] = {
    "$target": _target, "__context": _context, "__image": _image,
    "pid": _pid, "tid": _tid, "ppid": _ppid, "uid": _uid, "gid": _gid, "timestamp": _timestamp,
    "walltimestamp": _walltimestamp, "cpu": _cpu, "id": _id, "epid": _epid, "curthread": _curthread,
    "curcpu": _curcpu, "jiffies": _jiffies, "numa_node": _numa_node, "cgroup": _cgroup,
    "stackdepth": _depth(0), "ustackdepth": _depth(USER_STACK), "caller": _caller(0), "ucaller": _caller(USER_STACK),
    "errno": _errno, "ipl": _ipl, "pktlen": _pktlen, "ifindex": _ifindex,
}  # fmt: skip
