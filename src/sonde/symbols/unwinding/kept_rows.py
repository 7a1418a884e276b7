"""Unwind tables that are kept between runs: those of libc take 0.15 s to be made, those of a compiler seconds.

They are kept in the user's cache directory by what they are made of, so that nobody can have them taken for another
file's: a build id is what a file says of itself. Whoever may not write there, or whose directory others may write to,
does without.
"""

from __future__ import annotations

import contextlib
import os
import stat
import struct
import zlib
from collections.abc import Generator

from sonde.symbols.dwarf.unwind_rows import LARGEST, SECTION, UnwindRows, make_rows
from sonde.symbols.elf.file import ElfFile
from sonde.typed import NamedTuple
from sonde.untrusted import open_file

VERSION = b"sonde rows 3"
"""Another one when rows are made in another way."""

_SMALL, _FEW = 1000, 4000
"""So few bytes of descriptions, or of rows, are as quickly made."""

_MOST = 256
"""Files that are kept; the ones that have not been used for longest go."""

_LARGEST = 64 << 20
_CHECK = 4
"""Bytes of the checksum before the rest."""

_SIZES = struct.Struct("<III")
"""Of the blocks, the rows and the rules, which follow."""


class KeptRows(NamedTuple):
    """An object's rows if they were kept, and what they are kept by, "" if they are not worth it."""

    rows: UnwindRows | None
    path: str


def kept_rows(file: ElfFile, directory: str | None = None) -> KeptRows:
    """What is kept of an object. Raises ElfError."""
    section = next((each for each in file.sections if each.name == SECTION), None)
    if section is None or section.size < _SMALL:
        return KeptRows(None, "")
    from hashlib import blake2b  # an import for this alone

    where = directory or _directory()
    made_of = blake2b(file.contents(section, LARGEST), digest_size=20, salt=b"", person=VERSION)
    segments = [each[:4] for each in file.segments]
    made_of.update(f" {section.address} {file.machine} {segments}".encode())
    path = os.path.join(where, made_of.hexdigest())
    return KeptRows(_read(path), path)


def made_rows(file: ElfFile, path: str) -> Generator[None, None, UnwindRows]:
    """As make_rows; from then on they are kept. Raises ElfError."""
    found = yield from make_rows(file)
    if path and len(found.rows) >= _FEW:
        # That it cannot be kept costs nothing but time.
        with contextlib.suppress(OSError):
            _write(os.path.dirname(path), path, found)
    return found


def _directory() -> str:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(base, "sonde", "unwind")


def _read(path: str) -> UnwindRows | None:
    """None for what is not there, is not whole, or could be somebody else's."""
    try:
        with open_file(path, _LARGEST, os.O_NOFOLLOW) as file:
            status = os.fstat(file.fileno())
            if not _is_ours(status):
                return None
            check, data = file.read(_CHECK), file.read(_LARGEST)
            os.utime(file.fileno())
    except OSError:
        return None
    if check != _checksum(data) or len(data) < _SIZES.size:
        return None
    blocks, rows, rules = _SIZES.unpack_from(data)
    if _SIZES.size + blocks + rows + rules != len(data):
        return None
    first, second = _SIZES.size + blocks, _SIZES.size + blocks + rows
    return UnwindRows(data[_SIZES.size : first], data[first:second], data[second:])


def _write(directory: str, path: str, rows: UnwindRows) -> None:
    """Whole or not at all. Raises OSError."""
    os.makedirs(directory, 0o700, exist_ok=True)
    if not _is_ours(os.lstat(directory)):
        return
    data = _SIZES.pack(*map(len, rows)) + b"".join(rows)
    temporary = f"{path}.{os.getpid()}"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with open(descriptor, "wb") as file:
            file.write(_checksum(data) + data)
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


def _checksum(data: bytes) -> bytes:
    return zlib.crc32(data).to_bytes(_CHECK, "little")
