"""A mistake in a D program as a message: dtrace's text, and below it for people the line it is about."""

from __future__ import annotations

from sonde.frontends.d.advice import findings
from sonde.frontends.d.errors import SCRIPT, DError
from sonde.frontends.d.programs import excerpts
from sonde.frontends.d.source import INPUT
from sonde.model.errors import Position, ProgramError
from sonde.typed import TYPE_CHECKING
from sonde.visible import single_line

if TYPE_CHECKING:
    from sonde.frontends.d.advice.finding import Trial

_OUTSIDE_CLAUSES = ("D_SYNTAX", "D_EMPTY", "D_INT_", "D_CHR_", "D_STR_", "D_MACRO_", "D_PRAG", "D_PDESC_", "D_PROC_")
"""Mistakes found while reading, before dtrace knows which part of a clause it is in."""

_HINTS = {
    "D_PDESC_ZERO": "list the probes there are with -l; -Z allows descriptions that match none",
    "D_MACRO_UNDEF": "give the argument behind the program, or set -xdefaultargs",
    "D_MACRO_UNUSED": "quote the whole program as one argument, or set -xargref",
}


def compile_error(
    error: DError, failure: str, text: str, is_script: bool, with_tag: bool, trial: Trial | None = None
) -> ProgramError:
    """The message for a mistake in the program `text`; `failure` says which program it is.

    With `trial`, which compiles a text and gives its first mistake, people are told of the mistakes behind the first
    as well, and of changes that have been tried.
    """
    tag = f"[{error.tag}] " if with_tag else ""
    where = _where_in_script(error.position) if is_script else _region(error, text)
    what = f"{tag}{where}{error.text}"
    script = failure.removeprefix(SCRIPT) if is_script else None
    hint = _no_text(failure) if "\0" in text else _explained(error, text, script, trial)
    # A program that is given on the command line stands in the message as it is; a script's name is anybody's.
    shown = single_line(failure) if is_script else failure
    brief = "" if is_script else f"{_without_program(failure, text, error.position is not None)}: {what}"
    return ProgramError(f"{shown}: {what}", hint, True, brief, error, text)


def library_error(error: DError, failure: str, with_tag: bool) -> ProgramError:
    """The message for a mistake in a library of -L; `failure` says which program was to be compiled with it."""
    tag = f"[{error.tag}] " if with_tag else ""
    position = error.position
    where = f'"{single_line(position.file or "")}", line {position.line}: ' if position else ""
    what = f"{tag}{where}{error.text}"
    return ProgramError(f"{failure}: {what}", error.hint, True, f"failed to read a library: {what}", error)


def _without_program(failure: str, text: str, is_shown_below: bool) -> str:
    """What the message begins with for people, who see the line below it and need not see the program twice."""
    head = failure.removesuffix(text).rstrip()
    if is_shown_below or not failure.endswith(text):
        return head
    first, newline, _ = text.partition("\n")
    return f"{head} {first}{' ...' if newline else ''}"


def _explained(error: DError, text: str, script: str | None, trial: Trial | None) -> str:
    """What stands below the message: places, lines, and what helps."""
    # Only needed to help with a mistake.

    hint = "\n".join(filter(None, (error.hint, _in_one_word(error, text) or _HINTS.get(error.tag, ""))))
    position = error.position
    if trial is None or position is None or position.line_directive:
        return excerpts.placed(error, text, hint, script)

    return excerpts.shown(findings.findings(error, text, trial), text, position.file, hint)


def _no_text(failure: str) -> str:
    """What stands below the message about a file that is no text, as programs are that somebody wants to trace."""
    path = single_line(failure.rpartition(" ")[2])
    line = f"sonde -c {path} -n 'syscall:::entry /pid == $target/\n  {{ @[probefunc] = count(); }}'"
    return f"this is no text: -s takes a program in D; to trace that file as a command:\n{line}"


def _in_one_word(error: DError, text: str) -> str:
    """Where the argument that is too many is the rest of the program: both as one word of the command line."""
    argument = error.text.partition("'")[2].rpartition("' (")[0]
    if error.tag != "D_MACRO_UNUSED" or not argument.startswith(("{", "/")):
        return ""
    said = "the program is one word, between one pair of quotes"
    is_second = error.text.endswith("($1 is not referenced)")
    return f"{said}:\nsonde -n {_quoted(f'{text.strip()} {argument}')}" if is_second else said


def _quoted(text: str) -> str:
    """As one word of a shell's."""
    return "'" + text.replace("'", "'\\''") + "'"


def _where_in_script(position: Position | None) -> str:
    if position is None:
        return ""
    # The preprocessor's own name for its input is the script.
    if position.line_directive and position.file not in (None, INPUT):
        return f'"{single_line(position.file or "")}", line {position.line}: '
    return f"line {position.line}: "


def _region(error: DError, text: str) -> str:
    """The part of a clause, which dtrace names where a program has no file."""
    position = error.position
    if position is None or error.tag.startswith(_OUTSIDE_CLAUSES):
        return ""
    region = _region_at(text, _offset(text, position))
    return f"in {region}: " if region else ""


def _offset(text: str, position: Position) -> int:
    before = text.split("\n")[: position.line - 1]
    return sum(len(line) + 1 for line in before) + position.column - 1


def _region_at(text: str, end: int) -> str:
    """`predicate` or `action list` where `end` lies in one, by the braces and slashes before it."""
    region, index = "", 0
    while index < min(end, len(text)):
        if text[index] == '"':
            index = _after_string(text, index)
            continue
        if text.startswith("/*", index):
            index = text.find("*/", index) + 2 or len(text)
            continue
        if text[index] == "{":
            region = "action list"
        elif text[index] == "}":
            region = ""
        elif text[index] == "/" and not region:
            region = "predicate"
        index += 1
    return region


def _after_string(text: str, start: int) -> int:
    index = start + 1
    while index < len(text) and text[index] != '"':
        index += 2 if text[index] == "\\" else 1
    return index + 1
