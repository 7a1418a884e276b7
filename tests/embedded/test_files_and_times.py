"""fds[], cwd, root and vtimestamp without privileges: what they are when the probe fires, and what is refused."""

import shlex
import signal
import subprocess
import sys
import time

import pytest
from support.command.unprivileged import SONDE, sonde, without_privileges


def traced(tmp_path, text, program, *options, status=0):
    """What sonde says of a Python program, and what the program itself has written."""
    script, out = tmp_path / "program.py", tmp_path / "out"
    script.write_text(program)
    command = shlex.join([sys.executable, str(script)])
    done = sonde("--engine", "embedded", "-qn", text, *options, "-o", str(out), "-c", command, status=status)
    return [line for line in out.read_text().splitlines() if line], done


CHANGING = """
import ctypes, os
getpgid = ctypes.CDLL(None).getpgid
kinds = [os.open(name, os.O_RDWR | os.O_CREAT) for name in ("one", "two")] + list(os.pipe())
places = ["/usr", "/etc"]
for turn in range(300):
    os.dup2(kinds[turn % 4], 99)
    os.lseek(kinds[0], turn, 0)
    os.chdir(places[turn % 2])
    getpgid(99)
    os.close(99)
    os.chdir("/")
"""


@pytest.mark.share(1)
@pytest.mark.parametrize("seccomp", ["yes", "no"])
def test_values_are_those_at_the_probe(tmp_path, monkeypatch, seccomp):
    """What a descriptor is, where and how far changes before and behind each call."""
    monkeypatch.chdir(tmp_path)
    text = """
    syscall::getpgid:entry { printf("%s %d %s\\n", fds[arg0].fi_pathname, fds[arg0].fi_offset, cwd); }
    """
    lines, _ = traced(tmp_path, text, CHANGING, f"-xseccomp={seccomp}")
    names = [f"{tmp_path}/one", f"{tmp_path}/two", "pipefs:", "pipefs:"]
    wanted = [f"{names[n % 4]} {0 if n % 4 else n} {('/usr', '/etc')[n % 2]}" for n in range(300)]
    assert lines == wanted


