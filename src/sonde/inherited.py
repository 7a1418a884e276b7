"""The environment as sonde was given it, for what it starts itself."""

from __future__ import annotations

import os

from sonde.untrusted import kernel_text

_COERCED = ("C.UTF-8", "C.utf8", "UTF-8")
"""What Python sets LC_CTYPE to where the locale is C (PEP 538)."""


def environment() -> dict[str, str]:
    """All variables but the one that the interpreter has set for itself."""
    found = dict(os.environ)
    if found.get("LC_CTYPE") in _COERCED and not _was_given("LC_CTYPE"):
        del found["LC_CTYPE"]
    return found


def _was_given(name: str) -> bool:
    """Whether the process began with a variable: what is set later is elsewhere in its memory (proc(5), environ)."""
    try:
        return any(each.startswith(f"{name}=") for each in kernel_text("/proc/self/environ").split("\0"))
    except OSError:
        return True
