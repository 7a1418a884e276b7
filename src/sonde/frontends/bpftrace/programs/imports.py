"""The items of a program and of the files that it imports (docs/language.md of bpftrace, Imports)."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Sequence

from sonde.frontends.bpftrace.errors import BtError, SourceSpan
from sonde.frontends.bpftrace.program_text import ProgramText
from sonde.frontends.bpftrace.syntax import nodes
from sonde.frontends.bpftrace.syntax.program import items, stream_of
from sonde.untrusted import lines, read_regular, text_in

LARGEST_PROGRAM = 512 << 10
"""Bytes of a program's text."""

_SCRIPT, _HEADER, _C = ".bt", ".h", ".c"
_BUILT_IN = "stdlib"
"""The folder of what is a part of the language here."""

_MOST_FILES = 256
_TYPEDEF = r"\btypedef\b(?:[^{};]|\{[^}]*\})*?(\w+)\s*(?:\[[^\]]*\]\s*)*;"


class ProgramFiles:
    """Reads a program, and what it imports where it does. `text` is what has been read so far."""

    def __init__(self, text: str, file: str | None, arguments: Sequence[str]) -> None:
        self._arguments = arguments
        self._given = text
        self._file = file
        self._lines = lines(text)
        self._imported: list[tuple[int, str]] = []
        self._types: frozenset[str] = frozenset()
        """What C text has named so far."""
        self._known = {os.path.realpath(file)} if file is not None else set()

    @property
    def text(self) -> ProgramText:
        return ProgramText(self._file or "stdin", self._lines, tuple(self._imported))

    def items(self) -> Iterator[nodes.Item]:
        """Those of imported files stand where they are imported. Raises BtError."""
        yield from self._of(self._given, os.path.dirname(self._file or ""), 0)

    def missing_probe(self) -> None:
        """Raise BtError for a program without one, at its end."""
        stream = stream_of(self._given, self._arguments)
        for _ in items(stream):
            pass
        stream.fail("syntax: expected a probe", stream.peek())

    def _of(self, text: str, folder: str, before: int) -> Iterator[nodes.Item]:
        # What is empty before a file's lines makes its places those of the whole text.
        stream = stream_of("\n" * before + text, self._arguments)
        for item in items(stream):
            if not isinstance(item, nodes.Import):
                yield item
                continue
            yield from self._imports(item, folder)
            stream.types |= self._types
        self._types |= stream.types

    def _imports(self, item: nodes.Import, folder: str) -> Iterator[nodes.Item]:
        if item.path.split("/")[0] == _BUILT_IN:
            return
        path = os.path.join(folder, item.path)
        if not os.path.isdir(path):
            yield from self._file_items(item, path)
            return
        _refuse_writable(path, item.at)
        for name in sorted(os.listdir(path)):
            if name.endswith((_SCRIPT, _HEADER, _C)):
                yield from self._file_items(item, os.path.join(path, name))

    def _file_items(self, item: nodes.Import, path: str) -> Iterator[nodes.Item]:
        own = os.path.realpath(path)
        if own in self._known:
            return
        self._known.add(own)
        text = self._read(item, path)
        if path.endswith(_HEADER):
            self._types |= frozenset(re.findall(_TYPEDEF, text))
            yield nodes.CDefinition(item.at, text)
            return
        before = len(self._lines)
        self._imported.append((before, path))
        self._lines += lines(text)
        for each in self._of(text, os.path.dirname(path), before):
            if isinstance(each, nodes.ConfigSetting):
                raise BtError("Imported scripts cannot have a config block", each.at)
            yield each

    def _read(self, item: nodes.Import, path: str) -> str:
        """Raises BtError."""
        if path.endswith(_C):
            hint = "write its functions as macros"
            raise BtError(f"{path}: functions in C are not supported: sonde has no C compiler", item.at, hint)
        if not path.endswith((_SCRIPT, _HEADER)):
            raise BtError(
                f"Unknown file type of import: {path}", item.at, "import files named *.bt or *.h, or a folder"
            )
        if len(self._known) > _MOST_FILES:
            raise BtError(f"more than {_MOST_FILES} files are imported", item.at)
        try:
            _refuse_writable(os.path.dirname(path) or ".", item.at)
            return text_in(read_regular(path, LARGEST_PROGRAM))
        except OSError as error:
            raise BtError(f"Failed to import {path}: {error.strerror}", item.at) from None


def _refuse_writable(folder: str, at: SourceSpan) -> None:
    """Raises BtError for a folder into which anybody may put files."""
    if os.stat(folder).st_mode & stat.S_IWOTH:
        text = f"Refusing to import from the world-writable folder {folder}"
        raise BtError(text, at, "import it from a folder of yours")
