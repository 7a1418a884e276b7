"""The one error of whatever reads files of others."""

from __future__ import annotations


class DamagedError(Exception):
    """A file, or a program of one, does not fit what it says of itself. The text says where and in what, without the
    file's name. Nothing else is blamed on a file: any other exception is a fault of sonde's own."""
