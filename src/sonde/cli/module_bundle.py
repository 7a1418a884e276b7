"""The bundle of the package's compiled modules, from which the command imports them (`lazy.py`).

It is made of the compiled modules that Python has written beside their sources, when sonde is installed or first used,
and again when one of them has changed. Like these it is only there to be quicker: where it cannot be written there is
none.
"""

from __future__ import annotations

import marshal
import os
import struct
from importlib.util import MAGIC_NUMBER, cache_from_source

from sonde.lazy import BUNDLE_HEADER_SIZE, Index, bundle_path
from sonde.library import readable_files

_COMPILED_HEADER = struct.Struct("<4s3I")
"""Of a compiled module: Python's magic number, flags, time and size of the source (PEP 552)."""


def write_bundle(folder: str) -> None:
    """Bundle all modules below a package's directory that are compiled. Raises OSError."""
    readable_files.replace(bundle_path(folder), _bundled(folder))


def _bundled(folder: str) -> bytes:
    index: Index = {}
    codes: list[bytes] = []
    end = 0
    for directory, folders, files in os.walk(folder):
        folders[:] = sorted(set(folders) - {"__pycache__"})
        for name in sorted(files):
            source = f"{directory}/{name}"
            found = _compiled(source) if name.endswith(".py") else None
            if found is not None:
                time, size, code = found
                index[source.removeprefix(f"{folder}/")] = time, size, end, len(code)
                codes.append(code)
                end += len(code)
    of_index = marshal.dumps(index)
    size = BUNDLE_HEADER_SIZE + len(of_index) + end
    header = MAGIC_NUMBER + bytes(4) + size.to_bytes(8, "little") + len(of_index).to_bytes(8, "little")
    return b"".join((header, of_index, *codes))


def _compiled(source: str) -> tuple[int, int, bytes] | None:
    """Time and size of the source that it was compiled of, and the marshalled code; None if Python would not take it
    for what it is without reading the source."""
    try:
        with open(cache_from_source(source), "rb") as file:
            content = file.read()
    except OSError:
        return None
    if len(content) < _COMPILED_HEADER.size:
        return None
    magic, flags, time, size = _COMPILED_HEADER.unpack_from(content)
    return None if magic != MAGIC_NUMBER or flags else (time, size, content[_COMPILED_HEADER.size :])
