"""Unwind tables that are kept between runs: those of libc take 0.15 s to be made, those of a compiler seconds.

They are kept in the user's cache directory by what they are made of, so that nobody can have them taken for another
file's: a build id is what a file says of itself. Only tables of this user's files and of root's are kept. Whoever may
not write there, or where somebody else may replace a directory on the way, as where sudo keeps another user's HOME,
does without.
"""

from __future__ import annotations

import contextlib
import os
import re
import struct
import zlib
from collections.abc import Generator

from sonde import written_files
from sonde.symbols.dwarf.unwind_rows import NO_ROWS, RowsSource, UnwindRows, make_rows, rows_source
from sonde.symbols.elf.costs import Costs
from sonde.symbols.elf.file import ElfFile
from sonde.typed import NamedTuple

VERSION = b"sonde rows 4"
"""Another one when rows are made in another way."""

_SMALL, _FEW = 1000, 4000
"""So few bytes of descriptions, or of rows, are as quickly made."""

_MOST = 256
"""Files that are kept; the ones that have not been used for longest go."""

_NAME = re.compile(r"[0-9a-f]{40}(\.[0-9]+)?")
"""Of a kept file, and of one that is being written. Nothing else is removed."""

_LARGEST = 64 << 20
_CHECK = 4
"""Bytes of the checksum before the rest."""

_SIZES = struct.Struct("<III")
"""Of the blocks, the rows and the rules, which follow."""


class KeptRows(NamedTuple):
    """An object's rows if they were kept, what they are made of otherwise, and the name that they are kept by, "" if
    they are not to be."""

    rows: UnwindRows | None
    source: RowsSource | None = None
    name: str = ""
    directory: str = ""


def kept_rows(file: ElfFile, directory: str | None = None) -> KeptRows:
    """What is kept of an object. Raises ElfError."""
    source = rows_source(file)
    if source is None or len(source.data) < _SMALL:
        return KeptRows(None, source)
    where, name = directory or _directory(), _name(source)
    rows = _read(where, name)
    if rows is not None:
        return KeptRows(rows)
    # Whoever makes a file could make hundreds, for which those of others would go.
    return KeptRows(None, source, name if file.is_trusted else "", where)


def made_rows(kept: KeptRows, costs: Costs) -> Generator[None, None, UnwindRows]:
    """Make them; from then on they are kept. `costs` are those of the file. Raises ElfError."""
    if kept.source is None:
        return NO_ROWS
    found = yield from make_rows(kept.source, costs)
    if kept.name and len(found.rows) >= _FEW:
        # That it cannot be kept costs nothing but time.
        with contextlib.suppress(OSError):
            _write(kept.directory, kept.name, found)
    return found


def _name(source: RowsSource) -> str:
    """Of all that rows are made of, and nothing else."""
    from hashlib import blake2b  # an import for this alone

    made_of = blake2b(source.data, digest_size=20, person=VERSION)
    made_of.update(f" {source.address} {[tuple(each) for each in source.segments]}".encode())
    if source.outermost:
        made_of.update(f" {source.outermost}".encode())
    return made_of.hexdigest()


def _directory() -> str:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(base, "sonde", "unwind")


def _read(directory: str, name: str) -> UnwindRows | None:
    """None for what is not there, is not whole, or could be somebody else's."""
    try:
        with written_files.Folder(directory, is_private=True, makes=False) as folder, folder.open(name) as file:
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


def _write(directory: str, name: str, rows: UnwindRows) -> None:
    """Whole or not at all. Raises OSError."""
    if not os.environ.get("XDG_CACHE_HOME") and not os.path.isdir(os.path.expanduser("~")):
        # As service accounts have it: nobody's home is made for the sake of a cache.
        return
    data = _SIZES.pack(*map(len, rows)) + b"".join(rows)
    with written_files.Folder(directory, is_private=True) as folder:
        folder.replace(name, _checksum(data) + data)
        kept = [(folder.status(each).st_mtime_ns, each) for each in folder.names() if _NAME.fullmatch(each)]
        for _, each in sorted(kept)[:-_MOST]:
            folder.remove(each)


def _checksum(data: bytes) -> bytes:
    return zlib.crc32(data).to_bytes(_CHECK, "little")
