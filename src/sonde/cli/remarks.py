"""Remarks on commands of -c that may mean something else than their writer thinks; none changes the status."""

from __future__ import annotations

import re
from collections.abc import Iterator

_OF_SHELLS = frozenset(("|", "||", "&", "&&", ";", "<", ">", ">>", "2>", "2>&1", "2>/dev/null", ">/dev/null"))

_QUOTED = r"\\(?s:.)|'[^']*'|\"(?:[^\"\\]|\\(?s:.))*\""
_WORD = rf"(?:{_QUOTED}|[^\s'\"\\])+"
"""As shlex has words, which takes the quotes off."""


def shells(command: str) -> Iterator[tuple[str, str]]:
    """Signs of shells in a command of -c, which no shell reads: one line, and what helps."""
    if not set(command) & set("|&;<>"):
        return
    from shlex import quote  # mistakes alone need it

    words = [word.group() for word in re.finditer(_WORD, command)]
    bare = [(re.sub(_QUOTED, "_", word), word) for word in words]
    sign = next((word for rest, word in bare if rest in _OF_SHELLS or rest.endswith(";")), "")
    if not sign:
        return
    plain = not set(command) & set("'\"$`\\")
    line = f"\"sh -c '{command}'\"" if plain else quote(f"sh -c {quote(command)}")
    what = f"-c starts no shell: {words[0]} is given {sign} as a word"
    yield (what, f"with a shell: -c {line}\nand progenyof($target) for the shell's children")
