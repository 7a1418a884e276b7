"""What keeps tracing from beginning, in words for the user."""

from __future__ import annotations

import errno


class SessionError(Exception):
    """Tracing is not possible as it was asked for: why, and in `hint` what would help."""

    def __init__(self, text: str, hint: str = "") -> None:
        super().__init__(text)
        self.text = text
        self.hint = hint


class NotPermittedError(SessionError):
    """This user, or a container, may not trace."""


def limit_hint(error: OSError) -> str:
    """What helps where sonde has no more of something that the user can raise; "" else."""
    return "raise the limit of open files: `ulimit -n`" if error.errno == errno.EMFILE else ""
