"""Each language, by each way that a program takes to its output, has the same answer in each output as when it is
traced from its source in the kernel, or one message says that this output cannot show it."""

import re

import pytest
from support.command.sink_cells import (
    FILES,
    FORMATS,
    LIBRARY,
    OUTPUTS,
    OWN,
    PICTURES,
    WAYS,
    Cell,
    Prepared,
    has_way,
    messages,
    run,
    value,
)
from support.command.sink_programs import PROGRAMS

from sonde.cli import arguments
from sonde.frontends.languages import LANGUAGES
from sonde.library import given
from sonde.library.data.formats import LINES, TABLES, TEXT
from sonde.library.outputs import Files
from sonde.model.known_options import OPTIONS

CELLS = [
    cell for output in OUTPUTS for language in PROGRAMS for way in WAYS if has_way(cell := Cell(language, way, output))
]

REFUSED = (
    (("raw", "read"), PROGRAMS, ("json", "arrow", "parquet"), "a recording cannot be shown as"),
    (("raw", "read"), PROGRAMS, PICTURES, "makes no pictures"),
    (("raw", "read"), PROGRAMS, ("raw file",), "takes one file"),
    (("live",), ("bpftrace",), ("packets",), "-o it.pcapng is for packets, and `sonde bt` prints text"),
    (
        ("live", "spec", "raw", "read", "replay"),
        PROGRAMS,
        ("packets",),
        "is for packets, and the program captures none",
    ),
    (("live",), ("bpftrace",), ("arrow",), 'Invalid output format "arrow"'),
    (("live",), ("bpftrace",), (*PICTURES, "raw file"), "unrecognized option"),
    (("spec",), ("bpftrace",), ("flame", "folded", "pprof", "speedscope"), "is keyed by stack"),
    (("spec",), PROGRAMS, ("export",), "export takes programs"),
    (("live embedded", "spec embedded"), PROGRAMS, ("perf.data",), "only what the kernel traces can be recorded"),
)
"""Ways, languages and outputs, and what the one message says; the first that fits counts."""

FACTS = {
    ("d", "text"): ["say 7 word ff\n", "42\n", ".x = (int)3,", "fault 4\n", "FRAME", "k 1 5\nl 2 6\n", "8 |@@@"],
    ("d", "json"): ["'7': 7", "'42': 42", "'p': {'x': 3, 'name': 'a'}", "'key': ['k', 1], 'values': [5]",
                    "'kind': 'unavailable_speculations', 'lost': 1", "divide-by-zero"],
    ("d", "events"): ["'7': 7, '\"word\"': 'word'", "('k', 1): (Sum(5),)", "(Maximum(9),)", "Quantize(8..15: 1)"],
    ("bpftrace", "text"): ["say 7 word ff\n", "(1, two, 3)\n", "@s[k, 1]: 5\n", "@sts: { .count = 1, .average = 4,",
                           "FRAME", "[8, 16)", "@t[1, k]: (2, x)\n"],
    ("bpftrace", "json"): ["'7': 7", "'key': ['k', 1], 'values': [5]", "'key': [], 'values': [9]"],
    ("bpftrace", "events"): ["'7': 7", "('k', 1): (Sum(5),)", "(1, 'k'): ({'0': 2, '1': 'x'},)", "Quantize(8..15: 1)"],
    ("python", "text"): ["say 7 word 255", "FRAME", "8 |@@@"],
    ("python", "json"): ["'7': 7", "'key': ['k', 1], 'values': [5]", "divide-by-zero"],
    ("python", "events"): ["'7': 7", "('k', 1): (Sum(5),)", "Quantize(8..15: 1)"],
}  # fmt: skip
"""Of each language what its output has in any case."""

TOLD = {
    "d": ["divide-by-zero", "1 failed speculation"],
    "bpftrace": ["Divide or modulo by 0", "Map full", "ERROR: told 4"],
    "python": ["divide-by-zero"],
}
"""What is said besides text."""


