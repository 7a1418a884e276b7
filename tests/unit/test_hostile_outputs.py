"""Whatever writes a file harms no other, in a directory that an ordinary user has prepared for it."""

import os
import stat

import pytest
from support.files.hostile_directories import ATTACKS, RACES, Race, Victim, directory_of
from support.files.written_outputs import (
    ELSEWHERE,
    OUTPUTS,
    callers,
    functions_that_call,
    header,
    not_drawn,
    recorded_nothing,
)

from sonde.library.errors import Error
from sonde.library.testing.reading import CaseFileError
from sonde.recording.file import RecordingError

WRITERS = list(dict.fromkeys(each for several in OUTPUTS.values() for each in several))
REFUSALS = (OSError, Error, RecordingError, CaseFileError)

ATTEMPTS = 10
"""So often something is written while a name is swapped."""

LEAVE_NOTHING = {not_drawn, recorded_nothing}

is_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of other users")
each_writer = pytest.mark.parametrize("write", WRITERS, ids=lambda each: each.__qualname__.partition(".")[0])


def test_there_is_a_row_for_each_function_that_writes_files():
    assert callers() == OUTPUTS.keys() | ELSEWHERE.keys()


def test_a_call_is_seen(tmp_path):
    import ast

    assert functions_that_call(ast.parse("class A:\n  def b(self):\n    create(path)"), {"create"}) == {"A.b"}


@pytest.mark.share(7)
@each_writer
def test_each_writes_where_nobody_else_may(write, tmp_path):
    """Or what is asked of them would be nothing. What others may read is no traced data."""
    path = tmp_path / "file"
    before = os.umask(0o022)
    try:
        if write.__name__ == "updated":
            path.write_text("what it was")
        try:
            write(path)
        except FileNotFoundError:
            assert write.__name__ == "read_of_kept"
    finally:
        os.umask(before)
    if write in LEAVE_NOTHING or write.__name__ == "read_of_kept":
        assert not path.exists()
        return
    files = [*path.iterdir()] if path.is_dir() else [path]
    assert files
    readable = write.__name__ in ("updated", "bundle") or write is header
    assert {stat.S_IMODE(each.stat().st_mode) for each in files} == {0o644 if readable else 0o600}


@pytest.mark.share(32)
@is_root
@pytest.mark.parametrize("is_shared", [False, True], ids=["his own", "everybody's"])
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda each: each.__name__)
@each_writer
def test_nothing_of_roots_is_harmed(write, attack, is_shared, tmp_path):
    victim = Victim(tmp_path / "victim")
    path = attack(directory_of(tmp_path, is_shared), victim)
    attempt(write, path)
    victim.require_unharmed()


def attempt(write, path):
    try:
        write(path)
    except REFUSALS:
        return False
    return True


@pytest.mark.share(9)
@is_root
@pytest.mark.parametrize("swap", RACES, ids=lambda each: each.__name__)
@each_writer
def test_nor_while_a_name_is_swapped(write, swap, tmp_path):
    victim = Victim(tmp_path / "victim")
    path, turn = swap(directory_of(tmp_path, False), victim)
    with Race(turn):
        for _ in range(ATTEMPTS):
            attempt(write, path)
    victim.require_unharmed()
