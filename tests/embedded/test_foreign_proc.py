"""In namespaces of others: no name of another process is told, and the cause of a refusal is the right one."""

import subprocess

import pytest
from support.command.unprivileged import SONDE
from support.machine.namespaces import unshared

ENGINE = [SONDE, "--engine", "embedded", "-qn"]


def within(*words):
    """Run it in new namespaces: options of `unshare`, then the command."""
    return subprocess.run([*unshared("-pf"), *words], capture_output=True, text=True)


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
    done = within(*ENGINE, text, "-c", "true")
    assert (done.returncode, done.stdout) == (1, "")
    message = " ".join(done.stderr.split())
    assert "/proc is of another pid namespace" in message
    assert "unshare --mount-proc" in message


def test_one_of_its_own_is():
    done = within(
        "--mount-proc",
        *ENGINE,
        "proc:::exit { trace(execname); trace(pid == $target); }",
        "-c",
        "sh -c 'exit 0'",
    )
    assert (done.returncode, done.stdout.split()) == (0, ["sh1"]), done.stderr


def test_a_process_outside_of_an_inner_user_namespace():
    words = [*unshared(in_user_namespace=True), *ENGINE, "syscall:::entry { @ = count(); }", "-p", "1"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 1
    assert "it is outside of this user namespace" in " ".join(done.stderr.split())
