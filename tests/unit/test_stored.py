"""Files that are made when they are read: nothing opens one that has not named it itself."""

import os
import subprocess
from contextlib import contextmanager

import pytest
from support.machine.namespaces import unshared

from sonde import others, served, untrusted
from sonde.symbols.elf.file import ElfFile
from sonde.symbols.perf_map import Home, PerfMap

PSEUDO = ["/proc/version", "/proc/self/smaps", "/proc/kcore", "/sys/kernel/mm/transparent_hugepage/enabled"]
"""Of size 0, of one that is not, and with a page."""

MOST = 1 << 16


def held(path):
    place = os.open(path, os.O_PATH)
    try:
        return untrusted.open_held(place, path)
    finally:
        os.close(place)


OPENING = {
    "open_regular": untrusted.open_regular,
    "open_file": untrusted.open_file,
    "read_regular": lambda path: untrusted.read_regular(path, MOST),
    "read_start": lambda path: untrusted.read_start(path, MOST),
    "open_held": held,
    "ElfFile.open": ElfFile.open,
}


@pytest.fixture(autouse=True)
def _readers_end():
    yield
    others.close()


@pytest.mark.parametrize("name", OPENING)
@pytest.mark.parametrize("path", [each for each in PSEUDO if os.path.exists(each)])
def test_a_file_of_a_pseudo_file_system_is_refused_and_named(name, path, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(path)
    for each in (path, str(link), f"/proc/{os.getpid()}/root{path}"):
        with pytest.raises(OSError, match=r"makes files when they are read|larger than") as caught:
            OPENING[name](each)
        assert caught.value.filename == each


@pytest.mark.parametrize("directory", ["/dev/shm", os.path.dirname(__file__)])
def test_what_is_stored_in_memory_or_on_disk_is(directory):
    place = os.open(directory, os.O_PATH)
    try:
        assert served.is_stored(place)
    finally:
        os.close(place)


def test_what_sonde_itself_names_there_is_read():
    assert untrusted.kernel_start("/proc/version", 5) == untrusted.read_kernel("/proc/version")[:5] == b"Linux"


@contextmanager
def bound(source, target):
    """A process in a mount namespace of its own that has a file at another path."""
    script = 'mount --bind "$1" "$2" && echo ready && read line'
    words = [*unshared("-m"), "sh", "-c", script, "sh", source, target]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"ready\n"
        yield process.pid
        process.communicate()


@pytest.mark.parametrize("is_pseudo", [False, True])
def test_a_map_of_compiled_code_that_is_bound_to_such_a_file_is_not_read(tmp_path, is_pseudo):
    """The numbers of mappings in /proc/PID/maps would be lines."""
    directory = tmp_path / "tmp"
    directory.mkdir()
    there = directory / "perf-7.map"
    there.write_text("")
    other = tmp_path / "other"
    other.write_text("1000 10 named\n")
    with bound("/proc/self/maps" if is_pseudo else str(other), str(there)) as pid:
        found = PerfMap(Home(7, os.geteuid(), f"/proc/{pid}/root{tmp_path}"))
        assert found.refresh() is not is_pseudo
        assert found.symbolize(0x1000) == (None if is_pseudo else ("named", 0))
        found.close()


def test_a_file_is_read_up_to_its_size(tmp_path, monkeypatch):
    (tmp_path / "tmp").mkdir()
    (tmp_path / "tmp/perf-7.map").write_text("1000 10 one\n2000 10 two\n")
    found = PerfMap(Home(7, os.geteuid(), str(tmp_path)))
    assert found.refresh()
    read = []
    monkeypatch.setattr(os, "pread", lambda _, size, at: read.append((size, at)) or b"")
    assert not found.refresh()
    assert not any(size for size, _ in read)
    found.close()
