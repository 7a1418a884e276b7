"""The file that has the debug information of an object: itself, or one that its build id or .gnu_debuglink names.

The places and their order are gdb's ("Debugging Information in Separate Files"), then debuginfod's local cache; nothing
is asked for over a network.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from sonde import others
from sonde.directory_walk import is_trusted
from sonde.symbols.elf.costs import Costs
from sonde.symbols.elf.errors import CostError
from sonde.symbols.elf.file import ElfError, ElfFile
from sonde.typed import NamedTuple

DIRECTORIES = ("/usr/lib/debug",)
_LARGEST_NAME = 4096


class DebugFile(NamedTuple):
    """A file with debug information, the one that several share with it by dwz (None if there is none or it is
    missing, then `missing` is its name), and where they are."""

    path: str
    elf: ElfFile
    shared: ElfFile | None = None
    shared_path: str = ""
    missing: str = ""


def find_debug_file(
    path: str, elf: ElfFile, root: str = "", directories: Sequence[str] = DIRECTORIES, cache: str | None = None
) -> tuple[DebugFile | None, tuple[str, ...]]:
    """The debug information of the object at `path`, None if there is none; and the other files that were tried.

    `root` is where the directories are looked up, "/proc/PID/root" for a process in another mount namespace; `path`
    begins with it already. `cache` is debuginfod's, by default where its clients keep it. Raises ElfError if the
    object itself is damaged, CostError where looking for it takes too much.
    """
    if has_debug_information(elf):
        return _with_shared(path, elf, root, directories), ()
    tried = []
    for candidate, checksum in _candidates(path, elf, root, directories, cache):
        if candidate in tried:
            continue
        tried.append(candidate)
        found = open_regular(candidate, elf.costs)
        if found is not None and _matches(elf, found, checksum):
            return _with_shared(candidate, found, root, directories), tuple(tried)
    return None, tuple(tried)


def has_debug_information(elf: ElfFile) -> bool:
    """Whether the file itself has entries, not only lines or frames."""
    return any(each.name in (".debug_info", ".zdebug_info") and each.kind != 8 and each.size for each in elf.sections)


def open_regular(path: str, costs: Costs | None = None) -> ElfFile | None:
    """The ELF file at a path, None if it is missing, no ELF file, or no file at all (a FIFO would block); `costs` are
    those of the object that it belongs to."""
    try:
        elf = ElfFile.open(path, costs)
        elf.check()
    except CostError:
        raise
    except (OSError, ElfError, ValueError):
        return None
    return elf


def debug_link(elf: ElfFile) -> tuple[str, int] | None:
    """The name and the CRC-32 in .gnu_debuglink. A name with a directory in it is no link."""
    data = elf.section(".gnu_debuglink", 2 * _LARGEST_NAME) or b""
    end = data.find(b"\0", 0, _LARGEST_NAME)
    at = end + 4 & ~3
    if end <= 0 or b"/" in data[:end] or len(data) < at + 4:
        return None
    return os.fsdecode(data[:end]), int.from_bytes(data[at : at + 4], "little")


def shared_link(elf: ElfFile) -> tuple[str, str] | None:
    """The path and the build id, in hexadecimal, in .gnu_debugaltlink, which dwz makes."""
    data = elf.section(".gnu_debugaltlink", 2 * _LARGEST_NAME) or b""
    end = data.find(b"\0", 0, _LARGEST_NAME)
    return (os.fsdecode(data[:end]), data[end + 1 :].hex()) if end > 0 else None


def _candidates(
    path: str, elf: ElfFile, root: str, directories: Sequence[str], cache: str | None
) -> Iterator[tuple[str, int | None]]:
    """Paths, and the checksum the file there must have."""
    build_id = elf.build_id
    if build_id:
        for directory in directories:
            yield _by_build_id(root + directory, build_id), None
    link = debug_link(elf)
    if link:
        name, checksum = link
        where = os.path.dirname(others.real_path(path) if not root else path)
        yield os.path.join(where, name), checksum
        yield os.path.join(where, ".debug", name), checksum
        for directory in directories:
            inside = where.removeprefix(root) if root else where
            yield root + directory + os.path.join(inside, name), checksum
    if build_id:
        yield from ((each, None) for each in cached(build_id, cache))


def cached(build_id: str, cache: str | None = None) -> Iterator[str]:
    """The file of a build that a client of debuginfod has fetched, if there may be one; `cache` as above."""
    kept = os.path.join(cache or _cache(), build_id, "debuginfo")
    if _is_trusted(kept):
        yield kept


def _by_build_id(directory: str, build_id: str) -> str:
    return f"{directory}/.build-id/{build_id[:2]}/{build_id[2:]}.debug"


def _cache() -> str:
    """Where debuginfod's clients keep what they have fetched (debuginfod_find_debuginfo(3))."""
    given = os.environ.get("DEBUGINFOD_CACHE_PATH")
    if given:
        return given
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(base, "debuginfod_client")


def _is_trusted(path: str) -> bool:
    """Under sudo the home directory, and so the cache, may be another user's."""
    try:
        return is_trusted(others.stat(path))
    except OSError:
        return False


def _matches(elf: ElfFile, found: ElfFile, checksum: int | None) -> bool:
    if not has_debug_information(found):
        return False
    try:
        if elf.build_id and found.build_id:
            return elf.build_id == found.build_id
        return checksum is not None and found.checksum() == checksum
    except CostError:
        raise
    except ElfError:
        return False


def _with_shared(path: str, elf: ElfFile, root: str, directories: Sequence[str]) -> DebugFile:
    link = shared_link(elf)
    if link is None:
        return DebugFile(path, elf)
    name, build_id = link
    # A symbolic link of another root directory leads elsewhere in ours.
    where = os.path.dirname(path if root else others.real_path(path))
    places = [root + name if os.path.isabs(name) else os.path.join(where, name)]
    if build_id:
        places += [_by_build_id(root + directory, build_id) for directory in directories]
    for place in places:
        shared = open_regular(place, elf.costs)
        if shared is not None and shared.build_id in (None, build_id):
            return DebugFile(path, elf, shared, place)
    return DebugFile(path, elf, missing=name)
