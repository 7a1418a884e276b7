"""/proc as it is read: of this process, and of made-up ones."""

import os
import threading

import pytest

from sonde.machine import proc


def _device_and_inode(path):
    status = os.stat(path)
    return status.st_dev, status.st_ino


def test_of_this_process():
    stat = proc.stat(os.getpid())
    assert (stat.ppid, stat.group, stat.session) == (os.getppid(), os.getpgrp(), os.getsid(0))
    assert not proc.is_kernel_thread(stat)
    status = proc.status(os.getpid())
    assert int(status["Tgid"]) == os.getpid()
    assert int(status["Uid"].split()[1]) == os.geteuid()
    assert proc.namespace(os.getpid(), "pid") == _device_and_inode("/proc/self/ns/pid")


def test_threads_begin_with_the_first():
    done = threading.Event()
    threading.Thread(target=done.wait).start()
    try:
        found = proc.threads(os.getpid())
        assert found[0] == os.getpid()
        assert len(found) >= 2
    finally:
        done.set()


def test_a_name_may_have_anything_in_it(tmp_path):
    (tmp_path / "7").mkdir()
    rest = "Z 3 4 5 0 -1 2097152 1 2 3 4 10 11 0 0 20 0 1 0 99 0 0"
    (tmp_path / "7" / "stat").write_bytes(b"7 (a) b (c \n) " + rest.encode())
    stat = proc.stat(7, str(tmp_path))
    assert tuple(stat) == (b"a) b (c \n", "Z", 3, 4, 5, 2097152, 10, 11, 99)
    assert proc.is_kernel_thread(stat)


def test_what_is_gone():
    with pytest.raises(FileNotFoundError):
        proc.stat(4194303)
