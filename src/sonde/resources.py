"""Files of the package that are no modules, wherever it was imported from: a directory, or a zip file.

Most of the time they are files, and importlib.resources, which finds them anywhere, takes 15 to 60 ms to import.
"""

from __future__ import annotations

import os

PLACE = os.path.dirname(__file__)
"""Where the package is: a directory, or a path into a zip file, which names its files in messages."""


def text(*path: str) -> str:
    """A file by its path below the package; undecodable bytes are surrogates. Raises OSError."""
    try:
        with open(os.path.join(PLACE, *path), "rb") as file:
            return file.read().decode(errors="surrogateescape")
    except NotADirectoryError:
        from importlib.resources import files  # few programs need a file of the package

        return files("sonde").joinpath(*path).read_bytes().decode(errors="surrogateescape")


def names(*path: str) -> list[str]:
    """What a directory of the package contains. Raises OSError."""
    try:
        return os.listdir(os.path.join(PLACE, *path))
    except NotADirectoryError:
        from importlib.resources import files  # few programs need a file of the package

        return [each.name for each in files("sonde").joinpath(*path).iterdir()]
