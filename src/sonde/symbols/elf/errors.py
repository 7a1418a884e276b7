"""What is wrong with an object or its debug information, for people."""

from __future__ import annotations


class ElfError(Exception):
    """The file is not little-endian ELF, or it is cut off."""


class DebugInfoError(Exception):
    """There is no debug information, it is damaged, or it is of a kind that cannot be read."""


class CostError(ElfError, DebugInfoError):
    """Reading an object takes more than it may (`costs`): who does without a damaged one does without this one."""
