"""What keeps tracing from beginning, in words for the user."""

from __future__ import annotations


class SessionError(Exception):
    """Tracing is not possible as it was asked for: why, and in `hint` what would help."""

    def __init__(self, text: str, hint: str = "") -> None:
        super().__init__(text)
        self.text = text
        self.hint = hint


class NotPermittedError(SessionError):
    """This user, or a container, may not trace."""
