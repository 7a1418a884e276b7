"""What a case expects as its output written anew, from what it has shown."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence

from sonde.library.testing.case import Ran, ScriptCase
from sonde.library.testing.checking import expected_output, output_path
from sonde.library.testing.matching import ADDED, KEPT, alignment
from sonde.library.testing.patience import TooSlowError, bounded
from sonde.library.testing.placeholders import lines_of, plain_lines
from sonde.library.testing.reading import CaseFileError, text_of_file
from sonde.library.testing.running import TEMPORARY
from sonde.typed import Any
from sonde.visible import visible
from sonde.written_files import replace

_KEY = re.compile(r"\s*(?:output|\"output\"|'output')\s*=")
_PLACEHOLDER = "{{"


def update(case: ScriptCase, ran: Ran) -> bool:
    """Write what the run has shown into the case's file, or its file of output; whether that has changed it. Lines that
    fit stay as they are, with their placeholders. Raises CaseFileError."""
    expected = expected_output(case)
    if expected is None:
        return False
    if "output" in ran.behind:
        raise CaseFileError(f"{visible(case.title)}: its output is too long to be expected")
    try:
        with bounded():
            made = _renewed(expected, ran)
    except TooSlowError as error:
        raise CaseFileError(f"{visible(case.title)}: comparing its output: {error}") from None
    if made == expected:
        return False
    if case.output_file:
        _write(output_path(case), made)
    else:
        _write(case.path, replaced(case, text_of_file(case.path), made))
    return True


def _renewed(expected: str, ran: Ran) -> str:
    """The shown lines, with those expected in the place of what they fit."""
    lines = lines_of(expected.replace(TEMPORARY, ran.temporary))
    made: list[str] = []
    for step in alignment(lines, plain_lines(ran.output)):
        if step.sign == KEPT and step.expected is not None:
            made.append(step.expected.source)
        elif step.sign == ADDED and step.text is not None:
            made.append(step.text.replace(_PLACEHOLDER, r"{{/\{\{/}}"))
    return "".join(f"{each}\n" for each in made).replace(ran.temporary, TEMPORARY)


def replaced(case: ScriptCase, source: str, output: str) -> str:
    """The text of a test file with another output of the case. Raises CaseFileError where that is written in a way that
    is not found, or would change more."""
    before = tomllib.loads(source)
    wanted = _with_output(before, case.name, output)
    lines = source.split("\n")
    for start, line in enumerate(lines):
        if not _KEY.match(line):
            continue
        for end in range(start + 1, len(lines) + 1):
            if not _is_whole("\n".join(lines[start:end])):
                continue
            made = "\n".join([*lines[:start], f"output = {quoted(output)}", *lines[end:]])
            if _loaded(made) == wanted:
                return made
            break
    raise CaseFileError(f"{visible(case.title)}: its output is not a key `output` of its own: it cannot be updated")


def _is_whole(text: str) -> bool:
    return _loaded(text) is not None


def _loaded(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError):
        return None


def _with_output(table: Mapping[str, Any], name: str, output: str) -> dict[str, Any]:
    """The file's table as it is to be; the output may stand in the case or beside all."""
    own = table[name] if name else table
    if name and "output" in own:
        return {**table, name: {**own, "output": output}}
    return {**table, "output": output}


def quoted(text: str) -> str:
    """As TOML has it: as it is shown, if that can be."""
    if "'''" not in text and text.replace("\n", "").replace("\t", "").isprintable():
        return f"'''\n{text}'''"
    escaped = "".join(_escaped(each) for each in text)
    return f'"""\n{escaped}"""'


def _escaped(character: str) -> str:
    if character in "\n\t" or (character.isprintable() and character not in '"\\'):
        return character
    if character in '"\\':
        return f"\\{character}"
    number = ord(character)
    if 0xD800 <= number < 0xE000:
        raise CaseFileError("the output is not UTF-8, as test files are: expect it with placeholders")
    return f"\\u{number:04x}" if number < 1 << 16 else f"\\U{number:08x}"


def _write(path: str, text: str) -> None:
    """In the place of what there is, at once. Raises CaseFileError."""
    try:
        replace(path, text.encode(), mode=None)
    except OSError as error:
        raise CaseFileError(f"{visible(path)}: {error.strerror}") from None


def updated(case: ScriptCase, runs: Sequence[Ran]) -> bool:
    """Of the first run, if there was one."""
    return bool(runs) and update(case, runs[0])
