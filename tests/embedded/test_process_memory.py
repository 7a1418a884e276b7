"""Memory of other processes: here of this one, which may always be read."""

import ctypes
import errno
import mmap
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.engines.embedded.tracer.memory import ProcessMemory

PAGE = 4096
PAGES = 70


@pytest.fixture(scope="module")
def area():
    """Address and bytes of pages behind which nothing is mapped."""
    memory = mmap.mmap(-1, (PAGES + 1) * PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    memory[: PAGES * PAGE] = bytes(1 + (index * 7 + index // PAGE) % 255 for index in range(PAGES * PAGE))
    libc = ctypes.CDLL(None)
    libc.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    assert libc.mprotect(address + PAGES * PAGE, PAGE, 0) == 0
    yield address, memory[: PAGES * PAGE]  # noqa: PT022 - the memory is to stay


@given(st.integers(0, PAGES * PAGE - 1), st.integers(0, PAGES * PAGE))
def test_what_is_there_is_read(area, start, size):
    address, data = area
    memory = ProcessMemory()
    assert memory.read_available(os.getpid(), address + start, size) == data[start : start + size]
    if start + size <= len(data):
        assert memory.read(os.getpid(), address + start, size) == data[start : start + size]
    else:
        with pytest.raises(OSError, match="Bad address") as caught:
            memory.read(os.getpid(), address + start, size)
        assert caught.value.errno == errno.EFAULT


@pytest.mark.parametrize("address", [0, 4096, 1 << 47, (1 << 64) - 8, (1 << 64) - 1, 0xFFFFFFFF81000000])
def test_bad_addresses(address):
    memory = ProcessMemory()
    for attempt in (
        lambda: memory.read(os.getpid(), address, 8),
        lambda: memory.write(os.getpid(), address, b"12345678"),
    ):
        with pytest.raises(OSError, match="Bad address"):
            attempt()


@given(st.integers(0, 40 * PAGE), st.binary(min_size=1, max_size=3 * PAGE))
def test_what_is_written_is_there(area, start, data):
    address, before = area
    memory = ProcessMemory()
    memory.write(os.getpid(), address + start, data)
    assert memory.read(os.getpid(), address, len(before)) == (before[:start] + data + before[start + len(data) :])
    memory.write(os.getpid(), address, before)


def test_what_is_refused_is_asked_for(area, monkeypatch):
    asked = []

    def ask(tid, address, size, data):
        asked.append((tid, address, size, data))
        return b"answer"[:size]

    def refuse(*_arguments):
        ctypes.set_errno(errno.EPERM)
        return -1

    def forbid(*_arguments):
        raise PermissionError(errno.EPERM, "no")

    memory = ProcessMemory(ask)
    memory._calls = dict.fromkeys(memory._calls, refuse)
    monkeypatch.setattr(os, "open", forbid)
    assert memory.read(1, 4096, 6) == b"answer"
    memory.write(1, 4096, b"data")
    assert asked == [(1, 4096, 6, None), (1, 4096, 4, b"data")]
    assert ProcessMemory().read is not None
    lonely = ProcessMemory()
    lonely._calls = memory._calls
    with pytest.raises(PermissionError):
        lonely.read(1, 4096, 6)


def test_a_process_that_is_gone():
    with pytest.raises(ProcessLookupError):
        ProcessMemory().read(4194303, 4096, 1)
