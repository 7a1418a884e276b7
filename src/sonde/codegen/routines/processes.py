"""Process numbers as a pid namespace sees them."""

from __future__ import annotations

from sonde.bpf.helpers import NUMBERS
from sonde.codegen.builder import Builder
from sonde.codegen.ir import Function, Imm, SlotAddress


def namespace_pid() -> Function:
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
