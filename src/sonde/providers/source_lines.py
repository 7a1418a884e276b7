"""Source positions as functions of probe descriptions: `pid1234:a.out:parse.c@120:`, wherever control reaches the line.

Such a probe is called `parse.c@120`, as it was asked for, and by its place: `parse+1a` for the instruction at that
hexadecimal offset in function parse, so a line with copies has a probe for each, and a name chooses among them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sonde.model.errors import NO_FUNCTION, OUTSIDE_FUNCTION, SourceError
from sonde.providers.pattern import plain
from sonde.symbols.dwarf import breakpoints, errors
from sonde.symbols.elf.file import ElfError
from sonde.symbols.functions import CodeObject
from sonde.typed import NamedTuple

_POSITION = re.compile(r"(.+)@([0-9]{1,9})")


class SourceLine(NamedTuple):
    """A line of the source files whose paths are `file` or end in it."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}@{self.line}"


def source_line(function: str) -> SourceLine | None:
    """The source position that a description's function is, None if it is none. Raises SourceError for a glob."""
    found = _POSITION.fullmatch(function)
    if found is None:
        return None
    if plain(found[1]) is None:
        hint = "name the file, with a directory before it where several have its name"
        raise SourceError(NO_FUNCTION, f"the source position '{function}' is no file and line", hint=hint)
    return SourceLine(found[1].removeprefix("./"), int(found[2]))


def unknown_function(function: str, module: str, hint: str, names: Sequence[str] = ()) -> SourceError:
    """A function, or a place in a source, that a module does not have."""
    text = f"there is no function {function} in {module}"
    return SourceError(NO_FUNCTION, text, hint=hint, names=names, about=(function, module))


def addresses(objects: Sequence[CodeObject], module: str, where: SourceLine) -> list[tuple[CodeObject, int]]:
    """Where control reaches the line, as linked. Raises SourceError if it does in none of the objects.

    `module` is what the description says of them: that of a glob there is no file in is passed over.
    """
    found: list[tuple[CodeObject, int]] = []
    refused: list[SourceError] = []
    for each in objects:
        try:
            found += [(each, address) for address in _of_object(each, where)]
        except SourceError as error:
            refused.append(error)
    if found or not refused:
        return found
    if plain(module) or len(refused) == 1:
        raise refused[0]
    with_file = [error for error in refused if error.kind == OUTSIDE_FUNCTION]
    if with_file:
        raise with_file[0]
    names = ", ".join(each.name for each in objects if _has_information(each))
    hint = (
        f"with debug information there are {names}" if names else "none of them has debug information (compile with -g)"
    )
    raise SourceError(NO_FUNCTION, f"no object of the process has a source file '{where.file}'", hint=hint)


def _of_object(each: CodeObject, where: SourceLine) -> list[int]:
    try:
        with errors.damaged(each.path, OSError, ElfError):
            found = breakpoints.stops(each.information, where.file, where.line)
    except (OSError, ElfError, errors.DebugInfoError) as error:
        raise unknown_function(str(where), each.name, getattr(error, "strerror", None) or str(error)) from None
    if found and found[0].line != where.line:
        text = f"line {where.line} of {where.file} has no code of its own"
        raise SourceError(OUTSIDE_FUNCTION, text, hint=f"the next line that has is {where.file}@{found[0].line}")
    return [stop.address for stop in found]


def _has_information(each: CodeObject) -> bool:
    try:
        return bool(each.information)
    except (OSError, ElfError, errors.DebugInfoError):
        return False
