"""io: every request to a disk starts and is done once, with the bytes that were asked for."""

import contextlib
import mmap
import os
import subprocess

import pytest
from support.machine import packages
from support.packets.network import tracing

BLOCK = 4096


@contextlib.contextmanager
def loop(path):
    """A loop device on a file."""
    packages.require("losetup")
    if os.geteuid() or not os.path.exists("/dev/loop-control"):
        pytest.skip("needs loop devices and root")
    device = subprocess.run(
        ["losetup", "-f", "--show", path], check=True, capture_output=True, text=True
    ).stdout.strip()
    try:
        yield device
    finally:
        subprocess.run(["losetup", "-d", device], check=True)


def buffer(size):
    """Memory as direct transfers need it."""
    return mmap.mmap(-1, size)


def transfer(device):
    """Seven writes and three reads of different sizes and places, past all caches; those are returned."""
    file = os.open(device, os.O_RDWR | os.O_DIRECT)
    done = []
    try:
        for number in range(1, 8):
            os.pwrite(file, buffer(number * BLOCK), number * 16 * BLOCK)
            done.append(("write", number * 16 * BLOCK // 512, number * BLOCK))
        for number in range(1, 4):
            os.preadv(file, [buffer(number * BLOCK)], number * 32 * BLOCK)
            done.append(("read", number * 32 * BLOCK // 512, number * BLOCK))
    finally:
        os.close(file)
    return done


PROGRAM = """
io:::start, io:::done /args[1]->dev_statname == "%s"/ {
    printf("%%s %%x %%s %%d %%d %%d %%d %%d %%d %%s %%s\\n", probename, arg0,
    args[0]->b_flags & B_WRITE ? "write" : args[0]->b_flags & B_READ ? "read" : "other",
    args[0]->b_blkno, args[0]->b_bcount, args[0]->b_resid, args[0]->b_error,
    args[0]->b_edev == (args[1]->dev_major << 20 | args[1]->dev_minor),
    (args[0]->b_flags & (probename == "done" ? B_DONE : B_BUSY)) != 0, args[1]->dev_pathname, args[1]->dev_name); }
"""


def check(lines, device, expected):
    """Starts and dones, in order, are the transfers, and each done belongs to a start."""
    rows = [line.split() for line in lines if line.strip() and " other " not in line]
    assert all(row[7:10] == ["1", "1", device] for row in rows)
    for name in ("start", "done"):
        found = [(row[2], int(row[3]), int(row[4])) for row in rows if row[0] == name]
        assert found == expected
    assert all(row[5:7] == ["0", "0"] for row in rows)
    assert [row[1] for row in rows if row[0] == "start"] == [row[1] for row in rows if row[0] == "done"]


def test_requests_of_a_driver_with_queues(tmp_path):
    path = tmp_path / "disk"
    path.write_bytes(bytes(4 << 20))
    with loop(str(path)) as device:
        name = os.path.basename(device)
        with tracing(PROGRAM % name) as lines:
            expected = transfer(device)
        check(lines, device, expected)
        assert {line.split()[-1] for line in lines if line.strip()} == {name}


def test_bios_of_a_driver_without_queues():
    control = "/sys/class/zram-control/hot_add"
    if not os.path.exists(control) or os.geteuid():
        pytest.skip("needs zram and root")
    with open(control, encoding="ascii") as file:
        name = f"zram{file.read().strip()}"
    try:
        with open(f"/sys/block/{name}/disksize", "w", encoding="ascii") as file:
            file.write("4M")
        with tracing(PROGRAM % name) as lines:
            expected = transfer(f"/dev/{name}")
        check(lines, f"/dev/{name}", expected)
    finally:
        with open("/sys/class/zram-control/hot_remove", "w", encoding="ascii") as file:
            file.write(name[4:])


def test_a_request_that_fails_is_done_with_an_error(tmp_path):
    """The file below has no room: EIO, and not a byte was transferred."""
    subprocess.run(["mount", "-t", "tmpfs", "-osize=64k", "none", tmp_path], check=True)
    try:
        path = tmp_path / "disk"
        path.touch()
        os.truncate(path, 4 << 20)
        # No room at all: a loop device reports what it wrote in part as written.
        (tmp_path / "other").write_bytes(bytes(64 << 10))
        with loop(str(path)) as device:
            name = os.path.basename(device)
            text = """io:::done /args[1]->dev_statname == "%s" && args[0]->b_flags & B_WRITE/ {
                printf("%%d %%d %%d %%d\\n", (args[0]->b_flags & B_ERROR) != 0, args[0]->b_error, args[0]->b_bcount,
                args[0]->b_resid); }"""
            with tracing(text % name) as lines:
                file = os.open(device, os.O_RDWR | os.O_DIRECT)
                with pytest.raises(OSError, match=r"Input/output error|No space"):
                    os.pwrite(file, buffer(64 * BLOCK), 0)
                os.close(file)
        (row,) = [line.split() for line in lines if line.strip()]
        assert row[0] == "1"
        assert int(row[1]) in (5, 28)
        assert row[2:] == [str(64 * BLOCK)] * 2
    finally:
        subprocess.run(["umount", "-l", tmp_path], check=True)


@pytest.mark.long
def test_the_file_that_is_written(tmp_path):
    """Its name is that of the first page's file; the path to it is not known."""
    path = tmp_path / "written-by-this-test"
    device = os.stat(tmp_path).st_dev
    if not os.path.exists(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}"):
        pytest.skip("the directory is on no disk")
    text = """io:::start { printf("%s %s %s %d\\n", args[2]->fi_name, args[2]->fi_fs, args[2]->fi_pathname,
        args[0]->b_bcount); }"""
    with tracing(text) as lines, path.open("wb") as file:
        file.write(bytes(64 << 10))
        file.flush()
        os.fsync(file.fileno())
    rows = [line.split() for line in lines if line.startswith(f"{path.name} ")]
    assert sum(int(row[3]) for row in rows) == 64 << 10
    assert {row[2] for row in rows} == {"<unknown>"}
