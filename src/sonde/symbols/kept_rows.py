"""Rows of unwind tables that are kept between runs: those of libc take a third of a second to be made.

They are kept in the user's cache directory by what they are made of, so that nobody can have them taken for another
file's: a build id is what a file says of itself. Whoever may not write there, or whose directory others may write to,
does without.
"""

from __future__ import annotations

import contextlib
import os
import stat
import zlib

from sonde.symbols.dwarf.unwind_rows import LARGEST, ROW, SECTION, unwind_rows
from sonde.symbols.elf import ElfFile
from sonde.untrusted import open_file

VERSION = b"sonde rows 1"
"""Another one when rows are made in another way."""

_FEW = 1000
"""So few rows are as quickly made."""

_MOST = 64
"""Files that are kept; the ones that have not been used for longest go."""

_LARGEST = 64 << 20
_CHECK = 4
"""Bytes of the checksum before the rows."""


def kept_rows(file: ElfFile, base: int, directory: str | None = None) -> bytes:
    """As unwind_rows. Raises ElfError."""
    section = next((each for each in file.sections if each.name == SECTION), None)
    if section is None or section.size < _FEW:
        return unwind_rows(file, base)
    from hashlib import blake2b  # an import for this alone

    where = directory or _directory()
    made_of = blake2b(file.contents(section, LARGEST), digest_size=20, salt=b"", person=VERSION)
    made_of.update(f" {section.address} {base}".encode())
    path = os.path.join(where, made_of.hexdigest())
    found = _read(path)
    if found is None:
        found = unwind_rows(file, base)
        if len(found) >= _FEW * ROW.size:
            # That it cannot be kept costs nothing but time.
            with contextlib.suppress(OSError):
                _write(where, path, found)
    return found


def _directory() -> str:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(base, "sonde", "unwind")


def _read(path: str) -> bytes | None:
    """None for what is not there, is not whole, or could be somebody else's."""
    try:
        with open_file(path, _LARGEST, os.O_NOFOLLOW) as file:
            status = os.fstat(file.fileno())
            if not _is_ours(status):
                return None
            check, rows = file.read(_CHECK), file.read(_LARGEST)
            os.utime(file.fileno())
    except OSError:
        return None
    return rows if rows and not len(rows) % ROW.size and check == _checksum(rows) else None


def _write(directory: str, path: str, rows: bytes) -> None:
    """Whole or not at all. Raises OSError."""
    os.makedirs(directory, 0o700, exist_ok=True)
    if not _is_ours(os.lstat(directory)):
        return
    temporary = f"{path}.{os.getpid()}"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with open(descriptor, "wb") as file:
            file.write(_checksum(rows) + rows)
        os.rename(temporary, path)
    except OSError:
        os.unlink(temporary)
        raise
    kept = [
        (os.lstat(each).st_mtime, each) for each in (os.path.join(directory, name) for name in os.listdir(directory))
    ]
    for _, each in sorted(kept)[:-_MOST]:
        os.unlink(each)


def _is_ours(status: os.stat_result) -> bool:
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _checksum(rows: bytes) -> bytes:
    return zlib.crc32(rows).to_bytes(_CHECK, "little")
