"""A path to what is written: the same file that the kernel finds, unless somebody else has put a link on the way."""

import os
import threading

import pytest
from support.files.hostile_directories import ATTACKER, Victim, given_away, linked

from sonde.directory_walk import folder_at, is_exposed, place_of
from sonde.written_files import Folder, create, open_at, remove_at, replace

is_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of other users")


def write(path, flags=os.O_TRUNC):
    descriptor = create(path, flags)
    try:
        os.write(descriptor, b"x")
    finally:
        os.close(descriptor)


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """Where the process is: a directory, another, and links to both."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "link").symlink_to("a/b")
    (tmp_path / "absolute").symlink_to(tmp_path / "a")
    (tmp_path / "a" / "up").symlink_to("../link/.")
    (tmp_path / "dangling").symlink_to("a/new")
    return tmp_path


@pytest.mark.parametrize(
    "path",
    [
        "file", "./file", "a/file", "a/../file", "a//b/./file", "link/file", "link/../file", "absolute/b/file",
        "a/up/file", "a/up/../../file", "dangling", "/proc/self/cwd/a/file", "/dev/../proc/self/cwd/file", b"a/file",
    ],
)  # fmt: skip
def test_it_leads_where_the_kernel_says(tree, path):
    write(path)
    assert os.stat(path).st_size == 1


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("", FileNotFoundError), ("no/file", FileNotFoundError), ("a", IsADirectoryError), ("a/", IsADirectoryError),
        ("/", IsADirectoryError), (".", IsADirectoryError), ("..", IsADirectoryError), ("link", IsADirectoryError),
        ("new/", FileNotFoundError), ("there/", NotADirectoryError), ("there/file", NotADirectoryError),
        ("loop/file", OSError), ("a\0b", ValueError),
    ],
)  # fmt: skip
def test_what_leads_nowhere_is_an_error(tree, path, kind):
    (tree / "there").write_text("")
    (tree / "loop").symlink_to("loop")
    before = sorted(os.listdir(tree))
    with pytest.raises(kind):
        write(path)
    assert sorted(os.listdir(tree)) == before


@pytest.mark.parametrize("form", ["/dev/fd/{}", "/proc/self/fd/{}", "/proc/thread-self/fd/{}"])
def test_descriptors_are_written_to_by_their_names_in_proc(form, tmp_path):
    """As a shell's >(command), /dev/stdout and /dev/stderr are; also of a file that has no name any more."""
    reads, writes = os.pipe()
    nameless = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT, 0o600)
    os.unlink(tmp_path / "file")
    try:
        write(form.format(writes))
        write(form.format(nameless))
        assert (os.read(reads, 9), os.pread(nameless, 9, 0)) == (b"x", b"x")
    finally:
        for each in (reads, writes, nameless):
            os.close(each)


def test_a_fifo_is_waited_for_and_a_device_taken(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    found = []
    reader = threading.Thread(target=lambda: found.append((tmp_path / "fifo").read_bytes()))
    reader.start()
    write(tmp_path / "fifo")
    reader.join()
    assert found == [b"x"]
    write("/dev/null")


def test_no_descriptor_is_left_open(tree):
    before = sorted(os.listdir("/proc/self/fd"))
    for path in ("a/up/file", "no/file", "a", "dangling", "there/x/y"):
        try:
            write(path)
            folder_at(path, makes=False)
        except OSError:
            pass
    Folder("a").close()
    assert sorted(os.listdir("/proc/self/fd")) == before


@is_root
def test_a_directory_that_becomes_a_link_between_two_looks_is_not_followed(tmp_path, monkeypatch):
    victim, below = Victim(tmp_path / "victim"), tmp_path / "below"
    below.mkdir()
    look = os.stat

    def swap(name, *words, **more):
        found = look(name, *words, **more)
        if name == "below" and not below.is_symlink():
            below.rename(tmp_path / "aside")
            linked(below, victim.folder)
        return found

    monkeypatch.setattr(os, "stat", swap)
    with pytest.raises(NotADirectoryError):
        write(below / "file")
    monkeypatch.undo()
    assert below.is_symlink()
    victim.require_unharmed()


@is_root
def test_nor_is_a_file_in_the_place_that_was_found(tmp_path):
    victim = Victim(tmp_path / "victim")
    with place_of(tmp_path / "file") as place:
        linked(tmp_path / "file", victim.file)
        with pytest.raises(PermissionError, match="symbolic link"):
            open_at(place, os.O_TRUNC)
    victim.require_unharmed()


def test_a_name_is_removed_only_while_it_is_that_of_the_open_file(tmp_path):
    path = tmp_path / "file"
    with place_of(path) as place:
        descriptor = open_at(place)
        path.rename(tmp_path / "other")
        path.write_text("of somebody else")
        remove_at(place, descriptor)
        assert path.read_text() == "of somebody else"
        (tmp_path / "other").rename(path)
        remove_at(place, descriptor)
        remove_at(place, descriptor)
        os.close(descriptor)
    assert not [*tmp_path.iterdir()]


def test_what_replaces_a_file_is_there_as_a_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_text("before")
    path.chmod(0o664)
    replace(str(path), b"after", mode=None)
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("after", 0o664)

    def fails(descriptor, data):
        raise OSError(28, "full")

    monkeypatch.setattr(os, "write", fails)
    with pytest.raises(OSError, match="full"):
        replace(str(path), b"more")
    monkeypatch.undo()
    assert path.read_text() == "after"
    assert [*tmp_path.iterdir()] == [path]


@is_root
def test_whose_links_are_followed(tmp_path):
    """Those of who writes, and of nobody else, wherever they are."""
    linked(tmp_path / "link", "there")
    (tmp_path / "there").mkdir()
    with pytest.raises(PermissionError, match="a symbolic link that somebody else has made: link"):
        write(tmp_path / "link" / "file")
    os.chown(tmp_path / "link", 0, 0, follow_symlinks=False)
    write(tmp_path / "link" / "file")


@is_root
def test_a_folder_is_nobody_elses(tmp_path):
    for path, mode, owner in (("his", 0o755, ATTACKER), ("everybodys", 0o1777, 0), ("a group's", 0o775, 0)):
        (tmp_path / path).mkdir()
        (tmp_path / path).chmod(mode)
        os.chown(tmp_path / path, owner, ATTACKER)
        assert is_exposed((tmp_path / path).stat())
        with pytest.raises(PermissionError, match="somebody else has made it, or may write to it"):
            Folder(str(tmp_path / path))
    Folder(str(tmp_path / "new" / "folder")).close()
    assert [(tmp_path / each).stat().st_mode & 0o777 for each in ("new", "new/folder")] == [0o700, 0o700]


@is_root
@pytest.mark.parametrize("way", ["his", "link", "open"])
def test_what_is_private_has_nobody_elses_directory_on_the_way(tmp_path, way):
    folder = tmp_path / "home" / "folder"
    folder.mkdir(parents=True)
    Folder(str(folder), is_private=True).close()
    if way == "his":
        given_away(tmp_path / "home")
    elif way == "open":
        (tmp_path / "home").chmod(0o777)
    else:
        (tmp_path / "home").rename(tmp_path / "elsewhere")
        linked(tmp_path / "home", "elsewhere")
    with pytest.raises(PermissionError):
        Folder(str(folder), is_private=True)
