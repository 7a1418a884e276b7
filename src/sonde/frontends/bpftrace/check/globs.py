"""bpftrace's wildcards: `*` alone stands for anything."""

from __future__ import annotations

import re
from collections.abc import Callable


def is_glob(text: str) -> bool:
    """Whether a name has a wildcard."""
    return "*" in text


def glob(text: str) -> Callable[[str], bool]:
    """A test whether a name is one that the text describes."""
    expression = re.compile(".*".join(map(re.escape, text.split("*"))), re.DOTALL).fullmatch
    return lambda name: expression(name) is not None
