"""The standard output of commands that do not trace."""

from __future__ import annotations

import os

from sonde.library import visible_lines, write_all


def show(text: str, descriptor: int = 1) -> None:
    """Write at once: in order with messages and with what a session writes. Raises OSError.

    The lines are the caller's, who keeps what comes from outside in one (`sonde.visible`). A terminal gets nothing else
    that it could obey.
    """
    shown = visible_lines(text) if os.isatty(descriptor) else text
    write_all(descriptor, shown.encode(errors="surrogateescape"))
