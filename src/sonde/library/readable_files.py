"""Files that are no traced data but made of sources, which others may read, as they may what compilers make."""

from __future__ import annotations

import os

from sonde.written_files import create
from sonde.written_files import replace as replace_file

_WRITTEN, _REPLACED = 0o666, 0o644
"""Their modes, less the umask: as compilers have them, and as Python has compiled modules of a package."""


def write(path: str, content: bytes) -> None:
    """Write a file anew. Raises OSError."""
    with open(create(path, os.O_TRUNC, mode=_WRITTEN), "wb") as file:
        file.write(content)


def replace(path: str, content: bytes) -> None:
    """Put a file there, whole or not at all. Raises OSError."""
    replace_file(path, content, _REPLACED)
