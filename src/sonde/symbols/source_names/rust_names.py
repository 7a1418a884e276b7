"""Rust's symbol names as the source has them: the scheme v0 and the legacy one. Hashes of crates and types of constants
are left out.

A name that is against the grammar, or beyond the bounds, is left as it is.
"""

from __future__ import annotations

import re

from sonde.symbols.source_names import rust_legacy
from sonde.symbols.source_names.rust_mangled import UnknownNameError
from sonde.symbols.source_names.rust_v0 import LONGEST, Printer

_LEGACY = re.compile(r"_{1,2}ZN(\d[\w.$]+)17h[0-9a-f]{16}E(\.[\w.$]*)?")
_V0 = re.compile(r"_{1,2}R(?=[A-Z])([0-9A-Za-z_]+)(\.[\w.$]*)?", re.ASCII)
_LLVM = re.compile(r"\.llvm\.[0-9A-F]+")


def demangle(name: str) -> str | None:
    """The name as it was written, None if it is not one of Rust's."""
    if len(name) > LONGEST:
        return None
    found = _LEGACY.fullmatch(name)
    if found:
        path = rust_legacy.path_of(found[1])
        return None if path is None else path + _suffix(found[2])
    found = _V0.fullmatch(name)
    if not found:
        return None
    try:
        return Printer(found[1]).symbol() + _suffix(found[2])
    except (UnknownNameError, RecursionError):
        # A level takes up to nine frames of Python's, whose number depends on who asks, too.
        return None


def _suffix(text: str | None) -> str:
    """What the optimizer has put behind the name, without the module that it was taken from."""
    return _LLVM.sub("", text or "")
