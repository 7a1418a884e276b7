"""Process numbers as a pid namespace sees them."""

from __future__ import annotations

from sonde.bpf.helpers import NUMBERS
from sonde.codegen.builder import Builder
from sonde.codegen.ir import Function, Imm, SlotAddress


def namespace_pid(name: str, device: int, inode: int) -> Function:
    """(): process << 32 | thread of the current task in the namespace, 0 for a task outside of it.

    bpf_get_ns_current_pid_tgid fills struct bpf_pidns_info: u32 pid (the thread), u32 tgid (the process).
    """
    b = Builder(name, 0)
    info = b.slot(8)
    b.store(info, 0, 8, Imm(0))
    device_register, inode_register = b.in_register(Imm(device)), b.in_register(Imm(inode))
    b.call(NUMBERS["get_ns_current_pid_tgid"], device_register, inode_register, SlotAddress(info), Imm(8))
    thread = b.load(info, 0, 4)
    process = b.load(info, 4, 4)
    b.ret(b.alu("or", b.alu("lsh", process, Imm(32)), thread))
    return b.function
