"""The package's modules, found and read in fewer steps than Python takes for any module: a start imports hundreds.

Python looks for all kinds of files, and puts paths together anew at each step. A module of this package is NAME.py or
NAME/__init__.py in its package's directory, and what it was compiled to is beside it (PEP 3147). Where that is not so,
as in a zip file, and where the source was changed since, Python's own finders and loaders do what they always do.
"""

from __future__ import annotations

import marshal
import os
import stat
import struct
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import MAGIC_NUMBER
from types import CodeType

_PACKAGE = __name__.partition(".")[0] + "."

_COMPILED = f".{sys.implementation.cache_tag}.pyc"

_AT_ONCE = 1 << 16
"""Bytes that are read of a compiled module; one that is larger Python reads."""

_BY_TIME = 0
"""Flags of a module that was compiled from a source of this time and size, not of this content (PEP 552)."""


def find_quickly() -> None:
    """From here on, unless Python has compiled modules elsewhere, or others because of -O."""
    if not sys.flags.optimize and sys.pycache_prefix is None:
        sys.meta_path.insert(0, _Finder())


class _Finder:
    """Asked by Python for each module before its own finders (importlib.abc.MetaPathFinder)."""

    def find_spec(self, name: str, path: Sequence[str] | None, _target: object = None) -> ModuleSpec | None:
        if not path or not name.startswith(_PACKAGE):
            return None
        directory, last = path[0], name.rpartition(".")[2]
        if _is_file(source := f"{directory}/{last}.py"):
            return _spec(name, source, f"{directory}/__pycache__/{last}{_COMPILED}")
        if _is_file(source := f"{directory}/{last}/__init__.py"):
            spec = _spec(name, source, f"{directory}/{last}/__pycache__/__init__{_COMPILED}")
            spec.submodule_search_locations = [f"{directory}/{last}"]
            return spec
        return None


def _is_file(path: str) -> bool:
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except OSError:
        return False


def _spec(name: str, source: str, compiled: str) -> ModuleSpec:
    spec = ModuleSpec(name, _Loader(name, source), origin=source)
    spec.has_location = True
    spec.cached = compiled
    return spec


class _Loader(SourceFileLoader):
    """Python's, but for how it comes by what was compiled."""

    def get_code(self, fullname: str) -> CodeType | None:
        return _code(self.path) or super().get_code(fullname)


def _code(source: str) -> CodeType | None:
    """What the file was compiled to, if that is beside it and belongs to what is there."""
    directory, _, name = source.rpartition("/")
    try:
        file = os.open(f"{directory}/__pycache__/{name[:-3]}{_COMPILED}", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        content = os.read(file, _AT_ONCE)
    finally:
        os.close(file)
    about = os.stat(source)
    header = MAGIC_NUMBER + struct.pack("<3I", _BY_TIME, int(about.st_mtime) & 0xFFFF_FFFF, about.st_size & 0xFFFF_FFFF)
    if not content.startswith(header) or len(content) == _AT_ONCE:
        return None
    code: CodeType = marshal.loads(memoryview(content)[len(header) :])
    # Tracebacks name the file that it was compiled of, which is another one if the package was moved.
    return code if code.co_filename == source else None
