"""The package's modules, found and read in fewer steps than Python takes for any module: a start imports hundreds.

Python looks for all kinds of files, and puts paths together anew at each step. A module of this package is NAME.py or
NAME/__init__.py in its package's directory. What the modules were compiled to is in one file, which is mapped
(`module_bundle.py`). What is not there, or was made of another source than there is now, is looked for beside the
module (PEP 3147). Where that is not so either, as in a zip file, Python's own finders and loaders do what they always
do.
"""

from __future__ import annotations

import marshal
import mmap
import os
import stat
import struct
import sys
from _imp import _fix_co_filename  # type: ignore[attr-defined]
from collections.abc import Sequence
from importlib._bootstrap_external import MAGIC_NUMBER  # importlib.util has it, too, and much besides
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import CodeType

_PACKAGE = __name__.partition(".")[0] + "."

_COMPILED = f".{sys.implementation.cache_tag}.pyc"

_AT_ONCE = 1 << 16
"""Bytes that are read of a compiled module; one that is larger Python reads."""

_BY_TIME = 0
"""Flags of a module that was compiled from a source of this time and size, not of this content (PEP 552)."""

COMPILED_HEADER = struct.Struct("<4s3I")
"""Of a compiled module: Python's magic number, flags, time and size of the source (PEP 552)."""

BUNDLE_HEADER = struct.Struct("<4s4xQQ")
"""Of a bundle: Python's magic number, the bundle's size, that of its marshalled index, which follows. This has by the
path of each source from the package's directory its time and size, and offset and size of the marshalled code."""

Index = dict[str, tuple[int, int, int, int]]


def find_quickly() -> _Finder | None:
    """From here on, unless Python has compiled modules elsewhere, or others because of -O."""
    if sys.flags.optimize or sys.pycache_prefix is not None:
        return None
    finder = _Finder()
    sys.meta_path.insert(0, finder)
    return finder


def package_folder() -> str:
    """The package's directory."""
    return __file__.rpartition("/cli/")[0]


def bundle_path(folder: str) -> str:
    return f"{folder}/__pycache__/modules.{sys.implementation.cache_tag}.bundle"


def _bundle(folder: str) -> tuple[memoryview, Index]:
    """What follows the index, and the index. Both are empty where no bundle of this Python is."""
    try:
        file = os.open(bundle_path(folder), os.O_RDONLY | os.O_CLOEXEC)
        try:
            content = memoryview(mmap.mmap(file, 0, mmap.MAP_PRIVATE, mmap.PROT_READ))
        finally:
            os.close(file)
        magic, size, of_index = BUNDLE_HEADER.unpack_from(content)
    except (OSError, ValueError, struct.error):
        return memoryview(b""), {}
    if magic != MAGIC_NUMBER or size != len(content):
        return memoryview(b""), {}
    begin = BUNDLE_HEADER.size + of_index
    return content[begin:], marshal.loads(content[BUNDLE_HEADER.size : begin])


class _Finder:
    """Asked by Python for each module before its own finders (importlib.abc.MetaPathFinder). `missed` is whether there
    were compiled modules that the bundle does not have."""

    def __init__(self) -> None:
        folder = package_folder()
        self._code, self._index = _bundle(folder)
        self._behind = len(folder) + 1
        self.missed = False

    def find_spec(self, name: str, path: Sequence[str] | None, _target: object = None) -> ModuleSpec | None:
        if not path or not name.startswith(_PACKAGE):
            return None
        directory, last = path[0], name.rpartition(".")[2]
        if about := _about(source := f"{directory}/{last}.py"):
            return self._spec(name, source, about, f"{directory}/__pycache__/{last}{_COMPILED}")
        if about := _about(source := f"{directory}/{last}/__init__.py"):
            spec = self._spec(name, source, about, f"{directory}/{last}/__pycache__/__init__{_COMPILED}")
            spec.submodule_search_locations = [f"{directory}/{last}"]
            return spec
        return None

    def _spec(self, name: str, source: str, about: os.stat_result, compiled: str) -> ModuleSpec:
        spec = ModuleSpec(name, _Loader(name, source, self, about), origin=source)
        spec.has_location = True
        spec.cached = compiled
        return spec

    def code(self, source: str, about: os.stat_result) -> CodeType | None:
        """What the file was compiled to, if that is known and belongs to what is there."""
        made_of = int(about.st_mtime) & 0xFFFF_FFFF, about.st_size & 0xFFFF_FFFF
        found = self._index.get(source[self._behind :])
        if found is not None and found[:2] == made_of:
            return _of(source, self._code[found[2] : found[2] + found[3]])
        beside = _code(source, made_of)
        self.missed |= beside is not None
        return beside


def _about(path: str) -> os.stat_result | None:
    """What a file is; None if there is no regular one."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found if stat.S_ISREG(found.st_mode) else None


class _Loader(SourceFileLoader):
    """Python's, but for how it comes by what was compiled."""

    def __init__(self, name: str, source: str, finder: _Finder, about: os.stat_result) -> None:
        super().__init__(name, source)
        self._finder = finder
        self._about = about

    def get_code(self, fullname: str) -> CodeType | None:
        return self._finder.code(self.path, self._about) or super().get_code(fullname)


def _code(source: str, made_of: tuple[int, int]) -> CodeType | None:
    """What the file, of this time and size, was compiled to, if that is beside it."""
    directory, _, name = source.rpartition("/")
    try:
        file = os.open(f"{directory}/__pycache__/{name[:-3]}{_COMPILED}", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        content = os.read(file, _AT_ONCE)
    finally:
        os.close(file)
    header = COMPILED_HEADER.pack(MAGIC_NUMBER, _BY_TIME, *made_of)
    if not content.startswith(header) or len(content) == _AT_ONCE:
        return None
    return _of(source, memoryview(content)[len(header) :])


def _of(source: str, marshalled: memoryview) -> CodeType:
    """The code of a file, which tracebacks name where it is, wherever it was compiled."""
    code: CodeType = marshal.loads(marshalled)
    _fix_co_filename(code, source)
    return code
