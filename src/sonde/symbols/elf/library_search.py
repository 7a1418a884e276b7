"""Files that a process does not have mapped, by the name that a probe description gives: where its dynamic linker would
look for a library (ld.so(8)), and the paths that its program and its arguments mention."""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Callable, Iterable, Iterator

from sonde import others
from sonde.arch import object_files
from sonde.symbols.elf.file import ElfError, ElfFile
from sonde.typed import TypeAlias
from sonde.untrusted import kernel_start

USUAL = tuple(
    f"{prefix}/{name}"
    for name in (f"lib/{object_files.LIBRARIES}", "lib64", "lib")
    for prefix in ("/usr/local", "", "/usr")
)
"""Directories with libraries where nothing else is said."""

Fits: TypeAlias = Callable[[str], bool]
"""Whether a file's name is one that is meant."""

_DYNAMIC = 6
_ENTRY = struct.Struct("<QQ")
_NEEDED, _RPATH, _RUNPATH = 1, 15, 29
_LARGEST = 16 << 20
"""Bytes of a section that are looked at."""

_MOST_NEEDED = 512
"""Libraries that are looked for."""

_MOST_WORDS = 1 << 20
"""Bytes of a process's arguments, or of its environment, that are looked at."""


def spellings(name: str) -> Iterator[str]:
    """What an object may be called whose file has this name: libc.so.6, libc.so and libc are one."""
    yield name
    stem, dot, version = name.partition(".so")
    if dot:
        if version:
            yield stem + dot
        yield stem


def in_directories(name: str, root: str, directories: Iterable[str], fits: Fits | None = None) -> Iterator[str]:
    """Paths of files in the directories that may be called `name`; `root` is put before each. With `fits` the name is
    what theirs begin with."""
    seen = set()
    for directory in directories:
        if directory not in seen:
            seen.add(directory)
            for each in _listed(root + directory):
                if each.startswith(name) and _is_meant(name, each, fits):
                    yield f"{root}{directory}/{each}"


def _is_meant(name: str, file: str, fits: Fits | None) -> bool:
    return name in spellings(file) if fits is None else fits(file)


def of_process(
    name: str, pid: int, root: str, mapped: Iterable[tuple[str, ElfFile]], proc: str = "/proc",
    fits: Fits | None = None,
) -> list[str]:  # fmt: skip
    """Paths, beginning with `root`, of files that a process may come to load under that name, or, with `fits`, under
    one that begins so and fits.

    `mapped` are the files it has mapped: their paths, the program's first, without `root`, and what is in them. `root`
    is what / is for it.
    """
    objects = list(mapped)
    directory = _link(f"{proc}/{pid}/cwd")
    arguments, environment = _words(f"{proc}/{pid}/cmdline"), _words(f"{proc}/{pid}/environ")
    variables = dict(each.split("=", 1) for each in environment if "=" in each)
    paths = [os.path.dirname(path) for path, _ in objects[:1]]
    paths += re.split("[:;]", variables.get("LD_LIBRARY_PATH", ""))
    for path, file in objects:
        origin = os.path.dirname(path)
        paths += [each.replace("${ORIGIN}", origin).replace("$ORIGIN", origin) for each in run_paths(file)]
    paths += [os.path.dirname(path) for path, _ in objects]
    paths += [directory, *USUAL]
    mentioned = [each for each in (*arguments, *variables.values()) if "/" in each]
    for _, program in objects[:1]:
        mentioned += _texts(program, name)
    files = [each for each in mentioned if _is_meant(name, os.path.basename(each), fits)]
    paths += [each for each in mentioned if each not in files]
    found = list(in_directories(name, root, (os.path.join(directory, each) for each in paths if each), fits))
    for each in files:
        # What a program puts before such a name when it runs is most often its own directory.
        relative = each.rpartition("%s")[2].lstrip("/") if "%s" in each else each
        bases = (directory, *(os.path.dirname(path) for path, _ in objects[:1]))
        found += [root + os.path.normpath(os.path.join(base, relative)) for base in bases]
    return found


def run_paths(file: ElfFile) -> list[str]:
    """DT_RPATH and DT_RUNPATH (System V gABI, "Dynamic Section"), as they are written."""
    return [path for text in _strings(file, (_RPATH, _RUNPATH)) for path in text.split(":") if path]


def needed(path: str, pid: int, root: str, proc: str = "/proc") -> list[str]:
    """Paths, beginning with `root`, of the libraries that the dynamic linker will load for the program at a path, as
    far as they are where it looks for them first."""
    environment = _words(f"{proc}/{pid}/environ")
    search = [each.partition("=")[2] for each in environment if each.startswith("LD_LIBRARY_PATH=")]
    usual = [*":".join(search).split(":"), *USUAL]
    found: dict[str, str] = {}
    pending = [path]
    while pending:
        try:
            file = ElfFile.open(root + pending[0])
            own = [each.replace("${ORIGIN}", "$ORIGIN") for each in run_paths(file)]
            own = [each.replace("$ORIGIN", os.path.dirname(pending[0])) for each in own]
            for name in _strings(file, (_NEEDED,)):
                places = (os.path.join(each, name) for each in (*own, *usual) if each)
                where = next((each for each in places if others.is_file(root + each)), None)
                if where is not None and name not in found and len(found) < _MOST_NEEDED:
                    found[name] = where
                    pending.append(where)
        except (OSError, ElfError):
            # It will not be loaded either, or what it needs is met later.
            pass
        pending = pending[1:]
    return [root + each for each in found.values()]


def _strings(file: ElfFile, tags: Iterable[int]) -> list[str]:
    """What the entries of the dynamic section with these tags say, in its order. Raises ElfError."""
    found: list[str] = []
    for section in file.sections:
        if section.kind == _DYNAMIC and section.link < len(file.sections):
            data, strings = file.contents(section, _LARGEST), file.contents(file.sections[section.link], _LARGEST)
            for tag, value in _ENTRY.iter_unpack(data[: len(data) // _ENTRY.size * _ENTRY.size]):
                if tag in tags:
                    found.append(os.fsdecode(strings[value : strings.find(b"\0", value)]))
    return found


def _texts(file: ElfFile, name: str) -> Iterator[str]:
    """Paths among a program's constants whose last part begins with `name`."""
    pattern = re.compile(rb"[\x21-\x7e]*/" + re.escape(os.fsencode(name)) + rb"[\x21-\x7e]*\0")
    for section in file.sections:
        if section.name == ".rodata":
            for found in pattern.finditer(file.contents(section, _LARGEST)):
                yield os.fsdecode(found[0][:-1])


def _listed(directory: str) -> list[str]:
    try:
        return sorted(others.listed(directory))
    except OSError:
        return []


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return "/"


def _words(path: str) -> list[str]:
    """What stands between NULs."""
    try:
        return [os.fsdecode(each) for each in kernel_start(path, _MOST_WORDS).split(b"\0")]
    except OSError:
        return []
