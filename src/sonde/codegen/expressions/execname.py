"""`execname`: the name of the current thread, read from its task_struct without a helper.

Comparing it is the commonest predicate, so a comparison loads no more of it than decides. The kernel keeps the name
padded with zeros since 5.17 (__set_task_comm, fs/exec.c). Before that, and where the structure is not to be relied on,
a helper gives the name, on older kernels with whatever was behind its NUL.
"""

from __future__ import annotations

from sonde.codegen.basis.generation import Generation
from sonde.codegen.basis.kernels import pads_names
from sonde.codegen.basis.places import Memory
from sonde.codegen.basis.shapes import COMM_SIZE
from sonde.codegen.expressions.access import zero
from sonde.codegen.intermediate.arithmetic import signed
from sonde.codegen.intermediate.ir import Imm
from sonde.model.types import Struct


def store(g: Generation, memory: Memory, size: int) -> None:
    """The name at `memory`, its first `size` bytes if that is less than it has."""
    offset = _offset(g)
    taken = min(size, COMM_SIZE)
    if offset is None or not pads_names(g):
        copy = g.temporary(COMM_SIZE)
        zero(g, copy, COMM_SIZE)
        g.call("get_current_comm", g.argument_of(copy.base, copy.offset), Imm(COMM_SIZE))
        zero(g, memory, taken)
        g.call("probe_read_kernel_str", g.argument_of(memory.base, memory.offset), Imm(taken), g.address(copy))
        return
    task = g.current_task()
    for start in range(0, taken, 8):
        g.b.store(memory.base, memory.offset + start, 8, g.b.load(task, offset + start, 8, invariant=True))


def equals(g: Generation, text: bytes, equal: int, unequal: int) -> bool:
    """Jump by whether it is this text; False, and no code, where BTF does not tell where the name is."""
    offset = _offset(g)
    if offset is None:
        return False
    if len(text) >= COMM_SIZE:
        g.b.jump(unequal)
        return True
    task = g.current_task()
    pieces = _pieces(text + b"\0")
    for number, (start, piece) in enumerate(pieces):
        part = g.b.load(task, offset + start, len(piece), invariant=True)
        following = g.b.label() if number + 1 < len(pieces) else equal
        g.b.branch("eq", part, Imm(signed(int.from_bytes(piece, "little"))), following, unequal)
        if following != equal:
            g.b.place(following)
    return True


def _pieces(text: bytes) -> list[tuple[int, bytes]]:
    """The text in pieces of 8, 4, 2 and 1 bytes, as large as they can be, with where they begin."""
    pieces, start = [], 0
    for size in (8, 8, 4, 2, 1):
        if len(text) - start >= size:
            pieces.append((start, text[start : start + size]))
            start += size
    return pieces


def _offset(g: Generation) -> int | None:
    """Where task_struct has it, in bytes; None where that is not known of every kernel to run on."""
    if g.shared.target.portable:
        return None
    task = g.shared.kernel_type("struct", "task_struct")
    member = task.find("comm") if isinstance(task, Struct) else None
    return None if member is None else member.offset // 8
