"""Messages of the text report for somebody else than people at the error output."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any


class MessageFile(io.RawIOBase):
    """A file of messages, each a line after the command's name, which `tell` is given without it."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell

    def write(self, data: Any) -> int:
        text = bytes(data).decode(errors="surrogateescape")
        self._tell(text.partition(": ")[2].strip())
        return len(data)
