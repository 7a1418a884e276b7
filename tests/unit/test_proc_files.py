"""/proc as it is read: of this process, and of made-up ones."""

import os
import threading

import pytest

from sonde.machine import proc


def test_of_this_process():
    stat = proc.stat(os.getpid())
    assert (stat.ppid, stat.group, stat.session) == (os.getppid(), os.getpgrp(), os.getsid(0))
    assert not proc.is_kernel_thread(stat)
    status = proc.status(os.getpid())
    assert int(status["Tgid"]) == os.getpid()
    assert int(status["Uid"].split()[1]) == os.geteuid()
    assert proc.namespace(os.getpid(), "pid") == proc.namespace(os.getppid(), "pid")


def test_threads_begin_with_the_first():
    done = threading.Event()
    threading.Thread(target=done.wait).start()
    try:
        found = proc.threads(os.getpid())
        assert found[0] == os.getpid()
        assert len(found) >= 2
    finally:
        done.set()


def test_children_of_any_thread():
    pid = os.fork()
    if pid == 0:
        os.kill(os.getpid(), 19)
        os._exit(0)
    os.waitpid(pid, os.WUNTRACED)
    try:
        assert pid in proc.children(os.getpid())
    finally:
        os.kill(pid, 9)
        os.waitpid(pid, 0)


def test_maps_tell_addresses_and_files():
    maps = list(proc.maps(os.getpid()))
    assert [each.start for each in maps] == sorted(each.start for each in maps)
    stack = next(each for each in maps if each.path == b"[stack]")
    assert stack.permissions.startswith("rw")
    assert any(each.path.startswith(b"/") and each.inode and "x" in each.permissions for each in maps)


def test_a_name_may_have_anything_in_it(tmp_path):
    (tmp_path / "7").mkdir()
    rest = "Z 3 4 5 0 -1 2097152 1 2 3 4 10 11 0 0 20 0 1 0 99 0 0"
    (tmp_path / "7" / "stat").write_bytes(b"7 (a) b (c \n) " + rest.encode())
    stat = proc.stat(7, str(tmp_path))
    assert tuple(stat) == (b"a) b (c \n", "Z", 3, 4, 5, 2097152, 10, 11, 99)
    assert proc.is_kernel_thread(stat)


def test_a_path_may_have_anything_in_it(tmp_path):
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "maps").write_bytes(
        b"1000-3000 r-xp 00002000 08:01 42                 /a b\n4000-5000 ---p 00000000 00:00 0 \n"
    )
    assert [tuple(each) for each in proc.maps(7, str(tmp_path))] == [
        (0x1000, 0x3000, "r-xp", 0x2000, 42, b"/a b"),
        (0x4000, 0x5000, "---p", 0, 0, b""),
    ]


def test_what_is_gone():
    with pytest.raises(FileNotFoundError):
        proc.stat(4194303)
