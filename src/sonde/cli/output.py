"""The standard output of commands that do not trace."""

from __future__ import annotations

import os


def show(text: str, descriptor: int = 1) -> None:
    """Write at once: in order with messages and with what a session writes. Raises OSError."""
    data = text.encode(errors="surrogateescape")
    while data:
        data = data[os.write(descriptor, data) :]
