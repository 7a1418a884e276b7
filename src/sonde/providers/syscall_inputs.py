"""Which of its arguments a system call only reads from the memory of the process: what the process has put there is
still there when the call returns.

The tables of calls have the arguments as the kernel's definitions do (SYSCALL_DEFINEn), where a pointer to something
constant is an input. The definitions leave out `const` here and there; the manual pages, section 2, tell.
"""

from __future__ import annotations

from sonde.model.probe import CHANGES_NOTHING

_INPUTS = {
    "bind": "umyaddr", "clock_nanosleep": "rqtp", "clone3": "uargs", "connect": "uservaddr", "epoll_ctl": "event",
    "file_setattr": "ufattr", "kexec_load": "segments", "mount": "dev_name dir_name type data",
    "mount_setattr": "uattr", "mq_open": "u_attr", "msgsnd": "msgp", "nanosleep": "rqtp",
    "open_by_handle_at": "handle", "openat2": "how",
    "open_tree_attr": "uattr", "pidfd_send_signal": "info", "ppoll": "tsp", "rt_sigprocmask": "nset",
    "rt_sigqueueinfo": "uinfo", "rt_sigsuspend": "unewset", "rt_tgsigqueueinfo": "uinfo",
    "sched_setaffinity": "user_mask_ptr", "sched_setattr": "uattr", "sched_setparam": "param",
    "sched_setscheduler": "param", "seccomp": "uargs", "semop": "tsops", "semtimedop": "tsops", "sendmsg": "msg",
    "sendto": "buff addr", "setdomainname": "name", "setgroups": "grouplist", "sethostname": "name",
    "setitimer": "value", "setrlimit": "rlim", "setsockopt": "optval", "settimeofday": "tv tz",
    "shmdt": "shmaddr", "signalfd": "user_mask", "signalfd4": "user_mask", "stime": "tptr", "init_module": "umod",
    "perf_event_open": "attr_uptr", "set_robust_list": "head", "umount": "name", "utime": "filename times",
    "utimensat": "utimes", "utimes": "filename utimes", "futimesat": "utimes", "reboot": "arg",
}  # fmt: skip
"""Arguments that are inputs though they are not declared as constant, by the function's name."""

_BEHIND = frozenset(
    {
        "arch_prctl", "bpf", "brk", "clone", "fcntl", "io_getevents", "io_uring_enter", "ioctl", "ipc",
        "keyctl", "madvise", "mmap", "mmap2", "mmap_pgoff", "mprotect", "mremap", "msgctl", "munmap",
        "pkey_mprotect", "prctl", "preadv", "preadv2", "process_madvise", "process_vm_readv", "ptrace",
        "readv", "remap_file_pages", "semctl", "shmctl", "vm86", "vmsplice",
    }
)  # fmt: skip
"""Calls that change memory though no argument of theirs is declared as a pointer to it: through what an input points
to, through a number, or by mapping something else there."""

_NEVER_RETURN = frozenset({"exit", "exit_group", "rt_sigreturn", "sigreturn"})


def inputs(name: str, arguments: str | None) -> int:
    """`probe.Syscall.inputs` of the function `name`; `arguments` are `type name, type name`, None if not known."""
    if arguments is None or name in _NEVER_RETURN:
        return 0
    if "*" not in arguments:
        return 0 if name in _BEHIND else CHANGES_NOTHING
    also = _INPUTS.get(name, "").split()
    found, changes = 0, name in _BEHIND
    for number, (kind, _, called) in enumerate(each.rpartition(" ") for each in arguments.split(", ")):
        if "*" not in kind:
            continue
        if kind.startswith("const") or called in also:
            found |= 1 << number
        else:
            changes = True
    return found if changes else found | CHANGES_NOTHING
