"""Probe lines: `func=do_sys_openat2 filename how->flags`, as the section of a program or in the section `config`.

A line names a place and variables there. Before it, ended by `;` or a new line, `exec=PATH` says that the place is in
that program or library, and `module=NAME` in which module of the kernel it is. The word before `=` names the line: in
`config` it is the section of the program that the line is for. The form is that of perf probe (perf-probe(1)). A
section's name may be in quotes, which GNU as needs where there are blanks in it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sonde.objects.errors import ObjectError
from sonde.typed import NamedTuple

_SETTINGS = ("exec", "module")
_NAME = re.compile(r"[A-Za-z_]\w*")
_OF_CXX = r"(?:(?<=operator)[-+*/%^&|~!<>=,]+)?(?:[(<].*?)?"
_PLACE = re.compile(rf"([A-Za-z_$][\w.$:~]*?{_OF_CXX})(?:\+(0x[0-9a-fA-F]+|\d+)|(%return))?")
_SIGNS = re.compile(r"->|operator[-<>=]+")
_QUALIFIERS = frozenset(("const", "volatile", "&", "&&"))
"""What stands behind the parameters of a function of C++."""

SYSTEM_CALL = "syscall/"
"""What a system call's place begins with."""

_CALL = re.compile(rf"({SYSTEM_CALL}[a-z_]\w*)(%return)?")
_STATIC = re.compile(r"%[\w.$-]+:[\w.$-]+")
_LINE = re.compile(r"([^@\s]+)@(\d{1,9})")
_VARIABLE = re.compile(r"(?:([^@\s\"]+)@)?(\$?[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*)((?:(?:->|\.)[A-Za-z_]\w*|\[\d{1,9}\])*)")
_PART = re.compile(r"(->|\.)([A-Za-z_]\w*)|\[(\d+)\]")
_MOST = 512


class PathStep(NamedTuple):
    """A step from an object into it: `->` or `.` with a member's `name`, or `[` with an element's `number`."""

    kind: str
    name: str = ""
    number: int = 0


class WantedVariable(NamedTuple):
    """A variable: as it was written, its name, the way into it, and the source file that is named, "" if none is."""

    text: str
    name: str
    parts: tuple[PathStep, ...]
    file: str = ""


class ProbeLine(NamedTuple):
    """`function` and the offset in it, or `file` and `line`, or, as `function`, a static probe `%PROVIDER:NAME` or a
    system call `syscall/NAME`; `path` is the program's, "" for the kernel."""

    text: str
    path: str
    module: str
    function: str
    offset: int
    is_return: bool
    file: str
    line: int
    variables: tuple[WantedVariable, ...]


def is_line(section: str) -> bool:
    """Whether a section's name is a probe line."""
    return "=" in section


def is_system_call(line: ProbeLine) -> bool:
    """Whether the line is at one."""
    return line.function.startswith(SYSTEM_CALL)


def read_lines(text: str) -> dict[str, ProbeLine]:
    """The probe lines of a text by their names. Raises ObjectError."""
    settings = dict.fromkeys(_SETTINGS, "")
    found: dict[str, ProbeLine] = {}
    for piece in re.split(r"[;\n\0]", text.removeprefix('"').removesuffix('"')):
        statement = piece.strip()
        if not statement:
            continue
        name, equals, rest = statement.partition("=")
        if name.strip() in _SETTINGS and equals:
            settings[name.strip()] = rest.strip()
            continue
        if not equals or not _NAME.fullmatch(name.strip()):
            raise ObjectError(f"{statement!r} is no probe line", "write func=FUNCTION VARIABLE ...")
        found[name.strip()] = _line(statement, _words(rest), settings)
    return found


def line_of(path: str, place: str, variables: Sequence[str]) -> ProbeLine:
    """The probe line of words that stand alone: a place in the program or library of a path, "" for the kernel, and
    variables there. Raises ObjectError."""
    words = _words(" ".join((place, *variables)))
    return _line(f"func={' '.join(words)}", words, {"exec": path, "module": ""})


def _words(text: str) -> list[str]:
    """The words of a line. A function's name has blanks in its parameters, and before what stands behind these."""
    words = text.split()
    while len(words) > 1 and (_is_open(words[0]) or (")" in words[0] and _is_behind(words[1]))):
        words[:2] = [f"{words[0]} {words[1]}"]
    return words


def _is_open(word: str) -> bool:
    plain = _SIGNS.sub("", word)
    return plain.count("(") > plain.count(")") or plain.count("<") > plain.count(">")


def _is_behind(word: str) -> bool:
    return word.partition("+")[0].partition("%")[0] in _QUALIFIERS


def _line(statement: str, words: list[str], settings: dict[str, str]) -> ProbeLine:
    if not words:
        raise ObjectError(f"{statement!r} names no function")
    if not statement.isascii() and any("\ud800" <= each <= "\udfff" for each in statement):
        raise ObjectError(f"{statement!r} has bytes that are no text in UTF-8")
    variables = tuple(map(wanted, words[1:_MOST]))
    path, module = settings["exec"], settings["module"]
    if at := _LINE.fullmatch(words[0]):
        return ProbeLine(statement, path, module, "", 0, False, at[1], int(at[2]), variables)
    if _STATIC.fullmatch(words[0]):
        if not path:
            raise ObjectError(f"{statement!r}: static probes are of programs", "write exec=PATH before it")
        return ProbeLine(statement, path, module, words[0], 0, False, "", 0, variables)
    if call := _CALL.fullmatch(words[0]):
        if path or module:
            raise ObjectError(f"{statement!r}: a system call is in no file and no module")
        return ProbeLine(statement, "", "", call[1], 0, bool(call[2]), "", 0, variables)
    place = _PLACE.fullmatch(words[0])
    if place is None:
        raise ObjectError(
            f"{statement!r}: {words[0]} is no place",
            "write FUNCTION, FUNCTION+OFFSET, FUNCTION%return, FILE@LINE, %PROVIDER:NAME or syscall/NAME",
        )
    offset = int(place[2] or "0", 0)
    return ProbeLine(statement, path, module, place[1], offset, bool(place[3]), "", 0, variables)


def wanted(word: str) -> WantedVariable:
    """A variable as it is written. Raises ObjectError."""
    found = _VARIABLE.fullmatch(word)
    if found is None:
        raise ObjectError(
            f"{word} is no variable",
            "write NAME, NAME->MEMBER, NAME.MEMBER, NAME[NUMBER], or several; FILE@NAME is a static one of that file",
        )
    parts = tuple(
        PathStep("[", "", int(number)) if number else PathStep(kind, name)
        for kind, name, number in _PART.findall(found[3])
    )
    return WantedVariable(word, found[2], parts, found[1] or "")
