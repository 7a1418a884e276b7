"""D libraries, each parsed only when a program first uses a name that it declares: most programs use none."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence, Set

from sonde.frontends.d.source import ProgramSource

_DECLARED = r"""(?x)
      \binline\b [^=;\[]*? \b(?P<inline>\w+) \s* (?:\[[^\]]*\])* \s* =
    | \btypedef\b [^;{]*? \b(?P<typedef>\w+) \s* (?:\[[^\]]*\])* \s* ;
    | \} \s* (?P<closed>\w+) \s* ;
    | \b(?:struct|union) \s+ (?P<tag>\w+) \s* \{
    | \benum\b [^{;]* \{ (?P<enumerators>[^}]*) \}
"""
_COMMENT = r"(?s)/\*.*?\*/"
_WORD = r"[a-zA-Z_]\w*"


def declared_names(text: str) -> set[str]:
    """The names a library may declare: all that it does, and perhaps a few more."""
    names: set[str] = set()
    for match in re.finditer(_DECLARED, re.sub(_COMMENT, " ", text)):
        names.update(re.findall(_WORD, match[match.lastgroup or 0]))
    return names


class Libraries:
    """The libraries of one session; `find` reads them all, `add` parses one and adds its items to the program. `taken`
    are names that none declares: the language has them."""

    def __init__(
        self,
        find: Callable[[], Sequence[ProgramSource]],
        add: Callable[[ProgramSource], None],
        taken: Set[str] = frozenset(),
    ) -> None:
        self._find = find
        self._sources: Sequence[ProgramSource] = ()
        self._add = add
        self._taken = taken
        self._index: dict[str, list[int]] | None = None
        self._added: set[int] = set()

    def provide(self, name: str) -> None:
        """Add the libraries that declare `name`, unless they were added before."""
        if name in self._taken:
            return
        if self._index is None:
            self._sources = self._find()
            self._index = self._make_index()
        for number in self._index.pop(name, ()):
            self._add_once(number)

    def provide_all(self, directories: Sequence[str]) -> None:
        """Add the libraries of these directories, whatever they declare."""
        self._sources = self._sources or self._find()
        wanted = set(map(os.path.normpath, directories))
        for number, source in enumerate(self._sources):
            if os.path.normpath(os.path.dirname(source.file or "")) in wanted:
                self._add_once(number)

    def _add_once(self, number: int) -> None:
        if number not in self._added:
            self._added.add(number)
            self._add(self._sources[number])

    def _make_index(self) -> dict[str, list[int]]:
        index: dict[str, list[int]] = {}
        for number, source in enumerate(self._sources):
            for name in declared_names(source.text):
                index.setdefault(name, []).append(number)
        return index
