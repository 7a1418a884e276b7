"""Which capabilities suffice, and what is said where they are missing."""

import re
import subprocess

import pytest
from support.command import other_user
from support.command.command import environment
from support.machine.access import needs
from support.machine.activity import activity

pytestmark = needs("CAP_SETUID", "CAP_SYS_ADMIN")


def sonde(*words, **options):
    return other_user.run(*words, environment=environment(), **options)


BOTH = ("bpf", "perfmon")


def test_two_capabilities_run_the_first_program_of_the_readme():
    """Without -c, and with the command too; what can be named is named, without tracefs."""
    with activity():
        done = sonde("-qn", "syscall:::entry { @[probefunc] = count(); } tick-200ms { exit(0); }", capabilities=BOTH)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.split()) > 2
    text = "syscall:::entry /pid == $target/ { @[probefunc] = count(); }"
    done = sonde("-qc", "ls -l /", "-n", text, capabilities=BOTH)
    assert done.returncode == 0, done.stderr
    assert "statx" in done.stdout or "newfstatat" in done.stdout


@pytest.mark.long
def test_two_capabilities_trace_a_process_of_ones_own():
    """-p of a process of the same user ends with it."""
    process = subprocess.Popen(["sleep", "1.5"], user=other_user.NOBODY, group=other_user.NOBODY)
    try:
        text = "syscall:::entry /pid == $target/ { @[probefunc] = count(); } END { trace($target); }"
        done = sonde("-qp", str(process.pid), "-n", text, capabilities=BOTH)
    finally:
        process.kill()
        process.wait()
    assert done.returncode == 0, done.stderr
    assert str(process.pid) in done.stdout
    assert "exit_group" in done.stdout


@pytest.mark.share(1)
@pytest.mark.parametrize(
    "probe",
    [
        "sdt:sched::sched_switch { @[probemod, probename, args[1]->pid >= 0] = count(); }",
        "sdt:::sched_switch { @[probename] = count(); }",
        "sdt::: { @[probename] = count(); }",
        'rawtp:::sched_switch { @[stringof(args[1]->comm) != ""] = count(); }',
        "profile-97 { @[stack(2)] = count(); }",
        "sched_switch { @[curthread->pid >= 0] = count(); }",
    ],
)
def test_sdt_and_others_work_by_btf(probe):
    with activity():
        done = sonde("-qn", probe + " tick-200ms { exit(0); }", capabilities=BOTH)
    # Tracing everything meets itself, which is told.
    complaints = [line for line in done.stderr.splitlines() if "nested firing drop" not in line]
    assert (done.returncode, complaints) == (0, [])
    assert done.stdout.split()


@pytest.mark.parametrize(
    ("given", "missing"), [((), "CAP_BPF and CAP_PERFMON"), (("bpf",), "CAP_PERFMON"), (("perfmon",), "CAP_BPF")]
)
def test_what_is_missing_is_said_once(given, missing, tmp_path):
    """One message with what to do, no output, dtrace's status; a command is not even started."""
    tmp_path.chmod(0o777)
    done = sonde("--engine", "kernel", "-c", f"touch {tmp_path}/made", "-n", "BEGIN { exit(0); }", capabilities=given)
    assert (done.returncode, done.stdout) == (2, "")
    first, second = done.stderr.splitlines()
    assert first == f"sonde: tracing is not permitted: this user lacks {missing}"
    assert "root" in second
    assert "doctor" in second
    assert not list(tmp_path.iterdir())


@pytest.mark.share(1)
@pytest.mark.parametrize(
    ("given", "hook", "missing"),
    [((), "auto", "CAP_NET_RAW"), (("net_raw",), "auto", None), (("net_admin",), "auto", None),
     (("net_raw",), "generic", "CAP_NET_ADMIN")],
)  # fmt: skip
def test_packets_take_a_capability_of_the_network(given, hook, missing):
    option = () if hook == "auto" else (f"-xxdp={hook}",)
    text = "packet:lo:ingress: { @ = count(); } tick-100ms { exit(0); }"
    done = sonde("-q", *option, "-n", text, capabilities=(*BOTH, *given))
    assert done.returncode == (1 if missing else 0), done.stderr
    assert (f"CAP_PERFMON and {missing}\n" in done.stderr) == (missing is not None)


def test_listing_and_compiling_need_nothing():
    assert sonde("-ln", "syscall::getpid:entry").returncode == 0
    assert sonde("--engine", "kernel", "-ln", "sdt:::sched_switch").stdout.count("sched_switch") == 1
    assert sonde("-e", "-n", "sdt:::sched_switch { trace(args[1]->pid); }").returncode == 0
    assert re.search(r"^CAP_BPF +no", sonde("doctor", "-v").stdout, re.MULTILINE)
