"""The path of a file, found as the kernel's d_path() finds it (fs/d_path.c): from the file's name up to the root."""

from __future__ import annotations

from sonde.bpf.helpers import NUMBERS
from sonde.codegen.intermediate.builder import Builder
from sonde.codegen.intermediate.ir import BpfFunction, Imm, Operand, Reg
from sonde.codegen.routines.reading import read
from sonde.codegen.routines.work import repeat, step_of_loop
from sonde.typed import NamedTuple

PATH_MAX = 4096
"""Bytes of the longest path with its NUL (include/uapi/linux/limits.h); a longer one loses its beginning."""

NAME_SPACE = 256
"""Room for the longest name of one directory entry, behind the path's end."""

STEPS = 128
"""Names and mount points between a file and the root; where there are more the path loses its beginning."""

_POSITION, _DENTRY, _MOUNT, _ROOT_DENTRY, _ROOT_MOUNT = range(PATH_MAX + NAME_SPACE, PATH_MAX + NAME_SPACE + 40, 8)
"""Words behind the path: where it begins, where the walk is and where it ends. Kept in registers the verifier would
follow every length that the names can have; what it loads from memory it knows nothing of."""

BUFFER_SIZE = _ROOT_MOUNT + 8

UNREADABLE = -1

_DELETED = b" (deleted)"


class PathOffsets(NamedTuple):
    """Where the kernel has what a path is made of, in bytes; `mount_mnt` is a struct vfsmount in its struct mount."""

    path_mnt: int
    path_dentry: int
    dentry_parent: int
    dentry_name: int
    dentry_length: int
    dentry_pprev: int
    dentry_sb: int
    sb_type: int
    type_name: int
    vfsmount_root: int
    mount_mnt: int
    mount_parent: int
    mount_mountpoint: int
    task_fs: int
    fs_root: int


def d_path(name: str, offsets: PathOffsets, step: str | None) -> BpfFunction:
    """(buffer, path, task): where in the buffer of BUFFER_SIZE bytes the path of a struct path begins, as
    the task sees it; it ends with the NUL at PATH_MAX - 1. UNREADABLE if there is no such struct.

    A file without a name any more has the kernel's " (deleted)" behind its path. What is not below the task's root has
    the path from the root of the outermost mount. What was never in a directory (pipes, sockets) is named by its file
    system and, behind a colon, its own name; the kernel has a function in each file system to name these.

    `step` is the name of the routine that goes one step up, for bpf_loop to call; where a kernel has none the steps are
    counted here, and its verifier follows each of them.
    """
    b = Builder(name, 3)
    buffer, path, task = b.function.parameters
    bad, end = b.label(), b.label()
    root = b.alu("add", read(b, task, offsets.task_fs, 8, bad), Imm(offsets.fs_root))
    b.store(buffer, _ROOT_DENTRY, 8, read(b, root, offsets.path_dentry, 8, bad))
    b.store(buffer, _ROOT_MOUNT, 8, read(b, root, offsets.path_mnt, 8, bad))
    dentry = b.copy(read(b, path, offsets.path_dentry, 8, bad))
    b.store(buffer, _DENTRY, 8, dentry)
    mount = b.alu("sub", read(b, path, offsets.path_mnt, 8, bad), Imm(offsets.mount_mnt))
    b.store(buffer, _MOUNT, 8, mount)
    b.store(buffer, PATH_MAX - 1, 1, Imm(0))
    b.store(buffer, _POSITION, 8, Imm(PATH_MAX - 1))
    _mark_deleted(b, buffer, dentry, offsets, bad)
    if step is not None:
        repeat(b, step, Imm(STEPS), buffer)
    else:
        left, again = b.copy(Imm(STEPS)), b.label()
        b.place(again)
        _climb(b, buffer, offsets, end)
        b.move(left, b.alu("sub", left, Imm(1)))
        b.branch("ne", left, Imm(0), again, end)
    b.place(end)
    _give(b, buffer)
    b.place(bad)
    b.ret(Imm(UNREADABLE))
    return b.function


def step_up(name: str, offsets: PathOffsets) -> BpfFunction:
    """One step of the walk, as a callback of bpf_loop: it ends at the root, and where nothing more can be read."""
    b, _, buffer = step_of_loop(name)
    end = b.label()
    _climb(b, buffer, offsets, end)
    b.ret(Imm(0))
    b.place(end)
    b.ret(Imm(1))
    return b.function


