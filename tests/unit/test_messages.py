"""What the compiler says, compared with what DTrace's says about the same programs, and the page of its messages.

`message_cases.txt` has programs with one mistake each: kinds of operands under operators, numbers and types of
arguments, declarations, pragmas, formats and orders of actions, with the tag, the line and the text that libdtrace
gives them.
"""

from collections import defaultdict
from pathlib import Path

import pytest
from support.d.catalog import check
from support.d.error_tags import CASES
from support.d.message_page import CONDITIONS, page

from sonde.frontends.d.errors import DError

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs" / "messages.md"


def blocks():
    """The programs of each tag, with the line and the text that are expected."""
    head, *given = (HERE / "message_cases.txt").read_text().split("---\n")
    types = head.split("\n", 2)[2]
    joined = types.replace("\n", " ", 1)
    found = defaultdict(list)
    for block in given:
        program, _, expected = block.rpartition("\n=> ")
        first, _, text = expected.partition("\n")
        tag, line = first.split()
        found[tag].append(
            (program.replace("TYPES\n", types).replace("JOINED\n", joined) + "\n", int(line), text.rstrip("\n"))
        )
    return found


BY_TAG = blocks()


def told(program):
    try:
        check(program)
    except DError as error:
        return error.tag, error.position.line if error.position else 0, error.text
    return "", 0, ""


@pytest.mark.share(10)
@pytest.mark.parametrize("tag", sorted(BY_TAG))
def test_dtrace_says_the_same(tag):
    wrong = [
        (program, (tag, line, text), told(program))
        for program, line, text in BY_TAG[tag]
        if told(program) != (tag, line, text)
    ]
    assert wrong == []


def test_there_are_cases_of_most_tags():
    assert len(BY_TAG) > 80
    assert sum(map(len, BY_TAG.values())) > 700


def test_the_page_of_messages_is_up_to_date():
    assert sorted(CONDITIONS) == sorted({case.tag for case in CASES})
    assert PAGE.read_text() == page(), "run tools/messages.py"
