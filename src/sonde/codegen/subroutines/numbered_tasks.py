"""Processes by their numbers: a hidden subroutine, `__task_numbered(pid)`, which gives the struct task_struct * of the
process's first thread, 0 where there is none.

The kernel has the structures of its initial pid namespace, which every thread's numbers lead to, in a tree of arrays
by number (struct xarray, include/linux/xarray.h), behind pid_namespace.idr.
"""

from __future__ import annotations

from sonde.codegen.basis.generation import Generation, Unsupported
from sonde.codegen.basis.places import Remote
from sonde.codegen.expressions.access import load_bytes, plain
from sonde.codegen.expressions.structures import offset_of
from sonde.codegen.intermediate.ir import Imm, Operand, Reg
from sonde.model import program as tree
from sonde.model.types import Array, Struct, resolve

_INTERPRETED = "interpreted"
"""What the embedded engine's programs are."""

_LEVELS = 4
"""Of the tree: PID_MAX_LIMIT, 4 * 1024 * 1024 (include/linux/threads.h), needs 22 bits, of which each array has 6."""

_IS_NODE, _KIND = 2, 3
"""xa_is_internal(): the low bits of what is no element but another array."""

_BEHIND_MARKS = 4096
"""xa_is_node(): marks of other kinds are below."""


def numbered(g: Generation, e: tree.Call) -> Operand:
    """Raises SourceError where no kernel, or not the whole of it, is looked at."""
    if _INTERPRETED in g.shared.target.features:
        raise Unsupported("comm() of another process", e.position)
    if not g.shared.target.initial_namespace:
        raise Unsupported("comm() of another process in a pid namespace of its own", e.position)
    number = g.b.in_register(g.value(e.arguments[0]))
    own = _word(g, g.current_task(), offset_of(g, e, "task_struct", "thread_pid"))
    numbers = offset_of(g, e, "pid", "numbers") + offset_of(g, e, "upid", "ns")
    head = offset_of(g, e, "pid_namespace", "idr", "idr_rt", "xa_head")
    found = g.b.copy(_word(g, _word(g, own, numbers), head))
    shift, slots, bits = _node(g, e)
    level = g.b.copy(Imm(0))
    for _ in range(_LEVELS):
        done, deeper = g.b.label(), g.b.label()
        kind = g.b.alu("and", found, Imm(_KIND))
        inner = g.b.label()
        g.b.branch("eq", kind, Imm(_IS_NODE), inner, done)
        g.b.place(inner)
        g.b.branch("gt", found, Imm(_BEHIND_MARKS), deeper, done)
        g.b.place(deeper)
        node = g.b.copy(g.b.alu("sub", found, Imm(_IS_NODE)))
        g.b.move(level, load_bytes(g, Remote(node, shift, False), 1, False))
        place = g.b.copy(g.b.alu("and", g.b.alu("rsh", number, level), Imm((1 << bits) - 1)))
        address = g.b.alu("add", node, g.b.alu("lsh", place, Imm(3)))
        g.b.move(found, load_bytes(g, Remote(address, slots, False), 8, False))
        g.b.place(done)
    return _first_thread(g, e, found, number)


def _first_thread(g: Generation, e: tree.Call, pid: Reg, number: Reg) -> Operand:
    """Of a struct pid, which has to be that of the number: others are found where the number is beyond all."""
    task = g.b.copy(Imm(0))
    own = g.b.copy(Imm(0))
    with g.b.when("gt", pid, Imm(_BEHIND_MARKS)):
        place = offset_of(g, e, "pid", "numbers") + offset_of(g, e, "upid", "nr")
        g.b.move(own, load_bytes(g, Remote(pid, place, False), 4, False))
        with g.b.when("eq", own, number):
            g.b.move(task, load_bytes(g, Remote(pid, offset_of(g, e, "pid", "tasks"), False), 8, False))
    with g.b.when("ne", task, Imm(0)):
        g.b.move(task, g.b.alu("sub", task, Imm(offset_of(g, e, "task_struct", "pid_links"))))
    return task


def _node(g: Generation, e: tree.Call) -> tuple[int, int, int]:
    """Where an array of the tree has its shift and its slots, and the bits of a number that choose one of these."""
    structure = g.shared.kernel_type("struct", "xa_node")
    member = structure.find("slots") if isinstance(structure, Struct) else None
    slots = resolve(member.type) if member else None
    if not isinstance(slots, Array) or not slots.length:
        raise Unsupported("comm() of another process (this kernel's BTF has no struct xa_node)", e.position)
    return offset_of(g, e, "xa_node", "shift"), offset_of(g, e, "xa_node", "slots"), slots.length.bit_length() - 1


def _word(g: Generation, base: Operand, offset: int) -> Operand:
    return load_bytes(g, Remote(plain(g, base), offset, False), 8, False)
