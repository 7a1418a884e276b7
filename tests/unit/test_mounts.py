"""/proc/PID/mountinfo, and what /proc tells of files: names of any bytes, also where something is mounted."""

import os
import tempfile

from hypothesis import given
from hypothesis import strategies as st

from sonde.machine.mounts import Mount, Mounts, parse
from sonde.machine.open_files import directory, open_file

NAMES = st.binary(min_size=1, max_size=40).filter(lambda name: not {b"/", b"\0"} & {bytes((c,)) for c in name})
FREE = NAMES.filter(lambda name: name not in (b".", b".."))


def escaped(path):
    """As the kernel writes a path there (mangle, fs/proc_namespace.c)."""
    return b"".join(b"\\%03o" % byte if byte in b" \t\n\\#" else bytes((byte,)) for byte in path)


@given(point=FREE, root=FREE, number=st.integers(1, 1 << 31), subtype=st.sampled_from([b"", b".sshfs"]))
def test_any_path_is_read_as_it_is(point, root, number, subtype):
    rest = b"rw,relatime shared:1 master:2 - fuse%s source rw" % subtype
    line = b"%d 1 254:0 /%s /%s %s\n" % (number, escaped(root), escaped(point), rest)
    assert parse(line) == {number: Mount(b"fuse", b"254:0", b"/" + point, b"/" + root)}


def test_a_root_that_is_gone_and_lines_that_are_none():
    text = b"7 1 0:5 /a\\040b//deleted /c rw - tmpfs t rw\n\nx y\n8 1 0:6 net:[40] /n rw - nsfs nsfs rw\n"
    assert parse(text) == {
        7: Mount(b"tmpfs", b"0:5", b"/c", b"/a b"), 8: Mount(b"nsfs", b"0:6", b"/n", b"net:[40]"),
    }  # fmt: skip


@given(name=FREE, suffix=st.sampled_from([b"", b" (deleted)"]), is_gone=st.booleans(), offset=st.integers(0, 1 << 62))
def test_a_file_of_any_name(name, suffix, is_gone, offset):
    """Also one that is named as the kernel marks those that are gone."""
    name += suffix
    mounts = Mounts()
    with tempfile.TemporaryDirectory() as place:
        path = os.path.realpath(place).encode() + b"/" + name
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.lseek(descriptor, offset % (1 << 40), os.SEEK_SET)
            if is_gone:
                os.unlink(path)
            found = open_file(os.getpid(), descriptor, mounts)
            assert found.name == name
            assert found.path == path + b" (deleted)" * is_gone
            assert found.offset == offset % (1 << 40)
            assert found.flags & (os.O_ACCMODE | os.O_APPEND | os.O_CLOEXEC) == os.O_RDWR | os.O_APPEND
        finally:
            os.close(descriptor)
            mounts.close()


def test_what_is_not_open_and_who_is_not_there():
    mounts = Mounts()
    assert open_file(os.getpid(), 1 << 20, mounts) is None
    for ask in (lambda: open_file(1 << 22, 0, mounts), lambda: directory(1 << 22, "cwd")):
        try:
            ask()
        except FileNotFoundError:
            continue
        raise AssertionError
    mounts.close()


def test_directories_are_those_of_the_process():
    assert directory(os.getpid(), "cwd") == os.getcwdb()
    assert directory(os.getpid(), "root") == b"/"
