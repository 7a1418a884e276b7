"""Programs fired by the embedded engine: who is who, signals, samples, processes that were there before."""

import signal
import subprocess
import sys
import textwrap

import pytest
from support.command.unprivileged import SONDE, sonde, without_privileges

ENGINE = ("--engine", "embedded", "-q")


def python(text):
    """A command for -c that runs these lines."""
    return f'"{sys.executable}" -S -c "{textwrap.dedent(text)}"'


def traced(command, program, *words, **options):
    done = sonde(*ENGINE, *words, "-c", command, "-n", program, **options)
    assert done.stderr == ""
    return done.stdout.split()


def test_a_name_is_followed():
    """prctl(PR_SET_NAME) names the thread; a new program has its own name."""
    text = "import ctypes, os; ctypes.CDLL(None).prctl(15, b'renamed'); os.getppid(); os.execvp('true', ['true'])"
    program = 'syscall::getppid:entry, syscall::exit_group:entry /pid == $target/ { printf("%s ", execname); }'
    assert traced(python(text), program) == ["renamed", "true"]


def test_children_have_their_parents():
    program = 'syscall::exit_group:entry /progenyof($target)/ { printf("%d%d ", pid == $target, ppid == $target); }'
    assert sorted(traced("sh -c '(:); (:); exit 0'", program)) == ["01", "01", "10"]


@pytest.mark.share(1)
@pytest.mark.parametrize(("end", "reason", "status"), [("exit 3", 1, 3), ("kill -TERM $$", 2, 15)])
def test_the_end_of_a_process_has_its_reason(end, reason, status):
    program = 'proc:::exit /pid == $target/ { printf("%d %d", args[0], curpsinfo->pr_wstat); }'
    wait_status = status << 8 if reason == 1 else status
    assert traced(f"sh -c '{end}'", program) == [str(reason), str(wait_status)]


def test_a_process_killed_by_the_program_still_ends():
    program = 'syscall::getppid:entry /pid == $target/ { raise(SIGKILL); } proc:::exit { printf("%d", args[0]); }'
    assert traced(python("import os; os.getppid(); print(1)"), program, "-w") == ["2"]


def test_signals_are_sent_before_they_are_handled():
    program = (
        'proc:::signal-send /args[2] == SIGUSR1/ { printf("sent:%d ", args[1]->pr_pid == pid); }'
        'proc:::signal-handle /args[0] == SIGUSR1/ { printf("handled:%d ", args[1]->_sifields._kill._pid == pid); }'
        'proc:::signal-discard /args[2] == SIGWINCH/ { printf("discarded "); }'
    )
    command = "sh -c 'trap : USR1; kill -USR1 $$; kill -WINCH $$'"
    assert traced(command, program) == ["sent:1", "handled:1", "discarded"]


def test_a_fault_tells_where():
    program = 'proc:::fault { printf("%d %d %x", args[0], args[1]->si_signo, '
    program += "(uintptr_t)args[1]->_sifields._sigfault._addr); }"
    assert traced(python("import ctypes; ctypes.string_at(0x40)"), program) == ["6", "11", "40"]


def test_samples_are_of_threads_that_run():
    """The session ends when there are enough samples: the command never does."""
    program = (
        'profile-499 /pid == $target && arg1/ { n++; } profile-499 /n >= 5/ { exit(0); } END { printf("%d", n >= 5); }'
    )
    assert traced(python("while True: pass"), program) == ["1"]


def test_ticks_need_no_process():
    done = sonde(
        *ENGINE, "-n", 'tick-10ms { n++; } tick-10ms /n == 3/ { printf("%d %d", n, pid == $pid); exit(4); }', status=4
    )
    assert done.stdout.split() == ["3", "1"]


def test_threads_begin_and_end():
    text = "import threading\nts = [threading.Thread(target=int) for _ in range(7)]\nfor t in ts: t.start(); t.join()"
    program = "proc:::lwp-create, proc:::lwp-start, proc:::lwp-exit { @[probename] = count(); }"
    found = traced(python(text), program)
    assert dict(zip(found[::2], found[1::2], strict=True)) == {"lwp-create": "7", "lwp-start": "7", "lwp-exit": "8"}


def test_processes_that_were_there_are_seen_from_begin_on():
    """Two of them, each blocked in a call: what they do once BEGIN has run is all seen, and no call is told twice."""
    waits = [*without_privileges(), "sh", "-c", "read line; read line; exit 0"]
    processes = [subprocess.Popen(waits, stdin=subprocess.PIPE, text=True) for _ in range(2)]
    pids = [word for process in processes for word in ("-p", str(process.pid))]
    program = 'BEGIN { printf("begun\\n"); } syscall::read:entry, syscall::read:return { @[probename, pid] = count(); }'
    tracer = subprocess.Popen(
        [*without_privileges(), SONDE, *ENGINE, *pids, "-n", program], stdout=subprocess.PIPE, text=True
    )
    try:
        assert tracer.stdout.readline() == "begun\n"
        for process in processes:
            process.communicate("ab\ncd\n")
        output = tracer.communicate()[0].split()
    finally:
        tracer.kill()
        tracer.wait()
    assert [process.returncode for process in processes] == [0, 0]
    counts = dict(zip(zip(output[::3], output[1::3], strict=True), output[2::3], strict=True))
    for process in processes:
        # sh reads byte by byte: six in all, of which the first had begun before.
        assert counts["entry", str(process.pid)] == "5"
        assert counts["return", str(process.pid)] == "6"


def test_who_asks_for_the_end_gets_it():
    """SIGTERM ends the session in order: END runs, and the process goes on untouched."""
    process = subprocess.Popen([*without_privileges(), "sh", "-c", "read line; exit 7"], stdin=subprocess.PIPE)
    tracer = subprocess.Popen(
        [*without_privileges(), SONDE, *ENGINE, "-p", str(process.pid), "-n",
         'BEGIN { printf("begun\\n"); } syscall:::entry { n++; } END { printf("end\\n"); }'],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert tracer.stdout.readline() == "begun\n"
    tracer.send_signal(signal.SIGTERM)
    assert "end" in tracer.communicate()[0]
    assert tracer.returncode == 0
    process.communicate(b"x\n")
    assert process.returncode == 7
