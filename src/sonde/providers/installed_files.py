"""Programs and libraries that are installed and have a section, found by their section's name alone: a look at each
takes some tens of microseconds."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable, Iterator, Sequence
from glob import glob

from sonde import others
from sonde.arch import object_files
from sonde.untrusted import open_regular

_LIBRARIES = (
    "/lib", "/usr/lib", "/usr/local/lib", "/lib64", "/usr/lib64",
    f"/lib/{object_files.LIBRARIES}", f"/usr/lib/{object_files.LIBRARIES}",
)  # fmt: skip
"""Where libraries are on most systems."""

_APART = ("/usr/lib/postgresql/*/bin", "/usr/lib/jvm/*/lib/server")
"""Where programs and libraries of languages and databases are that are started by others."""

_MOST = 20_000
"""Files that are looked at."""

_NAMES = 1 << 14
"""Bytes of the names of a file's sections that are looked at."""

_OFFSET, _COUNTS = struct.Struct("<Q"), struct.Struct("<HHH")
_PLACE = struct.Struct("<QQ")
_HEADER, _SECTION = 64, 64


def with_sections(names: Sequence[str]) -> Iterator[str]:
    """The paths of the files that have a section of one of the names, each file once."""
    seen: set[tuple[int, int]] = set()
    for path in _files():
        if len(seen) >= _MOST:
            return
        try:
            descriptor = open_regular(path)
        except OSError:
            continue
        try:
            status = os.fstat(descriptor)
            identity = status.st_dev, status.st_ino
            if identity not in seen:
                seen.add(identity)
                if has_section(descriptor, names):
                    yield path
        except OSError:
            continue
        finally:
            os.close(descriptor)


def has_section(descriptor: int, names: Sequence[str]) -> bool:
    """Whether a file may have a section of one of the names. Raises OSError."""
    found = _section_names(descriptor)
    return any(name.encode() + b"\0" in found for name in names)


def _files() -> Iterator[str]:
    programs = (*os.get_exec_path(), *(found for each in _APART for found in sorted(glob(each))))
    yield from _in_directories(programs, "")
    yield from _in_directories(_LIBRARIES, ".so")


def _in_directories(directories: Iterable[str], part: str) -> Iterator[str]:
    for directory in dict.fromkeys(map(others.real_path, directories)):
        try:
            with os.scandir(directory) as entries:
                found = [each.path for each in entries if part in each.name and each.is_file()]
        except OSError:
            continue
        yield from sorted(found)


def _section_names(descriptor: int) -> bytes:
    """The names of a file's sections, "" if it is no ELF file of 64 bits (elf(5))."""
    header = os.pread(descriptor, _HEADER, 0)
    if len(header) < _HEADER or header[:5] != b"\x7fELF\x02":
        return b""
    (sections,), (size, count, index) = _OFFSET.unpack_from(header, 40), _COUNTS.unpack_from(header, 58)
    if size != _SECTION or index >= count or sections >= 1 << 62:
        return b""
    section = os.pread(descriptor, _SECTION, sections + index * _SECTION)
    if len(section) < _SECTION:
        return b""
    offset, length = _PLACE.unpack_from(section, 24)
    return os.pread(descriptor, min(length, _NAMES), offset) if offset < 1 << 62 else b""
