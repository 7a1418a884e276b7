"""What belongs to others is read by a process with a deadline (others.py): one that does not come back costs an answer.

As root, with files of a FUSE server that never answers; and what does not wait is the same as without the reader.
"""

import errno
import os
import select
import subprocess
import sys
from contextlib import contextmanager

import pytest
from support.files.served_files import serving
from support.machine.access import missing

from sonde import others, reader, untrusted
from sonde.reader import described

FEW_SECONDS = 20
"""Far more than reads take that do not hang: without the deadline they take for ever."""

served = pytest.mark.skipif(
    bool(missing("CAP_SYS_ADMIN")) or not os.path.exists("/dev/fuse"), reason="no FUSE for this user"
)


@pytest.fixture(autouse=True)
def _readers_end(monkeypatch):
    # What hangs hangs however long one waits, and a reader that wants to run is waited for.
    monkeypatch.setattr(others, "_LONG", 0.15)
    # Tests mount and unmount, and each is to see that.
    others.close()
    monkeypatch.setattr(others._readers, "_mounts_due", 0.0)
    for each in (others, reader):
        monkeypatch.setattr(each, "_MOUNTS_AGAIN", 0.0)
    yield
    others.close()


MAPPED = """
import ctypes, os, sys, time
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
at = libc.mmap(None, 1 << 16, 1, 2, os.open(sys.argv[1], os.O_RDONLY), ctypes.c_long(0))
print(at, flush=True)
sys.stdin.read()
"""


