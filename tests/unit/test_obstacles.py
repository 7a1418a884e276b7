"""Why ptrace refuses: by a /proc in which Yama and the processes are as each case has them."""

import errno
import os

import pytest

from sonde.engines.embedded.tracer import obstacles

PTRACE = 1 << 19
OTHER = 424242


@pytest.fixture
def root(tmp_path):
    process(tmp_path, os.getpid())
    process(tmp_path, OTHER)
    return tmp_path


def process(root, pid, ppid=1, uid=None, capabilities=0, tracer=0, state="S", seccomp=0, flags=0, gids=None):
    uid = os.getuid() if uid is None else uid
    directory = root / str(pid)
    directory.mkdir(exist_ok=True)
    users = uid if isinstance(uid, tuple) else (uid,) * 4
    (directory / "stat").write_text(f"{pid} (x) {state} {ppid} 0 0 0 0 {flags} " + "0 " * 20)
    (directory / "status").write_text(
        f"Name:\tx\nTgid:\t{pid}\nPid:\t{pid}\nPPid:\t{ppid}\nTracerPid:\t{tracer}\nUid:\t{' '.join(map(str, users))}\n"
        f"Gid:\t5\t5\t5\t5\nCapPrm:\t{capabilities:016x}\nCapEff:\t{capabilities:016x}\nSeccomp:\t{seccomp}\n"
    )


def yama(root, scope):
    (root / "sys/kernel/yama").mkdir(parents=True)
    (root / "sys/kernel/yama/ptrace_scope").write_text(f"{scope}\n")


def refused(root, problem=errno.EPERM):
    return obstacles.after(OTHER, problem, str(root))


def test_yama_1(root):
    yama(root, 1)
    assert refused(root).startswith("kernel.yama.ptrace_scope is 1, which permits ptrace of one's own children only")
    assert "sysctl kernel.yama.ptrace_scope=0" in refused(root)


def test_yama_1_does_not_concern_children(root):
    yama(root, 1)
    process(root, OTHER, ppid=os.getpid())
    assert "yama" not in refused(root)


def test_yama_2(root):
    yama(root, 2)
    assert refused(root).startswith("kernel.yama.ptrace_scope is 2, which permits ptrace with CAP_SYS_PTRACE only")


def test_yama_3_concerns_everybody(root):
    yama(root, 3)
    process(root, os.getpid(), capabilities=PTRACE)
    assert refused(root).startswith("kernel.yama.ptrace_scope is 3, which forbids ptrace to everybody")


@pytest.mark.parametrize("scope", [0, 1, 2])
def test_yama_does_not_concern_the_privileged(root, scope):
    yama(root, scope)
    process(root, os.getpid(), capabilities=PTRACE)
    assert "yama" not in refused(root)


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ({"tracer": 77}, "it is already traced by process 77: end that first"),
        ({"flags": 0x200000}, "it is a thread of the kernel"),
        ({"uid": os.getuid() + 1}, "it belongs to user"),
        ({"uid": (os.getuid(), 0 if os.getuid() else 5, 0, 0)}, "it runs a setuid program, with rights of user"),
        ({"capabilities": 1}, "it has capabilities that this sonde has not"),
        ({"state": "Z"}, "it has ended and only waits for its parent"),
        ({}, "ptrace is not permitted by a security module"),
    ],
)
def test_the_process_itself(root, how, reason):
    process(root, OTHER, **how)
    assert refused(root).startswith(reason)


def test_a_container(root):
    process(root, os.getpid(), seccomp=2)
    assert refused(root).startswith("a seccomp profile refuses ptrace, as containers' default ones do on old kernels")
    assert "--cap-add=SYS_PTRACE" in refused(root)


def test_what_has_ended_meanwhile(root):
    assert refused(root, errno.ESRCH).startswith("it has ended")
    assert obstacles.after(1234567, errno.EPERM, str(root)).startswith("it has ended")


def test_other_errors_are_named(root):
    assert refused(root, errno.EIO) == "Input/output error (ptrace)"
    assert refused(root, errno.ENOSYS).startswith("ptrace(2) is not there")


@pytest.mark.parametrize(("uid_map", "same", "wanted"), [
    ("0 1000 1", False, "it is outside of this user namespace"),
    ("0 1000 1", True, "ptrace is not permitted by a security module"),
    ("0 0 4294967295", False, "ptrace is not permitted by a security module"),
])  # fmt: skip
def test_what_is_outside_of_an_inner_user_namespace(root, uid_map, same, wanted):
    (root / "self").mkdir()
    (root / "self/uid_map").write_text(f"{uid_map:>33}\n")
    for pid in (os.getpid(), OTHER):
        process(root, pid, capabilities=PTRACE)
        (root / str(pid) / "ns").mkdir()
    (root / str(OTHER) / "ns/user").touch()
    own = root / str(os.getpid()) / "ns/user"
    own.hardlink_to(root / str(OTHER) / "ns/user") if same else own.touch()
    assert wanted in refused(root)
