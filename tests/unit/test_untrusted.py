"""Files of others: opened without waiting or effects, and read with the reader's bounds."""

import gzip
import os
import socket
import threading
import time

import pytest
from support.files.hostile_directories import ATTACKER

from sonde import untrusted

ODD_ENDS = "\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
"""What `str.splitlines` takes for ends of lines besides "\\n"."""


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "file")


def make(kind, path):
    if kind == "FIFO":
        os.mkfifo(path)
    elif kind == "directory":
        os.mkdir(path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path)
    else:
        os.symlink("/dev/zero", path)


@pytest.mark.parametrize("kind", ["FIFO", "directory", "socket", "device"])
def test_what_is_no_regular_file_is_refused_at_once_and_named(kind, path):
    make(kind, path)
    with pytest.raises(OSError, match=f"it is a {kind}") as caught:
        untrusted.open_regular(path)
    assert caught.value.filename == path


def test_a_fifo_that_is_refused_has_had_no_reader(path):
    os.mkfifo(path)
    with pytest.raises(OSError, match="FIFO"):
        untrusted.open_regular(path)
    with pytest.raises(OSError, match="No such device"):
        os.open(path, os.O_WRONLY | os.O_NONBLOCK)


def test_the_file_that_was_looked_at_is_the_one_that_is_opened(path, monkeypatch):
    """Whoever swaps the file between the look and the opening gains nothing."""
    with open(path, "wb") as file:
        file.write(b"the first")
    look = os.fstat

    def look_and_swap(descriptor):
        found = look(descriptor)
        if os.path.isfile(path):
            os.unlink(path)
            os.mkfifo(path)
        return found

    monkeypatch.setattr(os, "fstat", look_and_swap)
    assert untrusted.read_regular(path, 100) == b"the first"


def test_a_link_is_followed_unless_the_flags_say_otherwise(path, tmp_path):
    (tmp_path / "real").write_bytes(b"x")
    os.symlink(tmp_path / "real", path)
    assert untrusted.read_regular(path, 1) == b"x"
    with pytest.raises(OSError, match="symbolic link"):
        untrusted.read_regular(path, 1, os.O_NOFOLLOW)


def test_the_size_is_refused_before_anything_is_read(path):
    with open(path, "wb") as file:
        file.truncate(512 << 30)
    with pytest.raises(OSError, match="larger than 64 MiB"):
        untrusted.read_regular(path, 64 << 20)
    os.close(untrusted.open_regular(path))


def test_a_file_that_grows_behind_the_look_is_refused(path, monkeypatch):
    with open(path, "wb") as file:
        file.write(bytes(10))
    read = os.read

    def read_and_grow(descriptor, size):
        with open(path, "ab") as file:
            file.write(bytes(1000))
        return read(descriptor, size)

    monkeypatch.setattr(os, "read", read_and_grow)
    with pytest.raises(OSError, match="larger than"):
        untrusted.read_regular(path, 2000)


def test_a_pipe_is_read_to_its_end(path):
    os.mkfifo(path)

    def write():
        time.sleep(0.1)
        with open(path, "wb") as file:
            for _ in range(11):
                file.write(b"0123456789")
                file.flush()
                time.sleep(0.01)

    writer = threading.Thread(target=write)
    writer.start()
    assert untrusted.read_named(path, 1000) == b"0123456789" * 11
    writer.join()


def test_a_pipe_that_nobody_writes_to_is_at_its_end(path, monkeypatch):
    monkeypatch.setattr(untrusted, "_ANY_WRITER", 0.1)
    os.mkfifo(path)
    assert untrusted.read_named(path, 1000) == b""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of other users")
def test_a_fifo_of_somebody_else_is_refused_and_his_pipe_is_read(path, monkeypatch):
    """He may hold it open and write nothing. What is given as the standard input, or has no name, the user means."""
    os.mkfifo(path)
    with open(os.open(path, os.O_RDWR), "r+b", buffering=0) as held:
        held.write(b"of root's")
        os.close(untrusted.open_named(path))
        os.chown(path, ATTACKER, ATTACKER)
        with pytest.raises(OSError, match="FIFO that somebody else has made"):
            untrusted.open_named(path)
        with monkeypatch.context() as patch:
            patch.setattr(os, "fstat", lambda number, look=os.fstat: look(number or held.fileno()))
            os.close(untrusted.open_named(path))
    reads, writes = os.pipe()
    os.fchown(writes, ATTACKER, ATTACKER)
    os.write(writes, b"given")
    os.close(writes)
    assert untrusted.read_named(f"/dev/fd/{reads}", 10) == b"given"
    os.close(reads)


def test_a_device_without_end_is_refused():
    with pytest.raises(OSError, match="larger than 1 MiB"):
        untrusted.read_named("/dev/zero", 1 << 20)


def test_a_text_of_the_kernel_is_cut_off_behind_a_whole_line(path):
    with open(path, "wb") as file:
        file.write(b"".join(b"line %d\n" % number for number in range(1001)))
    found = untrusted.kernel_lines(path, 100)
    assert found == [f"line {number}" for number in range(len(found))]
    assert 10 <= len(found) <= 100 // len("line 0\n")
    assert len(untrusted.kernel_lines(path)) == 1001


def test_a_text_of_the_kernel_has_no_size():
    assert untrusted.kernel_text("/proc/self/status").startswith("Name:")


def test_lines_end_at_line_feeds_alone():
    text = f"a{ODD_ENDS}b\n\nc"
    assert untrusted.lines(text) == [f"a{ODD_ENDS}b", "", "c"]
    assert untrusted.lines(text.encode()) == [f"a{ODD_ENDS}b".encode(), b"", b"c"]
    assert untrusted.lines("a\n") == ["a"]
    assert untrusted.lines("") == []


def test_bytes_that_are_no_text_are_kept():
    data = bytes(range(256))
    assert untrusted.text_of(data).encode(errors="surrogateescape") == data


def test_a_file_that_is_missing_or_closed_is_told_by_its_path(path):
    with pytest.raises(FileNotFoundError) as caught:
        untrusted.open_regular(path)
    assert caught.value.filename == path


def test_no_descriptor_is_left_open(path):
    before = os.listdir("/proc/self/fd")
    os.mkfifo(path)
    for _ in range(11):
        with pytest.raises(OSError, match="FIFO"):
            untrusted.open_regular(path)
        with pytest.raises(OSError, match="larger"):
            untrusted.read_regular(__file__, 10)
        untrusted.read_regular(__file__, 1 << 20)
    assert len(os.listdir("/proc/self/fd")) == len(before)


def test_what_gzip_has_compressed_has_the_bound_of_who_unpacks_it():
    whole = gzip.compress(b"a" * 1000) + gzip.compress(b"b" * 101) + bytes(7)
    assert untrusted.unpacked(whole, 1101) == b"a" * 1000 + b"b" * 101
    with pytest.raises(OSError, match="larger than"):
        untrusted.unpacked(whole, 1100)
    with pytest.raises(OSError, match="cut off"):
        untrusted.unpacked(gzip.compress(bytes(1000))[:-9], 2000)
    with pytest.raises(OSError, match="damaged"):
        untrusted.unpacked(b"\x1f\x8bnothing of the kind", 2000)
