"""System calls as filters and tracers meet them: their numbers (arch/x86/entry/syscalls/syscall_64.tbl), what seccomp
calls the processor, and how they end."""

from __future__ import annotations

AUDIT_ARCHITECTURE = 0xC000003E
"""AUDIT_ARCH_X86_64 (include/uapi/linux/audit.h). Calls of x32, which has the same, have bit 30 set in their number."""

WRITE, SIGRETURN, IOCTL, WRITEV, CLONE, KILL, SIGQUEUE, PRCTL, TKILL, RESTART, TGKILL, TGSIGQUEUE = (
    1, 15, 16, 20, 56, 62, 129, 157, 200, 219, 234, 297,
)  # fmt: skip
MMAP, MPROTECT, MUNMAP, SIGACTION, PKEY_MPROTECT = 9, 10, 11, 13, 329
READ, PREAD64, READV, SENDFILE, SENDTO, RECVFROM, SENDMSG, PREADV, GETRANDOM = 0, 17, 19, 40, 44, 45, 46, 295, 318
PERF_EVENT_OPEN, KCMP, SCHED_SETATTR, SECCOMP, BPF, PIDFD_GETFD = 298, 312, 314, 317, 321, 438
"""Those that are met one by one; for others see `sonde.arch.call_numbers`. SIGRETURN is rt_sigreturn,
SIGACTION rt_sigaction, SIGQUEUE
rt_sigqueueinfo, TGSIGQUEUE rt_tgsigqueueinfo, RESTART restart_syscall."""

COMPAT_MODULE = "ia32"
"""What the table of 32-bit calls is called where probes are named."""

COMPAT_MEMBER, COMPAT_BIT, COMPAT_OFFSET = "status", 2, 16
"""Of struct thread_info: what tells whether a thread is in a 32-bit call, by the bit TS_COMPAT; and where it is if the
kernel does not tell, since Linux 5.11 (arch/x86/include/asm/thread_info.h)."""

THREAD_INFO = (
    ("flags", "unsigned long"), ("syscall_work", "unsigned long"), ("status", "unsigned int"), ("cpu", "unsigned int"),
)  # fmt: skip
"""The members of that structure, with their types."""

KERNEL_FUNCTION = "__x64_sys_"
"""What the names of the kernel's functions of 64-bit calls begin with, which take the call's registers in a structure
(CONFIG_ARCH_HAS_SYSCALL_WRAPPER, arch/x86/include/asm/syscall_wrapper.h)."""

FAILING = frozenset((
    0, 1, 19, 20, 23, 40, 42, 43, 44, 45, 46, 47, 65, 69, 70, 128, 208, 220, 232, 270, 271, 275, 278, 281, 285, 288,
    299, 307, 318, 327, 328, 333, 426, 441,
))  # fmt: skip
"""Calls that return EINTR behind a stop: read, write, readv, writev, sendfile, splice, vmsplice, preadv2, pwritev2,
connect, accept, accept4, sendto, recvfrom, sendmsg, recvmsg, sendmmsg, recvmmsg of sockets with limits of time
(socket(7)); select, pselect6, ppoll with a limit in memory that cannot be written to; semop, semtimedop, msgsnd,
msgrcv, rt_sigtimedwait, io_getevents, io_pgetevents, io_uring_enter, epoll_wait, epoll_pwait, epoll_pwait2, fallocate,
getrandom."""

COMPAT_FAILING = frozenset((
    3, 4, 82, 102, 117, 142, 145, 146, 177, 187, 239, 247, 256, 308, 309, 313, 316, 319, 324, 337, 345, 355, 362, 364,
    369, 370, 371, 372, 378, 379, 385, 400, 401, 413, 414, 416, 417, 420, 421, 426, 441,
))  # fmt: skip
"""Those of 32-bit processes: by the same names, with times and offsets of 64 bits, too; _newselect; socketcall and ipc,
which are several calls each."""

INSTRUCTION, INSTRUCTION_SIZE = 0x050F, 2
"""`syscall`, as a number: a 64-bit call was made where it is before the place at which the thread goes on."""

MOVING = {
    READ: (1, 2), WRITE: (1, 2), PREAD64: (1, 2), SENDFILE: (-1, 3), SENDTO: (1, 2), RECVFROM: (1, 2),
    GETRANDOM: (0, 1),
}  # fmt: skip
"""Calls that return what they have moved by then where the thread is to stop: the numbers of the arguments that tell
where the bytes are, -1 if none does, and how many there are."""

PIECEWISE = {READV: READ, WRITEV: WRITE, PREADV: PREAD64, SENDMSG: SENDTO}
"""Those that move a vector of pieces in memory, and the call that moves one piece. Its second and third arguments tell
where that is and its size."""

IO_GETEVENTS, IO_PGETEVENTS, IO_URING_ENTER = 208, 333, 426
"""Those that wait for a number of completions: the first two have it, the number that there is room for, and the place
for them in their second to fourth arguments; the last the number of what is to be submitted, that of completions, and
flags."""

FILE_OFFSET = 3
"""Which argument is the offset in the file, of PREAD64 and PREADV: of the latter its lower 64 bits, which are all."""

UNINTERRUPTED = frozenset((
    3, 4, 5, 6, 8, 9, 10, 11, 12, 13, 14, 21, 22, 24, 25, 27, 28, 32, 33, 39, 41, 51, 52, 55, 60, 63,
    76, 77, 78, 79, 80, 81, 82, 83, 84, 86, 87, 88, 89, 90, 91, 92, 93, 94, 95, 96, 97, 98, 99, 100, 102, 104,
    107, 108, 110, 111, 115, 118, 120, 121, 124, 127, 131, 132, 137, 138, 140, 141, 158, 160, 186, 201, 203, 204,
    217, 218, 221, 228, 229, 231, 233, 258, 260, 262, 263, 264, 265, 266, 267, 268, 269, 273, 274, 280, 290, 291,
    292, 293, 302, 309, 316, 332, 334, 439,
))  # fmt: skip
"""Calls that never end with -ERESTARTSYS, as what they wait for no signal interrupts: of files by name and of what is
known of open ones, memory, numbers of processes and users, clocks, signal masks, making of descriptors, exit. Not read,
write, open, wait and their like.
"""
