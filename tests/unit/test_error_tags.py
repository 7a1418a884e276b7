"""Every error tag of dtrace: a program that provokes it, with its place and text, or the reason why none can."""

import re
from pathlib import Path

import pytest
from support.d.catalog import error
from support.d.error_tags import CASES, ELSEWHERE, NEVER, NUMBER_OF_TAGS

SOURCES = Path(__file__).resolve().parents[2] / "src" / "sonde"


@pytest.mark.share(98)
@pytest.mark.parametrize("case", CASES, ids=[case.tag for case in CASES])
def test_the_tag_its_place_and_its_text(case):
    found = error(case.program, **case.options)
    assert (found.tag, found.text) == (case.tag, case.text)
    assert found.position is not None
    assert (found.position.line, found.position.column) == (case.line, case.column)


def test_every_tag_is_provoked_or_explained_once():
    provoked = [case.tag for case in CASES] + sorted(ELSEWHERE)
    assert len(set(provoked)) == len(provoked)
    assert not set(provoked) & set(NEVER)
    assert len(provoked) + len(NEVER) == NUMBER_OF_TAGS


def test_what_cannot_occur_is_nowhere_in_the_source():
    """A tag explained away is not raised by anything."""
    text = "".join(path.read_text() for path in SOURCES.rglob("*.py"))
    assert sorted(set(re.findall(r'"(D_[A-Z0-9_]+[A-Z0-9])"', text)) & set(NEVER)) == []
