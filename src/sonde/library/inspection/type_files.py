"""Files of types in the Compact C Type Format (CTF), as options ctypes and dtypes name them."""

from __future__ import annotations

import os

from sonde.frontends.d.ctf import ctf
from sonde.library.errors import Error
from sonde.library.settings import OptionTable
from sonde.model.types import Type
from sonde.written_files import create_named


def write_types(options: OptionTable, types: list[Type]) -> None:
    """Write the files that the options ask for: C's own types, and with them `types`, those of programs and their
    libraries. Raises Error."""
    declared: tuple[tuple[str, list[Type]], ...] = (("ctypes", []), ("dtypes", types))
    for option, kinds in declared:
        if options.is_set(option):
            _write(option, options.text(option), ctf(kinds, options.number("strsize")))


def _write(option: str, path: str, data: bytes) -> None:
    try:
        with open(create_named(path, os.O_TRUNC), "wb") as file:
            file.write(data)
    except OSError as error:
        raise Error(f"failed to write {option} to '{path}': {error.strerror}") from None