def _mark_deleted(b: Builder, buffer: Reg, dentry: Reg, offsets: PathOffsets, bad: int) -> None:
    """A dentry that is in no hash chain and no root has lost its name (d_unlinked(), include/linux/dcache.h)."""
    pprev = read(b, dentry, offsets.dentry_pprev, 8, bad)
    parent = read(b, dentry, offsets.dentry_parent, 8, bad)
    named = b.label()
    b.branch("ne", pprev, Imm(0), named)
    b.branch("eq", parent, dentry, named)
    start = PATH_MAX - 1 - len(_DELETED)
    for number, character in enumerate(_DELETED):
        b.store(buffer, start + number, 1, Imm(character))
    b.store(buffer, _POSITION, 8, Imm(start))
    b.place(named)


def _climb(b: Builder, buffer: Reg, offsets: PathOffsets, end: int) -> None:
    """A name before the path, or out of a mount; to `end` where the root is reached, of the task or of all mounts."""
    inside, following, onward, apart = (b.label() for _ in range(4))
    dentry = b.copy(b.load(buffer, _DENTRY, 8))
    mount = b.copy(b.load(buffer, _MOUNT, 8))
    b.branch("ne", dentry, b.load(buffer, _ROOT_DENTRY, 8), inside)
    b.branch("eq", b.alu("add", mount, Imm(offsets.mount_mnt)), b.load(buffer, _ROOT_MOUNT, 8), end)
    b.place(inside)
    b.branch("eq", dentry, read(b, mount, offsets.mount_mnt + offsets.vfsmount_root, 8, end), onward)
    parent = read(b, dentry, offsets.dentry_parent, 8, end)
    b.branch("eq", parent, dentry, apart)
    _prepend_name(b, buffer, dentry, offsets, "/", end)
    b.store(buffer, _DENTRY, 8, parent)
    b.jump(following)
    b.place(onward)
    outer = read(b, mount, offsets.mount_parent, 8, end)
    b.branch("eq", outer, mount, end)
    b.store(buffer, _DENTRY, 8, read(b, mount, offsets.mount_mountpoint, 8, end))
    b.store(buffer, _MOUNT, 8, outer)
    b.jump(following)
    b.place(apart)
    _prepend_name(b, buffer, dentry, offsets, ":", end)
    _prepend_type(b, buffer, dentry, offsets, end)
    b.jump(end)
    b.place(following)


def _prepend_name(b: Builder, buffer: Reg, dentry: Reg, offsets: PathOffsets, mark: str, end: int) -> None:
    """The mark and the name of the dentry, if there is room."""
    length = b.alu("and", read(b, dentry, offsets.dentry_length, 4, end), Imm(NAME_SPACE - 1))
    name = read(b, dentry, offsets.dentry_name, 8, end)
    start = _prepend(b, buffer, name, length, end)
    before = b.alu("sub", start, Imm(1))
    b.store(_at(b, buffer, before), 0, 1, Imm(ord(mark)))
    b.store(buffer, _POSITION, 8, before)


def _prepend_type(b: Builder, buffer: Reg, dentry: Reg, offsets: PathOffsets, end: int) -> None:
    """The name of the dentry's file system; behind the buffer there is room to find out how long it is."""
    kind = read(b, read(b, dentry, offsets.dentry_sb, 8, end), offsets.sb_type, 8, end)
    name = read(b, kind, offsets.type_name, 8, end)
    room = b.in_register(b.alu("add", buffer, Imm(PATH_MAX)))
    got = b.call(NUMBERS["probe_read_kernel_str"], room, Imm(NAME_SPACE), name)
    b.branch("sle", got, Imm(1), end)
    length = b.alu("and", b.alu("sub", got, Imm(1)), Imm(NAME_SPACE - 1))
    b.store(buffer, _POSITION, 8, _prepend(b, buffer, name, length, end))


def _prepend(b: Builder, buffer: Reg, text: Operand, length: Operand, end: int) -> Operand:
    """Characters before what there is, if there is room for them and one more; where they begin."""
    start = b.alu("sub", b.load(buffer, _POSITION, 8), length)
    b.branch("sle", start, Imm(0), end)
    b.branch("slt", b.call(NUMBERS["probe_read_kernel"], _at(b, buffer, start), length, text), Imm(0), end)
    return start


def _give(b: Builder, buffer: Reg) -> None:
    """Return where the path begins. The root itself is a slash, which nothing has put there yet."""
    position = b.load(buffer, _POSITION, 8)
    with b.when("ne", position, Imm(PATH_MAX - 1)):
        b.ret(position)
    b.store(buffer, PATH_MAX - 2, 1, Imm(ord("/")))
    b.ret(Imm(PATH_MAX - 2))


def _at(b: Builder, buffer: Reg, position: Operand) -> Reg:
    """The place in the buffer; the mask changes nothing, but shows the verifier that it is inside."""
    return b.in_register(b.alu("add", buffer, b.alu("and", position, Imm(PATH_MAX - 1))))