def test_values_at_a_return_and_at_an_end(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    program = "import os\nos.dup2(os.open('file', os.O_CREAT | os.O_WRONLY), 50)\nos.write(50, b'123')\nos._exit(0)"
    text = """
    syscall::write:entry /arg0 == 50/ { self->fd = arg0; printf("%d\\n", fds[arg0].fi_offset); }
    syscall::write:return /self->fd/ { printf("%d %s\\n", fds[self->fd].fi_offset, fds[self->fd].fi_name); }
    proc:::exit /pid == $target/ { printf("%s %s %d\\n", fds[50].fi_name, cwd, fds[50].fi_offset); }
    """
    lines, _ = traced(tmp_path, text, program)
    assert lines == ["0", "3 file", f"file {tmp_path} 3"]


SEPARATE = """
import ctypes, os, threading
libc = ctypes.CDLL(None)
os.dup2(os.open("/etc/passwd", os.O_RDONLY), 60)
def work():
    libc.unshare(0x400 | 0x200)
    os.dup2(os.open("/dev/null", os.O_RDONLY), 60)
    os.chdir("/usr")
    libc.getpgid(60)
thread = threading.Thread(target=work)
thread.start()
thread.join()
libc.getpgid(60)
"""


def test_a_thread_with_files_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = 'syscall::getpgid:entry { printf("%s %s\\n", fds[arg0].fi_pathname, cwd); }'
    lines, _ = traced(tmp_path, text, SEPARATE)
    assert lines == ["/dev/null /usr", f"/etc/passwd {tmp_path}"]


@pytest.mark.long
def test_many_files_of_one_firing_are_kept_apart(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    program = "import ctypes, os\n"
    program += "for n in range(100): os.dup2(os.open(f'n{n}', os.O_CREAT | os.O_RDONLY), 200 + n)\n"
    program += "ctypes.CDLL(None).getpgid(0)\n"
    names = "".join(f'printf("%s ", fds[{200 + n}].fi_name);' for n in range(100))
    differ = " && ".join(f"fds[{200 + n}].fi_name != fds[{299 - n}].fi_name" for n in range(50))
    text = f'syscall::getpgid:entry {{ {names} }} syscall::getpgid:entry {{ printf("%d", {differ}); }}'
    (line,), _ = traced(tmp_path, text, program)
    assert line.split() == [*(f"n{n}" for n in range(100)), "1"]


def test_files_that_this_user_may_not_see_are_a_fault(tmp_path):
    program = "import ctypes\nlibc = ctypes.CDLL(None)\nlibc.prctl(4, 0)\nlibc.getpgid(0)\n"
    text = 'syscall::getpgid:entry { trace(fds[0].fi_name); } ERROR { printf("fault %d\\n", arg4); }'
    lines, done = traced(tmp_path, text, program)
    assert lines == ["fault 7"]
    assert "invalid user access" in done.stderr


@pytest.mark.long
@pytest.mark.parametrize("asked", ["fds[0].fi_name", "cwd", "vtimestamp"])
def test_a_sender_that_nobody_holds_is_not_told_of(asked):
    """The probe fires in a process that is not traced, and runs on."""
    text = f"""
    BEGIN {{ printf("on\\n"); }}
    proc:::signal-send /pid != $target && args[2] == SIGUSR1/ {{ trace({asked}); }}
    ERROR {{ printf("fault %d", arg4); exit(0); }}
    tick-5s {{ exit(0); }}
    """
    waits = "import signal\nsignal.signal(signal.SIGUSR1, lambda *_: None)\nprint('ready', flush=True)\n"
    waits += "while True: signal.pause()"
    with subprocess.Popen([*without_privileges(), sys.executable, "-c", waits], stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"ready\n"
        words = [*without_privileges(), SONDE, "--engine", "embedded", "-qn", text, "-p", str(process.pid)]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as tracer:
            told = tracer.stdout.readline()
            time.sleep(0.2)
            sends = f"import os, time; os.kill({process.pid}, {signal.SIGUSR1:d}); time.sleep(1)"
            subprocess.run([*without_privileges(), sys.executable, "-c", sends], check=True)
            told += tracer.communicate()[0]
        process.kill()
    assert told.split() == ["on", "fault", "7"]


TIMES = """
import ctypes, os, sys, threading, time
libc = ctypes.CDLL(None)
def spin(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass
def work(number, seconds):
    libc.getpgid(number)
    spin(seconds)
    time.sleep(0.2)
    libc.getpgid(number)
spin(0.2)
threads = [threading.Thread(target=work, args=(n, 0.05 * n)) for n in (1, 2, 3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
if not os.fork():
    libc.getpgid(9)
    os._exit(0)
os.wait()
"""


@pytest.mark.long
def test_cpu_times_of_threads(tmp_path):
    """A thread's own time, without that in which it sleeps; a child begins anew."""
    text = 'syscall::getpgid:entry { printf("%d %d\\n", (int)arg0, vtimestamp); }'
    lines, _ = traced(tmp_path, text, TIMES)
    found = {}
    for number, spent in (map(int, line.split()) for line in lines):
        found.setdefault(number, []).append(spent)
    for number in (1, 2, 3):
        first, last = found[number]
        assert first < 20_000_000
        assert 50_000_000 * number <= last - first < 50_000_000 * number + 30_000_000
    assert found[9][0] < 50_000_000


@pytest.mark.long
def test_times_of_a_process_that_was_there_begin_with_tracing(tmp_path):
    program = "import ctypes, signal, time\nwhile time.thread_time() < 0.5: pass\n"
    program += "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])\nprint('ready', flush=True)\n"
    program += "signal.sigwait([signal.SIGUSR1])\nctypes.CDLL(None).getpgid(0)\n"
    with subprocess.Popen([*without_privileges(), sys.executable, "-c", program], stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"ready\n"
        text = 'BEGIN { system("kill -USR1 %d", $target); } syscall::getpgid:entry { trace(vtimestamp); exit(0); }'
        done = sonde("--engine", "embedded", "-qwn", text, "-p", str(process.pid))
        assert 0 < int(done.stdout) < 100_000_000
        assert process.wait(10) == 0


def test_the_time_of_a_thread_that_execs_goes_on(tmp_path):
    program = "import ctypes, os, sys, threading, time\n"
    program += "def work():\n while time.thread_time() < 0.2: pass\n os.execv('/bin/true', ['true'])\n"
    program += "threading.Thread(target=work).start()\ntime.sleep(5)\n"
    text = 'proc:::exec-success /execname == "true"/ { printf("%d\\n", vtimestamp); }'
    (line,), _ = traced(tmp_path, text, program)
    assert 200_000_000 <= int(line) < 300_000_000


@pytest.mark.share(1)
@pytest.mark.parametrize("asked", ["fds[0].fi_name", "fds[0].fi_offset", "cwd", "root", "vtimestamp"])
def test_of_a_running_thread_nothing_is_told(asked):
    words = ["-xsampling=running", "-qn", f"profile-97 {{ trace({asked}); }}", "-c", "true"]
    done = sonde("--engine", "embedded", *words, status=1)
    assert "a thread that stands" in " ".join(done.stderr.split())
    assert "profile-97" in done.stderr


def test_the_session_itself_where_there_is_no_process(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = 'BEGIN { printf("%s %s %d", cwd, root, vtimestamp >= 0); exit(0); }'
    assert sonde("--engine", "embedded", "-qn", text).stdout.split() == [str(tmp_path), "/", "1"]