@contextmanager
def mapping(path):
    """A process that has mapped a file, and where."""
    with subprocess.Popen(
        [sys.executable, "-c", MAPPED, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        yield process.pid, int(process.stdout.readline())
        process.kill()


@pytest.fixture
def content(tmp_path):
    path = tmp_path / "content"
    path.write_bytes(b"sonde" * 20000)
    return path


@served
def test_memory_that_nobody_answers_for_costs_its_own_read_alone(tmp_path, content):
    with serving(tmp_path / "mount", 0, slow=content) as point, mapping(point / "slow") as (pid, address):
        for _ in range(2):
            with pytest.raises(TimeoutError):
                others.memory(pid, address, 64)
        assert "libc" in untrusted.kernel_text(f"/proc/{pid}/maps")
        assert others.unanswered() == [f"process {pid}"]
        assert others.unanswered() == []


@served
def test_a_process_with_the_number_of_a_silent_one_is_read(tmp_path, content, monkeypatch):
    with serving(tmp_path / "mount", 0, slow=content) as point, mapping(point / "slow") as (pid, address):
        with pytest.raises(TimeoutError):
            others.memory(pid, address, 64)
        vdso = next(line for line in untrusted.kernel_lines(f"/proc/{pid}/maps") if line.endswith("[vdso]"))
        start = int(vdso.partition("-")[0], 16)
        with pytest.raises(TimeoutError):
            others.memory(pid, start, 4)
        monkeypatch.setattr(others, "_start_time", lambda _: "later")
        assert others.memory(pid, start, 4) == b"\x7fELF"
        others.unanswered()


@served
def test_a_served_file_is_read_through_a_copy_and_one_that_is_silent_is_not_waited_for(tmp_path, content):
    with serving(tmp_path / "mount", 1 << 20, good=content) as point:
        descriptor = untrusted.open_regular(str(point / "good"))
        assert os.readlink(f"/proc/self/fd/{descriptor}").startswith("/memfd:")
        assert os.pread(descriptor, 1 << 20, 0) == content.read_bytes()
        assert os.fstat(descriptor).st_mode == os.stat(point / "good").st_mode
        os.close(descriptor)
        with pytest.raises(OSError, match="larger") as caught:
            untrusted.open_regular(str(point / "good"), 1000)
        assert caught.value.errno == errno.EFBIG
    with serving(tmp_path / "other", 0, slow=content, unseen__stat=content) as point:
        with pytest.raises(TimeoutError):
            untrusted.read_start(str(point / "unseen"), 10)
        for path in (point / "slow", point / "unseen", point):
            with pytest.raises(TimeoutError):
                others.stat(str(path))
        assert not others.exists(str(point / "slow"))
        assert others.unanswered() == [str(point)]


@served
def test_a_file_that_another_process_has_open_or_mapped_is_not_waited_for(tmp_path, content):
    with serving(tmp_path / "mount", 0, slow=content) as point, mapping(point / "slow") as (pid, address):
        lines = untrusted.kernel_lines(f"/proc/{pid}/maps")
        mapped = next(line.split(" ")[0] for line in lines if line.startswith(f"{address:x}-"))
        with pytest.raises(TimeoutError):
            untrusted.open_regular(f"/proc/{pid}/map_files/{mapped}")
        with pytest.raises(TimeoutError):
            untrusted.read_start(f"/proc/{pid}/root{point}/slow", 10)
        others.unanswered()


def test_all_is_as_without_the_reader(tmp_path, content, monkeypatch):
    """Paths, too, as if each might wait."""
    missing_file, fifo = tmp_path / "missing", tmp_path / "fifo"
    os.mkfifo(fifo)
    monkeypatch.setattr(others, "may_wait", lambda _: True)
    assert described(others.stat(str(content))) == described(os.stat(content))
    assert others.listed(str(tmp_path)) == os.listdir(tmp_path)
    assert others.real_path(f"{tmp_path}/../{tmp_path.name}/content") == str(content)
    assert others.is_file(str(content))
    assert not others.is_file(str(fifo))
    assert untrusted.read_start(str(content), 7) == b"sondeso"
    with untrusted.open_file(str(content)) as file:
        assert file.read() == content.read_bytes()
        assert os.fstat(file.fileno()).st_ino == content.stat().st_ino
    for opens in (untrusted.open_regular, lambda path: untrusted.read_start(path, 9), others.stat, others.listed):
        with pytest.raises(FileNotFoundError) as caught:
            opens(str(missing_file))
        assert caught.value.filename == str(missing_file)
    for opens in (untrusted.open_regular, lambda path: untrusted.read_start(path, 9)):
        with pytest.raises(OSError, match="it is ") as caught:
            opens(str(fifo))
        assert caught.value.errno == errno.ENXIO


def test_what_can_be_read_of_memory_up_to_its_end_is_read():
    with subprocess.Popen([sys.executable, "-c", "import sys; print(flush=True); sys.stdin.read()"],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:  # fmt: skip
        process.stdout.readline()
        mapped = [line.split() for line in untrusted.kernel_lines(f"/proc/{process.pid}/maps")]
        (end,) = (int(words[0].partition("-")[2], 16) for words in mapped if words[-1] == "[stack]")
        assert len(others.memory(process.pid, end - 5000, 9000)) == 5000
        with pytest.raises(OSError, match="Bad address") as caught:
            others.memory(process.pid, 16, 8)
        assert caught.value.errno == errno.EFAULT
        process.kill()


def test_a_reader_that_was_killed_is_replaced():
    with subprocess.Popen(["sleep", "100"]) as process:
        assert untrusted.kernel_text(f"/proc/{process.pid}/maps")
        child = others._readers._child
        os.kill(child.pid, 9)
        ended = select.poll()
        ended.register(child.end, select.POLLIN)
        ended.poll(1000 * FEW_SECONDS)
        with pytest.raises(OSError, match="killed"):
            untrusted.kernel_text(f"/proc/{process.pid}/maps")
        assert untrusted.kernel_text(f"/proc/{process.pid}/maps")
        process.kill()


def test_what_sonde_forks_has_a_reader_of_its_own():
    with subprocess.Popen(["sleep", "100"]) as process:
        assert untrusted.kernel_text(f"/proc/{process.pid}/maps")
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                os.write(writer, untrusted.read_kernel(f"/proc/{process.pid}/maps")[:4])
                others.close()
            finally:
                os._exit(0)
        os.close(writer)
        assert len(os.read(reader, 100)) == 4
        os.close(reader)
        os.waitpid(pid, 0)
        assert untrusted.kernel_text(f"/proc/{process.pid}/maps")
        process.kill()


def test_the_reader_holds_nothing_of_sonde(tmp_path):
    reader, writer = os.pipe()
    with subprocess.Popen(["sleep", "100"]) as process:
        untrusted.kernel_text(f"/proc/{process.pid}/maps")
        open_there = {os.readlink(f"/proc/{others._readers._child.pid}/fd/{each}")
                      for each in os.listdir(f"/proc/{others._readers._child.pid}/fd")}  # fmt: skip
        assert all(each == "/dev/null" or each.startswith("socket:") for each in open_there)
        process.kill()
    os.close(reader)
    os.close(writer)
