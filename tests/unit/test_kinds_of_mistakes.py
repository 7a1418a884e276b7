"""Mistakes that the floors below a language find are told in neutral terms; DTrace's tags and words are D's."""

import ast
import functools
import re
from pathlib import Path

import pytest
from support.source.parsed import nodes

import sonde
from sonde.frontends.d.errors import TOLD, DError, in_d
from sonde.model import errors
from sonde.model.errors import LANGUAGE, Position, SourceError

SOURCES = Path(sonde.__file__).parent
BELOW = [path for path in SOURCES.rglob("*.py") if path.relative_to(SOURCES).parts[0] not in ("frontends", "cli")]
KINDS = {name: kind for name, kind in vars(errors).items() if name.isupper()}
TAG = re.compile(r"(D|EDT)_[A-Z_]+")


@functools.cache
def made():
    """(file, the kind's name, the nodes of what it is about) of each mistake that a file below the languages makes."""
    calls = [
        (path.name, node)
        for path in BELOW
        for node in nodes(path)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "SourceError"
    ]
    return [
        (name, ast.unparse(call.args[0]), next((each.value for each in call.keywords if each.arg == "about"), None))
        for name, call in calls
    ]


def test_each_kind_has_a_tag_in_d_and_a_name_of_its_own():
    assert len(set(KINDS.values())) == len(KINDS) > 20
    assert set(TOLD) == set(KINDS.values()) - {LANGUAGE}
    assert all(TAG.fullmatch(told.tag) for told in TOLD.values())


def test_each_kind_is_made_somewhere():
    """And no other, nor D's own, below the languages."""
    inherited = {"UNSUPPORTED"}
    assert {kind for _, kind, _ in made()} | inherited == KINDS.keys() - {"LANGUAGE"}


def test_a_mistake_is_about_as_much_as_the_words_of_its_kind():
    """A name stands for values that are made in the same function; without words D has those of the mistake."""
    for file, kind, about in made():
        words = TOLD[KINDS[kind]].words
        if isinstance(about, ast.Tuple) and not words:
            continue
        if isinstance(about, ast.Tuple):
            assert len(about.elts) == len(re.findall(r"\{\d\}", words)), file
        else:
            assert about is None or isinstance(about, ast.Name), file


def test_nothing_below_the_languages_speaks_dtraces_words():
    wrong = [
        (path.name, node.value)
        for path in BELOW
        for node in nodes(path)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        and (TAG.fullmatch(node.value) or "dtrace itself" in node.value)
    ]  # fmt: skip
    assert not wrong


@pytest.mark.parametrize("kind", sorted(TOLD))
def test_d_tells_a_mistake_by_its_own_words_or_the_errors(kind):
    told, place = TOLD[kind], Position(None, 3, 5)
    holes = len(re.findall(r"\{\d\}", told.words))
    about = ("one", "other")[:holes]
    found = in_d(SourceError(kind, "what is wrong", hint="what helps", names=("near",), about=about), place)
    assert isinstance(found, DError)
    assert (found.tag, found.text) == (told.tag, told.words.format(*about) or "what is wrong")
    assert (found.position, found.hint, found.names) == (place, "what helps", ("near",))
    if holes:
        assert in_d(SourceError(kind, "a case of its own")).text == "a case of its own"


def test_a_mistake_by_the_rules_of_d_stays_as_it_is():
    error = DError("D_SYNTAX", "no", Position(None, 1, 1), "hint", ("near",))
    assert in_d(error) is error
    assert error.kind == LANGUAGE
    moved = in_d(error, Position("a.d", 7, 2))
    assert (moved.tag, moved.position) == ("D_SYNTAX", Position("a.d", 7, 2))
