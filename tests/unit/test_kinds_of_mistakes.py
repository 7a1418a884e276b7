"""Mistakes that the floors below a language find are told in neutral terms; DTrace's tags and words are D's."""

import ast
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


def made():
    """(file, the kind's name, the nodes of what it is about) of each mistake that a file below the languages makes."""
    for path in BELOW:
        for node in nodes(path):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "SourceError":
                about = next((each.value for each in node.keywords if each.arg == "about"), None)
                yield path.name, ast.unparse(node.args[0]), about


MADE = list(made())


def test_each_kind_has_a_tag_in_d_and_a_name_of_its_own():
    assert len(set(KINDS.values())) == len(KINDS) > 20
    assert set(TOLD) == set(KINDS.values()) - {LANGUAGE}
    assert all(TAG.fullmatch(told.tag) for told in TOLD.values())


def test_each_kind_is_made_somewhere():
    """And no other, nor D's own, below the languages."""
    inherited = {"UNSUPPORTED"}
    assert {kind for _, kind, _ in MADE} | inherited == KINDS.keys() - {"LANGUAGE"}


@pytest.mark.parametrize(("file", "kind", "about"), MADE, ids=[f"{file}-{kind}" for file, kind, _ in MADE])
def test_a_mistake_is_about_as_much_as_the_words_of_its_kind(file, kind, about):
    words = TOLD[KINDS[kind]].words
    if about is None:
        return
    if isinstance(about, ast.Tuple):
        assert len(about.elts) == len(re.findall(r"\{\d\}", words)), file
    else:
        assert isinstance(about, ast.Name), "named where it stands in the same function"


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
