"""What docs/embedded.md and the README say of users without privileges, as such a user finds it."""

import contextlib
import os
import re
import select
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support.command.guarded import comes
from support.command.unprivileged import SONDE, sonde, without_privileges

ROOT = Path(__file__).parents[2]
WHY = "sonde: using the embedded engine: this user lacks CAP_BPF and CAP_PERFMON\n"


def test_the_first_command_of_the_readme_works():
    line = next(line for line in (ROOT / "README.md").read_text().splitlines() if ".venv/bin/sonde -c" in line)
    words = shlex.split(line.rpartition("&& .venv/bin/sonde")[2])
    done = sonde(*words)
    counts = re.findall(r"^  (\w+) +(\d+)$", done.stdout, re.MULTILINE)
    assert int(dict(counts)["openat"]) > 3
    assert done.stderr.startswith(WHY), done.stderr


def test_one_line_says_why_with_q_too():
    done = sonde("-qn", 'BEGIN { printf("here"); exit(3); }', status=3)
    assert (done.stdout.split(), done.stderr) == (["here"], WHY)


@pytest.mark.share(1)
@pytest.mark.parametrize("words", [["--engine", "embedded"], ["-x", "engine=embedded"], ["--engine=embedded"]])
def test_who_asks_for_it_is_told_nothing(words):
    done = sonde(*words, "-qn", "BEGIN { trace(cpu); exit(0); }")
    assert (done.stdout.split(), done.stderr) == (["0"], "")


def test_what_is_listed_is_what_can_fire():
    done = sonde("-l")
    assert done.stderr == (
        "sonde: listing the probes of the embedded engine: this user lacks CAP_BPF and CAP_PERFMON; "
        "`--engine kernel -l` lists the kernel's\n"
    )
    listed = done.stdout.splitlines()
    assert listed == sonde("--engine", "embedded", "-l").stdout.splitlines()
    wanted = {"cpc", "dtrace", "perf", "proc", "profile", "rawtp", "sched", "syscall"}
    assert {line.split()[1] for line in listed[1:]} == wanted
    assert len(sonde("--engine", "kernel", "-l").stdout.splitlines()) > len(listed)


def test_nothing_is_announced_that_does_not_run():
    done = sonde("--engine", "embedded", "-n", "syscall:::entry", status=1)
    assert "matched" not in done.stderr
    assert "syscall probes need -c or -p" in done.stderr


def test_the_kernel_is_refused_in_one_message():
    done = sonde("--engine", "kernel", "-qn", "BEGIN { exit(0); }", status=2)
    assert "this user lacks CAP_BPF and CAP_PERFMON" in done.stderr
    assert "--engine embedded" in done.stderr


@pytest.mark.share(1)
@pytest.mark.parametrize(
    "text",
    [
        "BEGIN { trace(curthread->pid); }",
        "BEGIN { stack(); }",
        "BEGIN { trace(getf(0)->f_pos); }",
        "BEGIN { trace(`max_pfn); }",
        "BEGIN { trace(d_path((struct path *)0)); }",
        "io:::start { }",
        "fbt:::entry { }",
        "syscall:::entry { }",
        "proc:::exit { }",
        "profile-97 { }",
        "sched:::off-cpu { }",
        "sched:::o* { }",
        "proc:::signal-clear { }",
        "proc:::signal-handle { trace(arg2); }",
        "proc:::signal-handle { trace(args[2]); }",
        "rawtp:::block_rq_issue { }",
        "syscall:ia32:open:entry { }",
    ],
)
def test_what_only_the_kernel_has_is_refused_with_what_would_help(text):
    done = sonde("--engine", "embedded", "-qn", text, status=1)
    assert "the kernel engine (root, or CAP_BPF and CAP_PERFMON)" in " ".join(done.stderr.split())
    assert "this kernel" not in done.stderr
    assert "did you mean" not in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.share(1)
@pytest.mark.parametrize("member", ["pr_start.tv_sec", "pr_time.tv_nsec", "pr_nice", "pr_clname"])
def test_a_member_that_the_engine_cannot_tell_is_refused_where_it_is_written(member):
    text = f"BEGIN {{ trace(curlwpsinfo->{member}); }}"
    done = sonde("--engine", "embedded", "-qn", text, status=1)
    told = " ".join(done.stderr.split())
    assert re.search(r"not a member of struct task_struct, which the D library needs for this command line:1:\d+", told)
    assert text in told
    assert "procfs.d" not in told


def test_a_program_for_both_counts_a_family(tmp_path):
    text = """
    syscall::write:entry /pid == $target || progenyof($target)/ { @[execname, pid == $target] = count(); }
    """
    done = sonde("-qn", text, "-o", str(tmp_path / "out"), "-c", "sh -c 'echo a; /bin/echo b; (/bin/echo c)'")
    assert done.stdout.split() == ["a", "b", "c"]
    assert [line.split() for line in (tmp_path / "out").read_text().split("\n") if line.strip()] == [
        ["sh", "1", "1"],
        ["echo", "0", "2"],
    ]


@pytest.mark.share(1)
@pytest.mark.parametrize(("options", "wanted"), [([], "1"), (["-xseccomp=no"], "0")])
def test_a_command_keeps_no_new_privileges_unless_seccomp_is_off(options, wanted):
    text = "syscall::getpgid:entry { @ = count(); }"
    done = sonde("-qn", text, *options, "-c", "grep NoNewPrivs /proc/self/status")
    assert done.stdout.split()[:2] == ["NoNewPrivs:", wanted]


