"""Directories as an ordinary user prepares them for what root is going to write there, and root's own files that must
stay as they are."""

import itertools
import os
import stat
import threading
from contextlib import suppress

ATTACKER = 65534

PRECIOUS = b"precious"
TURNS = 300
"""So often a name is swapped while something is written."""


class Victim:
    """A directory of root's, with a file in it, and what both were at the beginning."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()
        self.file = folder / "file"
        self.file.write_bytes(PRECIOUS)
        for each in ("file.old", "part-000001.parquet", ".part-000001.open", "0" * 40):
            (folder / each).write_bytes(PRECIOUS)
        self.absent = folder / "absent"
        self._before = self._state()

    def _state(self):
        found = {}
        for path in (self.folder, *self.folder.iterdir()):
            about = path.lstat()
            content = path.read_bytes() if stat.S_ISREG(about.st_mode) else None
            found[path] = (about.st_mode, about.st_uid, about.st_ino, content)
        return found

    def require_unharmed(self):
        assert self._state() == self._before


def given_away(path):
    os.chown(path, ATTACKER, ATTACKER, follow_symlinks=False)
    return path


def linked(path, target):
    path.symlink_to(target)
    return given_away(path)


def to_a_file(folder, victim):
    return linked(folder / "file", victim.file)


def to_nothing_yet(folder, victim):
    return linked(folder / "file", victim.absent)


def by_another_link(folder, victim):
    linked(folder / "other", victim.file)
    return linked(folder / "file", "other")


def to_its_directory(folder, victim):
    return linked(folder / "below", victim.folder) / "file"


def with_a_link_of_roots(folder, victim):
    """Root's own link, which leads on to one of the attacker's."""
    linked(folder / "other", victim.folder)
    (folder / "below").symlink_to("other")
    return folder / "below" / "file"


def of_another_name(folder, victim):
    """Where fs.protected_hardlinks is off any user can do this."""
    os.link(victim.file, folder / "file")
    return folder / "file"


def brought_link(folder, victim):
    """A link of root's, likewise."""
    (victim.folder.parent / "link").symlink_to(victim.file)
    os.link(victim.folder.parent / "link", folder / "file", follow_symlinks=False)
    return folder / "file"


def beside(folder, victim):
    """Where files are that are written, or kept, on the way."""
    for each in (f"file.{os.getpid()}", "file.old", ".part-000001.open", "part-000001.parquet"):
        linked(folder / each, victim.file)
    return folder / "file"


def in_a_folder(folder, victim):
    """What is to be a folder is one already."""
    made = folder / "file"
    made.mkdir()
    for each in (".part-000001.open", ".part-000002.open", "part-000001.parquet", "part-000002.parquet"):
        linked(made / each, victim.file)
    return given_away(made)


def as_its_folder(folder, victim):
    return linked(folder / "file", victim.folder)


def fifo(folder, victim):
    """Nobody reads it: whoever opens it to write to it waits for ever, where he may."""
    os.mkfifo(folder / "file")
    return given_away(folder / "file")


ATTACKS = [
    to_a_file, to_nothing_yet, by_another_link, to_its_directory, with_a_link_of_roots, of_another_name, brought_link,
    beside, in_a_folder, as_its_folder, fifo,
]  # fmt: skip


def directory_of(tmp_path, is_shared):
    """The attacker's own, or one like /tmp."""
    folder = tmp_path / "directory"
    folder.mkdir()
    if is_shared:
        folder.chmod(0o1777)
    else:
        given_away(folder)
    return folder


class Race:
    """Swaps what is there, in a thread of its own, until it has done so `TURNS` times or the block ends."""

    def __init__(self, turn):
        self._turn = turn
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self):
        for _ in range(TURNS):
            if self._ends.is_set():
                return
            # What is written meanwhile may be in the way once.
            with suppress(OSError):
                self._turn()

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._ends.set()
        self._thread.join()


def swapped_directory(folder, victim):
    """A directory on the way, which is a link to the victim's now and then; the path below it, and one turn."""
    below, aside, link = folder / "below", folder / "aside", linked(folder / "link", victim.folder)
    numbers = itertools.count()
    below.mkdir()
    given_away(below)

    def turn():
        below.rename(aside)
        try:
            link.rename(below)
            below.rename(link)
        finally:
            if below.is_dir():
                # It was made anew meanwhile.
                below.rename(folder / f"aside{next(numbers)}")
            aside.rename(below)

    return below / "file", turn


def swapped_file(folder, victim):
    """The file itself, likewise."""
    path, link, numbers = folder / "file", folder / "link", itertools.count()

    def turn():
        link.unlink(missing_ok=True)
        linked(link, victim.file)
        if path.is_dir():
            path.rename(folder / f"aside{next(numbers)}")
        link.rename(path)
        path.unlink()

    return path, turn


RACES = [swapped_directory, swapped_file]
