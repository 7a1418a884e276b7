"""Program files are looked at once, and as many are remembered as there is room for."""

import os

import pytest

from sonde.engines.embedded.tracer import executables
from sonde.engines.embedded.tracer.executables import Executables


def test_a_file_is_new_once():
    seen = Executables()
    assert os.path.samestat(seen.new(os.getpid()), os.stat("/proc/self/exe"))
    assert seen.new(os.getpid()) is None
    with pytest.raises(OSError, match="No such file"):
        seen.new(1 << 30)


def test_what_is_remembered_is_bounded(monkeypatch):
    files = iter([os.stat_result((0, inode, 1, 0, 0, 0, 0, 0, 0, 0)) for inode in range(3 * executables._MOST)])
    monkeypatch.setattr(executables.others, "executable", lambda tid: next(files))
    seen = Executables()
    for _ in range(3 * executables._MOST):
        assert seen.new(1)
        assert len(seen._seen) <= executables._MOST
