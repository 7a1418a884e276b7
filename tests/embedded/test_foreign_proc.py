"""In namespaces of others: no name of another process is told, and the cause of a refusal is the right one."""

import os
import subprocess

import pytest
from support.command.unprivileged import SONDE

ENGINE = [SONDE, "--engine", "embedded", "-qn"]


def within(*words):
    """Run it in new namespaces: `unshare` and its options, then the command. Skips where the user may not."""
    options = [] if os.getuid() == 0 else ["-Ur"]
    if subprocess.run(["unshare", *options, "-pf", "true"], capture_output=True).returncode:
        pytest.skip("this user may not make namespaces")
    return subprocess.run(["unshare", *options, *words], capture_output=True, text=True)


@pytest.mark.share(1)
@pytest.mark.parametrize(
    "text",
    [
        "syscall:::entry { trace(execname); }",
        "proc:::exit { trace(curpsinfo->pr_ppid); }",
        "profile-97 { trace(execname); }",
    ],
)
def test_the_proc_of_another_pid_namespace_is_not_used(text):
    done = within("-pf", *ENGINE, text, "-c", "true")
    assert (done.returncode, done.stdout) == (1, "")
    message = " ".join(done.stderr.split())
    assert "/proc is of another pid namespace" in message
    assert "unshare --mount-proc" in message


def test_one_of_its_own_is():
    done = within(
        "-pf",
        "--mount-proc",
        *ENGINE,
        "proc:::exit { trace(execname); trace(pid == $target); }",
        "-c",
        "sh -c 'exit 0'",
    )
    assert (done.returncode, done.stdout.split()) == (0, ["sh1"]), done.stderr


def test_a_process_outside_of_an_inner_user_namespace():
    if subprocess.run(["unshare", "-Ur", "true"], capture_output=True).returncode:
        pytest.skip("this user may not make user namespaces")
    done = subprocess.run(
        ["unshare", "-Ur", *ENGINE, "syscall:::entry { @ = count(); }", "-p", "1"], capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "it is outside of this user namespace" in " ".join(done.stderr.split())
