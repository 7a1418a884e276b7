"""Calls that a seccomp filter refuses are seen with their error: a container's, which is there before sonde, and one
that a traced program installs itself."""

import os
import shlex
import subprocess
import sys

import pytest
from support.command.unprivileged import SONDE, sonde, without_privileges
from support.places import SOURCES, SUPPORT, TESTS

EPERM, ENOSYS = 1, 38
CHMOD, UNSHARE, CLONE3 = 90, 272, 435
PERF_EVENT_OPEN, SECCOMP, PIDFD_OPEN, PIDFD_GETFD = 298, 317, 434, 438
"""What Docker's default profile refuses without capabilities, and what older ones do."""


def below(refused, *words, action=0x00050000 | EPERM):
    """Run the command below a filter that refuses those calls; gives the finished process."""
    start = f"refuse({list(refused)}, {action}); os.execvp({SONDE!r}, {['sonde', *words]!r})"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DTRACE_")}
    environment |= {"PYTHONPATH": f"{SOURCES}:{TESTS}", "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [*without_privileges(), sys.executable, str(SUPPORT / "command/refused_calls.py"), "0", "", start],
        capture_output=True, text=True, env=environment,
    )  # fmt: skip


def python(text):
    """The command that runs it."""
    return shlex.join([sys.executable, "-c", text])


CHANGE = python("import os\ntry: os.chmod('/nowhere', 448)\nexcept OSError as e: print(e.errno)")
COUNT = """
syscall::chmod:entry { printf("entry %s\\n", copyinstr(arg0)); }
syscall::chmod:return { printf("return %d %d\\n", (int)arg0, errno); }
"""


@pytest.mark.share(1)
@pytest.mark.parametrize("options", [[], ["-xseccomp=no"]])
@pytest.mark.parametrize("error", [EPERM, ENOSYS])
def test_what_the_profile_of_a_container_refuses(error, options, tmp_path):
    out = tmp_path / "out"
    done = below([CHMOD], "-qn", COUNT, *options, "-o", str(out), "-c", CHANGE, action=0x00050000 | error)
    assert (done.returncode, done.stdout) == (0, f"{error}\n"), done.stderr
    assert out.read_text().split("\n")[:2] == ["entry /nowhere", f"return -{error} {error}"]


def test_entries_alone_are_seen_too(tmp_path):
    out = tmp_path / "out"
    text = "syscall::chmod:entry, syscall::clone3:entry, syscall::unshare:entry { @[probefunc] = count(); }"
    command = "sh -c 'unshare -r true; chmod 700 /nowhere; true'"
    done = below([CHMOD, 268, 452, UNSHARE, CLONE3], "-qn", text, "-o", str(out), "-c", command)
    assert done.returncode == 0, done.stderr
    assert "unshare 1" in " ".join(out.read_text().split())


def test_v_says_that_each_call_stops():
    done = below([CHMOD], "-qv", "--engine", "embedded", "-n", "syscall::chmod:entry { @ = count(); }", "-c", "true")
    assert "sonde runs below a seccomp filter" in " ".join(done.stderr.split())
    assert "no_new_privs" not in done.stderr


def test_a_program_that_asks_for_no_calls_costs_the_same_there(tmp_path):
    """Only calls can be refused."""
    text = 'proc:::exec-success { @["exec"] = count(); } proc:::exit { @["exit"] = count(); }'
    command = "sh -c '/bin/true; /bin/true; exit 5'"
    done = below([CHMOD], "-qn", text, "-o", str(tmp_path / "out"), "-c", command)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out").read_text().split() == ["exec", "2", "exit", "3"]


OWN = f"""
import ctypes, os, sys
sys.path[:0] = [{str(SOURCES)!r}, {str(TESTS)!r}]
from support.command.refused_calls import refuse
def change():
    try: os.chmod("/nowhere", 448)
    except OSError as e: print(e.errno, flush=True)
change()
refuse([{CHMOD}])
change()
if os.fork() == 0:
    change()
    os._exit(0)
os.wait()
again = "import os\\ntry: os.chmod('/nowhere', 448)\\nexcept OSError as e: print(e.errno)"
os.execv(sys.executable, [sys.executable, "-c", again])
"""


@pytest.mark.share(1)
@pytest.mark.parametrize("text", ["entry", "return", "both"])
def test_what_a_program_forbids_itself(text, tmp_path):
    (tmp_path / "own.py").write_text(OWN)
    clauses = {
        "entry": "syscall::chmod:entry { @a[2] = count(); }",
        "return": "syscall::chmod:return { @a[errno] = count(); }",
        "both": "syscall::chmod:entry { @[copyinstr(arg0)] = count(); } syscall::chmod:return { @b[errno] = count(); }",
    }[text]
    done = sonde("-qn", clauses, "-o", str(tmp_path / "out"), "-c", shlex.join([sys.executable, f"{tmp_path}/own.py"]))
    assert done.stdout.split() == ["2", "1", "1", "1"]
    words = (tmp_path / "out").read_text().split()
    expected = {
        "entry": ["2", "4"], "return": ["2", "1", "1", "3"], "both": ["/nowhere", "4", "2", "1", "1", "3"]
    }  # fmt: skip
    assert words == expected[text]


@pytest.mark.share(1)
@pytest.mark.parametrize(
    "refused", [[SECCOMP], [PIDFD_OPEN], [PIDFD_GETFD], [SECCOMP, PIDFD_OPEN, PIDFD_GETFD, PERF_EVENT_OPEN]]
)
@pytest.mark.parametrize("error", [EPERM, ENOSYS])
def test_older_kernels_and_profiles_lack_calls(refused, error, tmp_path):
    """Nothing fails, nothing is different."""
    out = tmp_path / "out"
    text = "syscall::getppid:entry, syscall::write:return { @[probefunc] = count(); }"
    command = python("import os; [os.getppid() for _ in range(17)]; os.write(1, b'7\\n')")
    done = below(refused, "-qn", text, "-o", str(out), "-c", command, action=0x00050000 | error)
    assert (done.returncode, done.stdout) == (0, "7\n"), done.stderr
    assert out.read_text().split() == ["write", "1", "getppid", "17"]
