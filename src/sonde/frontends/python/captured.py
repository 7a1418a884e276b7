"""Probe functions as they were captured: their sources, and what the names in them mean, as plain values and as a text.

The text is what the front end is given. It stands for itself: no module is imported and no object looked at again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from sonde.typed import Any, NamedTuple

SHARED = "!"
"""Stands before the name of a variable that functions share, behind what tells it from others of that name."""


class Meaning(NamedTuple):
    """What a name means outside of the function. `kind` and `value`:

    `integer` an int; `text` a str; `none`; `tuple` a list of meanings; `function` the number of a captured function;
    `aggregation` the number of one; `table` the name of an associative array; `subroutine` D's name of a function;
    `type` the C type that an integer type stands for; `word` a function of sonde's for probes (`cast`, `sizeof` ...);
    `maker` an aggregating function; `builtin` a name of Python's; `thread` and `kernel`; `missing` what may be meant;
    `outside` what it is, of what no program can use.
    """

    kind: str
    value: Any = None


class CapturedAggregation(NamedTuple):
    """`parameters` are those of lquantize() and llquantize(), else (); `title` says in words what it shows."""

    name: str
    function: str
    parameters: tuple[int, ...]
    title: str


class CapturedFunction(NamedTuple):
    """`source` are the lines of the function as they are in the file, with its decorators; `line` is the number of the
    first. `names` are what is named in it and not its own, dotted names with their dots; `cells` the variables of
    functions around it, each with a name that no other has."""

    name: str
    module: str
    file: str
    line: int
    source: str
    probes: tuple[str, ...]
    names: dict[str, Meaning]
    cells: dict[str, str]


class CapturedProgram(NamedTuple):
    """`clauses` are the numbers of the functions that probes run, in their order."""

    functions: tuple[CapturedFunction, ...]
    aggregations: tuple[CapturedAggregation, ...]
    clauses: tuple[int, ...]


def text_of(program: CapturedProgram) -> str:
    """The program as a text; equal programs have equal texts."""
    return json.dumps([
        [[*each[:6], _plain_names(each.names), each.cells] for each in program.functions],
        program.aggregations,
        program.clauses,
    ])  # fmt: skip


def program_of(text: str) -> CapturedProgram:
    """The program that `text_of` has made a text of. Raises ValueError for any other text."""
    functions, aggregations, clauses = _shaped(json.loads(text), list, list, list)
    if not all(type(number) is int and 0 <= number < len(functions) for number in clauses):
        raise ValueError("a clause is of no function")
    return CapturedProgram(
        tuple(map(_function, functions)), tuple(map(_aggregation, aggregations)), tuple(clauses)
    )  # fmt: skip


def _shaped(plain: Any, *kinds: type) -> list[Any]:
    """A list of values of these kinds. Raises ValueError."""
    if not isinstance(plain, list) or [*map(type, plain)] != [*kinds]:
        raise ValueError(f"what is to be a list of {len(kinds)} values is none")
    return plain


def _texts(values: Iterable[Any]) -> tuple[str, ...]:
    """Raises ValueError."""
    found = tuple(values)
    if not all(isinstance(each, str) for each in found):
        raise ValueError("a text is none")
    return found


def _aggregation(plain: Any) -> CapturedAggregation:
    name, how, numbers, title = _shaped(plain, str, str, list, str)
    if not all(type(each) is int for each in numbers):
        raise ValueError("a parameter is no number")
    return CapturedAggregation(name, how, tuple(numbers), title)


def _function(plain: Any) -> CapturedFunction:
    name, module, file, line, source, probes, names, cells = _shaped(
        plain, str, str, str, int, str, list, dict, dict
    )  # fmt: skip
    _texts(cells.values())
    known = {key: _meaning(value) for key, value in names.items()}
    return CapturedFunction(name, module, file, line, source, _texts(probes), known, cells)


def _plain_names(names: dict[str, Meaning]) -> dict[str, Any]:
    return {name: _plain(names[name]) for name in sorted(names)}


def _plain(meaning: Meaning) -> list[Any]:
    if meaning.kind == "tuple":
        return [meaning.kind, [_plain(each) for each in meaning.value]]
    return [meaning.kind, meaning.value]


def _meaning(plain: Any) -> Meaning:
    if not isinstance(plain, list) or len(plain) != 2 or not isinstance(plain[0], str):
        raise ValueError("a name means nothing")
    kind, value = plain
    if kind != "tuple":
        return Meaning(kind, value)
    if not isinstance(value, list):
        raise ValueError("a tuple is none")
    return Meaning(kind, tuple(map(_meaning, value)))
