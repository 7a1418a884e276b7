"""Test files read: TOML to cases. Whatever is wrong is told before anything runs."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches

from sonde.library.errors import Error
from sonde.library.testing.case import SUFFIX, ScriptCase
from sonde.library.testing.expressions import ExpressionError, parsed
from sonde.library.testing.keys import KEYS, ValueRefusedError, shown
from sonde.library.testing.placeholders import PlaceholderError, lines_of
from sonde.typed import Any
from sonde.untrusted import read_named
from sonde.visible import visible

LARGEST = 1 << 20
"""Bytes of a test file."""

_MOST_PARTS = 32
_LONG_KEY = re.compile(rf"^[ \t]*\[{{0,2}}(?:[ \t]*[\w\"'-]+[ \t]*\.){{{_MOST_PARTS}}}", re.MULTILINE)
"""A key that is a path of many tables, each of which tomllib makes anew."""

_MOST_CASES = 10_000
_PROGRAMS = ("script", "program", "object")
_WITH_PLACEHOLDERS = ("output", "command_output", "stderr")
_WITH_PARTS = ("output_contains", "output_lacks", "stderr_contains", "stderr_lacks")


class CaseFileError(Error):
    """A test file, or a case of it, makes no sense."""


def find_files(paths: Iterable[str]) -> Iterator[str]:
    """The test files among these paths and below these directories, in order of their names. Raises CaseFileError."""
    for path in paths:
        if os.path.isdir(path):
            yield from _below(path)
        elif os.path.lexists(path):
            yield path
        else:
            raise CaseFileError(f"{visible(path)}: there is no such file or directory")


def _below(directory: str) -> Iterator[str]:
    for root, directories, files in os.walk(directory):
        # What is hidden is an environment's or a tool's own.
        directories[:] = sorted(each for each in directories if not each.startswith("."))
        for name in sorted(files):
            if name.endswith(SUFFIX) and not name.startswith("."):
                yield os.path.normpath(os.path.join(root, name))


def read_cases(path: str) -> tuple[ScriptCase, ...]:
    """The cases of a test file, in their order. Raises CaseFileError."""
    return cases_of(path, _table(path, text_of_file(path)))


def text_of_file(path: str) -> str:
    """Raises CaseFileError."""
    try:
        return read_named(path, LARGEST).decode()
    except OSError as error:
        raise CaseFileError(f"{visible(path)}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise CaseFileError(f"{visible(path)}: it is not UTF-8 (byte {error.start})") from None


def _table(path: str, text: str) -> dict[str, Any]:
    if _LONG_KEY.search(text):
        raise CaseFileError(f"{visible(path)}: a key has more than {_MOST_PARTS} parts")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise CaseFileError(f"{visible(path)}: {visible(str(error))}", "test files are TOML: toml.io") from None
    except (RecursionError, ValueError, OverflowError) as error:
        # Tables in tables without end, numbers of thousands of digits, dates that no calendar has.
        raise CaseFileError(f"{visible(path)}: it cannot be read as TOML ({visible(str(error))})") from None


def cases_of(path: str, table: Mapping[str, Any]) -> tuple[ScriptCase, ...]:
    """The cases of what a file has. Keys beside the cases' tables hold for each of them. Raises CaseFileError."""
    shared = {name: value for name, value in table.items() if name in KEYS or not isinstance(value, dict)}
    tables = {name: value for name, value in table.items() if name not in shared}
    if len(tables) > _MOST_CASES:
        raise CaseFileError(f"{visible(path)}: a file has {_MOST_CASES} cases at most")
    common = _fields(path, "", shared)
    if not tables:
        return (_case(path, "", common),)
    return tuple(_case(path, name, {**common, **_fields(path, name, each)}) for name, each in tables.items())


def _place(path: str, name: str) -> str:
    return f"{visible(path)}: {visible(name)}" if name else visible(path)


def _fields(path: str, name: str, table: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a case by the keys of a table."""
    found = {}
    for given, value in table.items():
        key = KEYS.get(given)
        if key is None:
            raise _unknown(path, name, given)
        try:
            found[key.field] = key.read(value)
        except ValueRefusedError as error:
            text = f"{_place(path, name)}: {given} is {error}, not {visible(shown(value))}"
            raise CaseFileError(text) from None
    return found


def _unknown(path: str, name: str, given: str) -> CaseFileError:
    close = get_close_matches(given, KEYS, 1)
    remedy = f"did you mean {close[0]}?" if close else "the keys are " + ", ".join(sorted(KEYS))
    return CaseFileError(f"{_place(path, name)}: there is no key {visible(given)}", remedy)


def _case(path: str, name: str, fields: dict[str, Any]) -> ScriptCase:
    place = _place(path, name)
    if not path.endswith(SUFFIX):
        raise CaseFileError(f"{place}: the names of test files end in {SUFFIX}")
    case = ScriptCase(path, name, **fields)
    if case.output is not None and case.output_file:
        raise CaseFileError(f"{place}: output and output-file are two ways to say one thing: give one")
    if case.recording and (case.command or case.packets):
        raise CaseFileError(f"{place}: a recording is replayed without a command and packets")
    if case.object and case.aggregations:
        raise CaseFileError(f"{place}: an object has no aggregations", "its maps are shown with the option --dump")
    case = _with_program(case, place)
    _check_expectations(case, place)
    return case


def _with_program(case: ScriptCase, place: str) -> ScriptCase:
    """With the script that has the file's name, if nothing else is given."""
    given = [each for each in _PROGRAMS if getattr(case, each)]
    if len(given) > 1:
        raise CaseFileError(f"{place}: {' and '.join(given)} are several programs: give one")
    if not given:
        own = os.path.basename(case.path).removesuffix(SUFFIX) + ".d"
        if not os.path.lexists(os.path.join(case.directory, own)):
            text = f"{place}: there is nothing to run: neither {', '.join(_PROGRAMS)} nor a file {visible(own)} here"
            raise CaseFileError(text)
        return case._replace(script=own)
    return case


def _check_expectations(case: ScriptCase, place: str) -> None:
    """Read what is expected once, so that mistakes in it are told though the case does not come that far."""
    try:
        for field in _WITH_PLACEHOLDERS:
            lines_of(getattr(case, field) or "")
        for field in _WITH_PARTS:
            for each in getattr(case, field):
                lines_of(each)
        for text in case.aggregations:
            parsed(text)
    except (PlaceholderError, ExpressionError) as error:
        raise CaseFileError(f"{place}: {visible(str(error))}") from None
