#!/usr/bin/env python3
"""Run a command below a seccomp filter with the shape of a container's. `container_profile.py COMMAND ARGUMENT ...`

As in container managers' default profiles: calls that take privileges fail with EPERM, also where a clone asks for
namespaces; clone3, whose flags a filter cannot see, and what the profile does not know fail with ENOSYS; all else is
allowed, ptrace and seccomp among it.
"""

import ctypes
import os
import signal
import struct
import sys

EPERM, ENOSYS = 1, 38
REFUSED = {
    "mount": 165, "umount2": 166, "swapon": 167, "swapoff": 168, "reboot": 169, "sethostname": 170,
    "setdomainname": 171, "iopl": 172, "ioperm": 173, "init_module": 175, "delete_module": 176, "quotactl": 179,
    "acct": 163,
    "settimeofday": 164, "clock_settime": 227, "kexec_load": 246, "add_key": 248, "request_key": 249, "keyctl": 250,
    "unshare": 272, "move_pages": 279, "perf_event_open": 298, "open_by_handle_at": 304, "setns": 308,
    "finit_module": 313, "kexec_file_load": 320, "bpf": 321, "userfaultfd": 323, "pivot_root": 155,
    "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "open_tree": 428, "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431, "fsmount": 432, "fspick": 433, "mount_setattr": 442, "personality": 135, "chroot": 161,
}  # fmt: skip
"""Numbers on x86-64 (arch/x86/entry/syscalls/syscall_64.tbl)."""

CLONE, CLONE3 = 56, 435
NAMESPACES = 0x7E020000
"""CLONE_NEW* (include/uapi/linux/sched.h) that a clone's flags may have."""

LOAD, EQUAL, SET, RETURN = 0x20, 0x15, 0x45, 0x06
ALLOW, ERRNO = 0x7FFF0000, 0x00050000
NUMBER, ARGUMENT = 0, 16
"""Offsets in struct seccomp_data (include/uapi/linux/seccomp.h)."""

SET_NO_NEW_PRIVS, SET_SECCOMP, FILTER = 38, 22, 2


def program(refused=None):
    """The filter's instructions, as the kernel takes them."""
    code = [(LOAD, 0, 0, NUMBER)]
    for number in sorted(REFUSED.values() if refused is None else refused):
        code += [(EQUAL, 0, 1, number), (RETURN, 0, 0, ERRNO | EPERM)]
    code += [(EQUAL, 0, 1, CLONE3), (RETURN, 0, 0, ERRNO | ENOSYS), (EQUAL, 0, 3, CLONE), (LOAD, 0, 0, ARGUMENT),
             (SET, 0, 1, NAMESPACES), (RETURN, 0, 0, ERRNO | EPERM), (RETURN, 0, 0, ALLOW)]  # fmt: skip
    return b"".join(struct.pack("=HBBI", *one) for one in code)


def install(code):
    """Put the filter on this thread and what it makes. Raises OSError."""
    library = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(code)
    filter_ = ctypes.create_string_buffer(struct.pack("=HxxxxxxQ", len(code) // 8, ctypes.addressof(buffer)))
    if os.getuid() and library.prctl(SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "no new privileges")
    if library.prctl(SET_SECCOMP, FILTER, ctypes.byref(filter_)):
        raise OSError(ctypes.get_errno(), "no filter")


if __name__ == "__main__":
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        # Python ignores them, and what is ignored stays so across exec.
        signal.signal(number, signal.SIG_DFL)
    install(program())
    os.execvp(sys.argv[1], sys.argv[1:])