def test_a_process_of_p_gets_no_filter():
    waits = "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1]); print('ready', flush=True); "
    waits += "signal.sigwait([signal.SIGUSR1]); print(open('/proc/self/status').read())"
    process = subprocess.Popen([*without_privileges(), sys.executable, "-c", waits], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    text = 'BEGIN { system("kill -USR1 %d", $target); } syscall::exit_group:entry /pid == $target/ { trace(arg0); }'
    assert sonde("-qwn", text, "-p", str(process.pid)).stdout.split() == ["0"]
    status = dict(line.split(":", 1) for line in process.communicate()[0].splitlines() if ":" in line)
    assert (status["NoNewPrivs"].strip(), status["Seccomp"].strip(), process.returncode) == ("0", "0", 0)


def test_memory_of_the_process_is_changed(tmp_path):
    program = "import ctypes, os; text = ctypes.create_string_buffer(b'before'); "
    program += "ctypes.CDLL(None).syscall(121, text); print(text.value.decode())"
    text = 'syscall::getpgid:entry { printf("%s", copyinstr(arg0)); copyoutstr("after!", arg0, 7); }'
    script = tmp_path / "program.py"
    script.write_text(program)
    done = sonde("-wqn", text, "-o", str(tmp_path / "out"), "-c", f"'{sys.executable}' {script}")
    assert (done.stdout, (tmp_path / "out").read_text().strip()) == ("after!\n", "before")


RUNS_ON = """
import os, signal, sys
asked = []
signal.signal(signal.SIGTERM, lambda *_: asked.append(1))
with open(sys.argv[1], "w") as out:
    print(os.getpid(), file=out, flush=True)
    while not asked:
        os.getpgid(0)
    # Calls that were probed go on as before, whoever has the filter now.
    groups = [os.getpgid(0) for _ in range(1000)]
    print(set(groups) == {os.getpgrp()}, "the end", file=out)
"""


def test_a_process_ends_as_it_would_and_is_let_go_by_an_early_exit(tmp_path):
    """exit() ends the tracing; the command of -c is asked to end with the session, as with the kernel engine."""
    text = "syscall::getpgid:entry /++n == 3/ { exit(5); }"
    program, out = tmp_path / "program.py", tmp_path / "out"
    program.write_text(RUNS_ON)
    sonde("-qn", text, "-c", f"'{sys.executable}' {program} {out}", status=5)
    pid, _, rest = comes(lambda: (parts := out.read_text().partition("\n"))[2] and parts)
    assert int(pid) > 1
    assert rest == "True the end\n"


def test_a_process_of_p_lives_on_after_the_session():
    with subprocess.Popen([*without_privileges(), "sleep", "60"]) as process:
        sonde("-qn", "tick-100ms { exit(0); }", "-p", str(process.pid))
        with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
            status = dict(line.split(":", 1) for line in file)
        assert status["TracerPid"].strip() == "0"
        assert status["State"].split()[0] == "S"
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(10) == -signal.SIGTERM


@pytest.mark.share(1)
@pytest.mark.parametrize("is_command", [True, False])
def test_killing_the_guardian_ends_commands_and_nobody_else(is_command):
    program = 'syscall::openat:entry { @ = count(); } BEGIN { printf("ready\\n"); }'
    with contextlib.ExitStack() as stack:
        target = stack.enter_context(subprocess.Popen([*without_privileges(), "sleep", "60"]))
        stack.callback(target.kill)
        words = ["-c", "sleep 61"] if is_command else ["-p", str(target.pid)]
        command = [*without_privileges(), SONDE, "--engine", "embedded", "-qn", program, *words]
        tracer = stack.enter_context(
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        )
        assert tracer.stdout.readline() == "ready\n"
        with open(f"/proc/{tracer.pid}/task/{tracer.pid}/children", encoding="ascii") as file:
            children = {name(int(pid)): int(pid) for pid in file.read().split()}
        traced = children.get("sleep", target.pid)
        ended = os.pidfd_open(traced)
        stack.callback(os.close, ended)
        os.kill(children["sonde-guardian"], signal.SIGKILL)
        _, errors = tracer.communicate()
        assert (tracer.returncode, "the guardian" in errors) == (1, True)
        # A process of -p is there, and not traced.
        assert bool(select.select([ended], (), (), 30 if is_command else 0)[0]) == is_command
        if not is_command:
            with open(f"/proc/{traced}/status", encoding="ascii") as file:
                assert "TracerPid:\t0\n" in file.read()


def name(pid):
    with open(f"/proc/{pid}/comm", encoding="ascii") as file:
        return file.read().strip()


@pytest.mark.share(1)
@pytest.mark.parametrize("size", [0, 1, 4, 6, 7, 8, 16])
@pytest.mark.parametrize("as_variable", [False, True])
def test_a_string_that_is_cut_has_no_end(tmp_path, size, as_variable):
    """As in DTrace: at most so many bytes are written, and the NUL is one of them only where it fits."""
    program = "import ctypes, os; text = ctypes.create_string_buffer(b'-' * 16, 16); "
    program += "ctypes.CDLL(None).syscall(121, text); print(text.raw.decode().replace('\\0', '|'))"
    given = "s" if as_variable else '"after!"'
    text = f'BEGIN {{ s = "after!"; n = {size}; }} syscall::getpgid:entry {{ copyoutstr({given}, arg0, n); }}'
    script = tmp_path / "program.py"
    script.write_text(program)
    done = sonde("-wqn", text, "-o", str(tmp_path / "out"), "-c", f"'{sys.executable}' {script}")
    assert done.stdout == "after!\0".replace("\0", "|")[:size].ljust(16, "-") + "\n"
