"""d_path(): the path of an open file; and `__open_file()`, which has the engine tell which file it is."""

from __future__ import annotations

from sonde.bpf.helpers import MAX_ERRNO
from sonde.codegen.basis import firing_records
from sonde.codegen.basis.faults import BAD_ADDRESS, USER_ACCESS, fault_if
from sonde.codegen.basis.generation import REPLAYS, Generation
from sonde.codegen.basis.kernels import has_loops
from sonde.codegen.basis.places import Memory
from sonde.codegen.expressions.access import plain, zero
from sonde.codegen.expressions.integers import object_address
from sonde.codegen.expressions.strings import limit
from sonde.codegen.expressions.structures import offset_of
from sonde.codegen.intermediate.ir import Imm, Operand
from sonde.codegen.routines.paths import BUFFER_SIZE, PATH_MAX, PathOffsets
from sonde.model import firing_record
from sonde.model import program as tree

_TOLD = "paths"
"""The feature of a target with a helper that gives paths as text."""

_LAST_ADDRESS = -MAX_ERRNO - 1
"""Above it there are but error numbers (IS_ERR_VALUE, include/linux/err.h)."""


def d_path(g: Generation, e: tree.Call, into: Memory, size: int) -> None:
    """d_path(struct path *). The kernel's own bpf_d_path is for few hooks only, none of which fires a D probe."""
    path = g.b.in_register(object_address(g, e.arguments[0]))
    replays = REPLAYS in g.shared.target.features
    if replays or _TOLD in g.shared.target.features:
        # A recording has the text in the place of the structure.
        zero(g, into, size)
        length = g.call("path_text", g.address(into), Imm(limit(g, size)), path)
        fault_if(g, "slt", length, Imm(0), BAD_ADDRESS if replays else USER_ACCESS, path)
        return
    buffer = g.address(Memory(g.number_box().base, g.scratch.take(BUFFER_SIZE)))
    name = "_".join(("d_path" if has_loops(g) else "counted_path", *map(str, _offsets(g, e))))
    start = g.routine(name, buffer, path, g.current_task())
    fault_if(g, "slt", start, Imm(0), BAD_ADDRESS, path)
    text = g.b.alu("add", buffer, g.b.alu("and", start, Imm(PATH_MAX - 1)))
    zero(g, into, size)
    got = g.call("probe_read_kernel_str", g.address(into), Imm(limit(g, size)), g.b.in_register(text))
    firing_records.piece(g, firing_record.KERNEL_STRING, plain(g, path), got, into)


def open_file(g: Generation, e: tree.Call) -> Operand:
    """__open_file(fd): the current thread's open file, NULL where there is none."""
    descriptor = g.b.in_register(g.value(e.arguments[0]))
    file = g.call("open_file", descriptor, pure="open_file")
    fault_if(g, "gt", file, Imm(_LAST_ADDRESS), USER_ACCESS, descriptor)
    return file


def _offsets(g: Generation, e: tree.Call) -> PathOffsets:
    return PathOffsets(
        path_mnt=offset_of(g, e, "path", "mnt"),
        path_dentry=offset_of(g, e, "path", "dentry"),
        dentry_parent=offset_of(g, e, "dentry", "d_parent"),
        dentry_name=offset_of(g, e, "dentry", "d_name", "name"),
        dentry_length=offset_of(g, e, "dentry", "d_name", "len"),
        dentry_pprev=offset_of(g, e, "dentry", "d_hash", "pprev"),
        dentry_sb=offset_of(g, e, "dentry", "d_sb"),
        sb_type=offset_of(g, e, "super_block", "s_type"),
        type_name=offset_of(g, e, "file_system_type", "name"),
        vfsmount_root=offset_of(g, e, "vfsmount", "mnt_root"),
        mount_mnt=offset_of(g, e, "mount", "mnt"),
        mount_parent=offset_of(g, e, "mount", "mnt_parent"),
        mount_mountpoint=offset_of(g, e, "mount", "mnt_mountpoint"),
        task_fs=offset_of(g, e, "task_struct", "fs"),
        fs_root=offset_of(g, e, "fs_struct", "root"),
    )
