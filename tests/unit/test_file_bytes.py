"""Files read as they are asked for, against their bytes, and files that get shorter meanwhile."""

import errno
import os
import shutil
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.library.given import GivenOutput
from sonde.symbols.elf.file import ElfError, ElfFile
from sonde.symbols.elf.file_bytes import FileBytes

SIZE = 300_000
CONTENT = b"".join(n.to_bytes(4, "big") for n in range(SIZE // 4))


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    found = tmp_path_factory.mktemp("files") / "content"
    found.write_bytes(CONTENT)
    return found


def opened(path):
    return FileBytes(os.open(path, os.O_RDONLY))


PLACES = st.integers(-10, SIZE + 70_000)


@given(st.lists(st.tuples(PLACES, PLACES), min_size=1, max_size=30))
def test_slices(path, slices):
    found = opened(path)
    assert len(found) == SIZE
    for start, stop in slices:
        assert found[start:stop] == CONTENT[start:stop]
        assert found.costs.buffered == sum(map(len, found._blocks.values())) <= 8 << 14


def test_find(path):
    found = opened(path)
    assert found.find(b"\0\1\0\0", 5, SIZE) == CONTENT.find(b"\0\1\0\0", 5)
    assert found.find(b"absent", 0, SIZE) == -1


@pytest.mark.parametrize("owning", [lambda number: FileBytes(os.dup(number)), GivenOutput])
def test_a_close_that_fails_is_not_shown(owning, path, monkeypatch):
    """As that of a file of a server that is gone."""
    shown = []
    monkeypatch.setattr(sys, "unraisablehook", shown.append)
    with path.open("rb") as file:
        owner = owning(file.fileno())
        close = os.close

        def fail(descriptor):
            close(descriptor)
            raise OSError(errno.ENOTCONN, os.strerror(errno.ENOTCONN))

        monkeypatch.setattr(os, "close", fail)
        del owner
        monkeypatch.undo()
    assert not shown


def test_a_file_that_gets_shorter_ends_nobody(tmp_path):
    with open("/proc/self/maps") as maps:
        library = next(words[5] for line in maps if "libc" in (words := line.split())[-1])
    path = tmp_path / "library"
    shutil.copyfile(library, path)
    file = ElfFile.open(str(path))
    os.truncate(path, 100)
    with pytest.raises(ElfError):
        file.check()
    assert file.read(1 << 20, 10) == b""
