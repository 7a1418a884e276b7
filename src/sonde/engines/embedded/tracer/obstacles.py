"""Why a process cannot be traced: one sentence each, with what would help.

The rules are those of ptrace(2), "Ptrace access mode checking", of Documentation/admin-guide/LSM/Yama.rst, and of
containers, whose seccomp profiles refuse ptrace by EPERM.
"""

from __future__ import annotations

import errno
import os
import pwd
import time

from sonde import others
from sonde.arch import call_numbers
from sonde.machine import proc
from sonde.untrusted import read_kernel

_SYS_PTRACE = 1 << 19
_EXECS = "execve", "execveat"
_EXEC, _AGAIN = 2.0, 0.005
"""Seconds that executing a program may take, and between two looks."""

_CONTAINER = "with Docker: --cap-add=SYS_PTRACE, or --security-opt seccomp=unconfined"


def before(pid: int, root: str = "/proc") -> str:
    """Why there is nothing to trace under that pid, "" if there is something."""
    try:
        status, stat = proc.status(pid, root), proc.stat(pid, root)
    except (FileNotFoundError, ProcessLookupError):
        return f"no process has this number: `ps -e` lists those there are{_of_namespace(root)}"
    if status["Tgid"] != str(pid):
        return f"it is a thread: trace its process by -p {status['Tgid']}"
    if proc.is_kernel_thread(stat):
        return "it is a thread of the kernel, which makes no system calls: trace it as root, by --engine kernel"
    if pid == os.getpid():
        return "it is sonde itself: trace it from another sonde"
    if status.get("TracerPid", "0") != "0":
        return f"it is already traced by {_name(int(status['TracerPid']), root)}: end that first"
    if _stays_in_exec(pid, root):
        return (
            "it is executing a file whose server (FUSE, a network) does not answer, and ptrace(2) would wait for the "
            "end of that: end the server, or try again later"
        )
    return ""


def _stays_in_exec(pid: int, root: str) -> bool:
    """PTRACE_SEIZE waits for who executes a program, without a signal that would end it (cred_guard_mutex)."""
    end = time.monotonic() + _EXEC
    while _is_in_exec(pid, root):
        if time.monotonic() >= end:
            return True
        time.sleep(_AGAIN)
    return False


def _is_in_exec(pid: int, root: str) -> bool:
    try:
        threads = others.listed(f"{root}/{pid}/task")
    except OSError:
        return False  # it has ended
    return any(_call(f"{root}/{pid}/task/{each}/syscall") in call_numbers.native(*_EXECS) for each in threads)


def _call(path: str) -> int:
    """The number of the system call that a thread waits in (proc_pid_syscall(5)), -1 if it is in none or may not be
    looked at."""
    try:
        number = read_kernel(path).partition(b" ")[0]
    except OSError:
        return -1
    return int(number) if number.isdigit() else -1


def after(pid: int, problem: int, root: str = "/proc") -> str:
    """Why ptrace has refused the process or command with that errno."""
    if problem == errno.ESRCH:
        return "it has ended: start it once more, under sonde by -c"
    if problem == errno.ENOSYS:
        return "ptrace(2) is not there: the kernel was built without it, or a sandbox like gVisor leaves it out"
    if problem not in (errno.EPERM, errno.EACCES):
        return f"{os.strerror(problem)} (ptrace)"
    try:
        status, stat, own = proc.status(pid, root), proc.stat(pid, root), proc.status(os.getpid(), root)
    except (FileNotFoundError, ProcessLookupError):
        return after(pid, errno.ESRCH)
    if stat.state in "ZX":
        return proc.ENDED
    return before(pid, root) or _refused(pid, status, own, root)


def _refused(pid: int, status: dict[str, str], own: dict[str, str], root: str) -> str:
    scope = _scope(root)
    if scope == 3:
        return (
            "kernel.yama.ptrace_scope is 3, which forbids ptrace to everybody until the machine is booted with another"
        )
    privileged = bool(int(own["CapEff"], 16) & _SYS_PTRACE)
    if scope == 2 and not privileged:
        return (
            "kernel.yama.ptrace_scope is 2, which permits ptrace with CAP_SYS_PTRACE only: be root, or set "
            "`sysctl kernel.yama.ptrace_scope=1` for -c, =0 for -p"
        )
    if not privileged and (reason := _other_rights(pid, status, own, root)):
        return reason
    if scope == 1 and not privileged and status["PPid"] != str(os.getpid()):
        return (
            "kernel.yama.ptrace_scope is 1, which permits ptrace of one's own children only: start it by -c, be root, "
            "or set `sysctl kernel.yama.ptrace_scope=0`"
        )
    if own.get("Seccomp") == "2":
        return f"a seccomp profile refuses ptrace, as containers' default ones do on old kernels: {_CONTAINER}"
    if _is_inner(root) and _is_outside(pid, root):
        return (
            "it is outside of this user namespace, whose root and capabilities count inside of it alone: trace it from "
            "the namespace that it is in"
        )
    if not privileged and int(status["CapPrm"], 16) & ~int(own["CapPrm"], 16):
        return "it has capabilities that this sonde has not: be root, or in a container add CAP_SYS_PTRACE"
    return "ptrace is not permitted by a security module (SELinux: `setsebool deny_ptrace off`; AppArmor: its profile)"


def _other_rights(pid: int, status: dict[str, str], own: dict[str, str], root: str) -> str:
    """All user ids of the process must be the tracer's, and it must be willing to dump core."""
    real, effective, saved, _ = status["Uid"].split()
    caller = own["Uid"].split()[3]
    if len({real, effective, saved}) > 1 or status["Gid"].split()[:3] != status["Gid"].split()[:1] * 3:
        return f"it runs a setuid program, with rights of user {effective}, and is protected from user {real}: be root"
    if real != caller:
        return f"it belongs to user {_user(int(real))}: be that user, or root"
    if os.stat(f"{root}/{pid}/stat").st_uid != int(caller):
        return "it runs a setuid or unreadable program, or has made itself untraceable (PR_SET_DUMPABLE): be root"
    return ""


def _is_inner(root: str) -> bool:
    """Whether sonde is in a user namespace that has not all users (user_namespaces(7))."""
    try:
        return read_kernel(f"{root}/self/uid_map").split() != [b"0", b"0", b"4294967295"]
    except OSError:
        return False


def _is_outside(pid: int, root: str) -> bool:
    """Whether the process is of another user namespace, or that is not even to be told."""
    try:
        return proc.namespace(pid, "user", root) != proc.namespace(os.getpid(), "user", root)
    except PermissionError:
        return True
    except OSError:
        return False


def memory(problem: int) -> str:
    """Why a traced process's memory cannot be read or written."""
    return (
        f"process_vm_readv(2) and /proc/PID/mem refuse a traced process's memory ({os.strerror(problem)}), as "
        f"containers' profiles do: {_CONTAINER}"
    )


def _scope(root: str) -> int:
    """0 where there is no Yama."""
    try:
        return int(read_kernel(f"{root}/sys/kernel/yama/ptrace_scope"))
    except (OSError, ValueError):
        return 0


def _name(pid: int, root: str) -> str:
    try:
        return f"process {pid} ({proc.stat(pid, root).comm.decode(errors='replace')})"
    except (FileNotFoundError, ProcessLookupError):
        return f"process {pid}"


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _of_namespace(root: str) -> str:
    return "" if root != "/proc" or proc.is_own() else " (and /proc here is of another pid namespace)"
