"""Files that sonde makes are their owner's, and files that nobody has named are believed only of who may decide."""

import os
import stat

import pytest

from sonde.cli.messages import Messages
from sonde.cli.read import read_file
from sonde.directory_walk import is_trusted
from sonde.library.errors import ScriptError
from sonde.written_files import create, empty

IS_ROOT = os.geteuid() == 0
ANYBODY = 65534


def mode_of(path):
    return stat.S_IMODE(os.stat(path).st_mode)


@pytest.fixture
def shared(tmp_path):
    """A directory like /tmp."""
    path = tmp_path / "shared"
    path.mkdir()
    path.chmod(0o1777)
    return path


def write(path, flags=0):
    descriptor = create(str(path), flags)
    os.write(descriptor, b"x")
    os.close(descriptor)


@pytest.mark.parametrize("flags", [0, os.O_APPEND, os.O_TRUNC])
def test_what_is_made_is_for_its_owner(tmp_path, flags):
    before = os.umask(0)
    try:
        write(tmp_path / "made", flags)
    finally:
        os.umask(before)
    assert mode_of(tmp_path / "made") == 0o600


def test_what_is_begun_anew_is_too_and_what_is_appended_to_stays_as_it_is(tmp_path):
    path = tmp_path / "there"
    path.write_text("abc")
    path.chmod(0o644)
    write(path, os.O_APPEND)
    assert (path.read_text(), mode_of(path)) == ("abcx", 0o644)
    write(path, os.O_TRUNC)
    assert (path.read_text(), mode_of(path)) == ("x", 0o600)


def test_devices_and_links_of_ones_own_are_written_to(tmp_path, shared):
    write("/dev/null", os.O_TRUNC)
    empty(os.open("/dev/null", os.O_WRONLY))
    (shared / "link").symlink_to(tmp_path / "target")
    write(shared / "link")
    assert (tmp_path / "target").read_text() == "x"


@pytest.mark.skipif(not IS_ROOT, reason="only root can make files of other users")
@pytest.mark.parametrize("flags", [0, os.O_APPEND, os.O_TRUNC])
@pytest.mark.parametrize("kind", ["file", "link", "dangling link"])
def test_nobody_elses_file_is_written_to_where_others_may_put_one(tmp_path, shared, kind, flags):
    target, path = tmp_path / "target", shared / "predictable"
    if kind == "link":
        target.write_text("precious")
    if kind == "file":
        path.write_text("precious")
    else:
        path.symlink_to(target)
    os.chown(path, ANYBODY, ANYBODY, follow_symlinks=False)
    with pytest.raises(PermissionError):
        create(str(path), flags)
    assert not target.exists() if kind == "dangling link" else path.read_text() == "precious"


@pytest.mark.skipif(not IS_ROOT, reason="only root can make files of other users")
def test_a_file_of_somebody_else_in_a_directory_of_his_is_the_users_choice(tmp_path):
    path = tmp_path / "log"
    path.write_text("")
    os.chown(path, ANYBODY, ANYBODY)
    write(path, os.O_APPEND)
    assert path.read_text() == "x"


@pytest.mark.parametrize(
    ("owner", "group", "mode", "expected"),
    [
        (os.geteuid(), os.getegid(), 0o600, True), (os.geteuid(), os.getegid(), 0o664, True),
        (os.geteuid(), os.getegid(), 0o602, False), (0, 0, 0o644, True),
        (os.geteuid(), ANYBODY, 0o644, True), (os.geteuid(), ANYBODY, 0o664, False), (ANYBODY, 0, 0o600, False),
    ],
)  # fmt: skip
def test_whose_file_is_believed(owner, group, mode, expected):
    found = os.stat_result((stat.S_IFREG | mode, 0, 0, 1, owner, group, 0, 0, 0, 0))
    assert is_trusted(found) == expected


def test_read_without_a_file_refuses_one_that_anybody_may_have_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "perf.data"
    path.write_bytes(b"nothing")
    path.chmod(0o666)
    with pytest.raises(ScriptError, match="neither yours nor root's") as refused:
        read_file([], Messages("sonde"))
    assert "sonde read ./perf.data" in refused.value.remedy
    # Named, or made private, it is read: here it is no such file.
    with pytest.raises(ScriptError, match="no perf"):
        read_file(["./perf.data"], Messages("sonde"))
    path.chmod(0o600)
    with pytest.raises(ScriptError, match="no perf"):
        read_file([], Messages("sonde"))