def refusal(cell):
    """What the message says, "" where there is an answer."""
    for ways, languages, outputs, text in REFUSED:
        if (cell.kind in ways or cell.way in ways) and cell.language in languages and cell.output in outputs:
            return text
    return ""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return Prepared(tmp_path_factory.mktemp("made"))


@pytest.fixture(scope="module")
def answers(made, tmp_path_factory):
    """The answer of a cell: its value and messages, found once."""
    known = {}

    def answer(cell):
        if cell not in known:
            directory = tmp_path_factory.mktemp("cell")
            done = run(cell, made, directory)
            assert done.status == 0, (cell, done.err[-2000:])
            known[cell] = value(cell, done, directory), messages(done.err)
        return known[cell]

    return answer


def first_answer(cell):
    """The first way by which its language has an answer in its output."""
    ways = (Cell(cell.language, way, cell.output) for way in WAYS)
    return next(each for each in ways if has_way(each) and not refusal(each))


def short():
    """A share that has each language by each way, and each output."""
    ways, outputs, found = set(), set(), []
    for cell in sorted(CELLS, key=lambda each: (OUTPUTS.index(each.output) * 5 + WAYS.index(each.way) * 3) % 11):
        is_new_way = (cell.language, cell.way) not in ways
        if is_new_way and (cell.output not in outputs or len(outputs) == len(OUTPUTS)):
            ways.add((cell.language, cell.way))
            outputs.add(cell.output)
            found.append(cell)
    for cell in CELLS:
        if cell.output not in outputs or (cell.language, cell.way) not in ways:
            ways.add((cell.language, cell.way))
            outputs.add(cell.output)
            found.append(cell)
    return found


SHORT = short()


def marks(cell):
    """The long suite has each language by each way in every fourth output, and all of them by some way."""
    if cell in SHORT:
        return ()
    is_other = (OUTPUTS.index(cell.output) + WAYS.index(cell.way) + [*LANGUAGES].index(cell.language)) % 4
    return (pytest.mark.long, pytest.mark.whole) if is_other else pytest.mark.long


@pytest.mark.parametrize("cell", [pytest.param(each, id=str(each), marks=marks(each)) for each in CELLS])
def test_a_cell_has_the_answer_or_says_that_it_has_none(cell, made, answers, tmp_path):
    refused = refusal(cell)
    if refused:
        done = run(cell, made, tmp_path)
        assert done.status in (1, 2), done
        said = [line for line in done.err.splitlines() if re.match("sonde: |ERROR: ", line)]
        assert len(said) == 1, done.err
        assert refused in said[0]
        return
    found, told = answers(cell)
    first, first_told = answers(first_answer(cell))
    assert found == first
    for each in FACTS.get((cell.language, cell.output), ()):
        assert each in "".join(found)
    if cell.output in ("text", "library text", "raw file"):
        assert told == first_told
    if cell.output == "text":
        assert all(any(each in line for line in told) for each in TOLD[cell.language])


def test_every_output_of_the_product_has_cells():
    """A new language, format, picture or file takes a case here."""
    assert {*PROGRAMS} == {*LANGUAGES}
    assert {*FORMATS} == {*OPTIONS["format"].choices} == {TEXT, *LINES, *TABLES} == {*arguments._FORMATS}
    assert {f"--{each}" for each in PICTURES} == arguments._PICTURES
    assert {*FILES, "perf.data"} == {"raw file", "packets", "perf.data"}
    assert Files._fields == ("raw", "captures", "recording", "pictures", "compared")
    assert {*LIBRARY} == {"events", "library text", "library arrow", "descriptor", "notebook"}
    words = {name for name, number in vars(given).items() if name.isupper() and type(number) is int and number < 0}
    assert words == {"TEXT", "ARROW"}
    assert {each.output for each in CELLS} == {*OUTPUTS} >= {*OWN}


def test_the_short_share_has_each_language_by_each_way_and_each_output():
    assert {each[:2] for each in SHORT} == {each[:2] for each in CELLS}
    assert {each.output for each in SHORT} == {*OUTPUTS}
    assert len(SHORT) < 30
