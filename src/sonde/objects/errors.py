"""What is wrong with an object."""

from __future__ import annotations


class ObjectError(Exception):
    """The object cannot be loaded: what is wrong and where, and for people what would help (`hint`)."""

    def __init__(self, text: str, hint: str = "") -> None:
        super().__init__(text)
        self.text = text
        self.hint = hint
