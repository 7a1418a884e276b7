"""Mistakes in probe functions."""

from __future__ import annotations

from sonde.model.errors import LANGUAGE, Position, SourceError


class PythonError(SourceError):
    """What cannot be compiled: `text` says what, `hint` what to write instead."""

    def __init__(self, text: str, position: Position, hint: str = "") -> None:
        super().__init__(LANGUAGE, text, position, hint)
