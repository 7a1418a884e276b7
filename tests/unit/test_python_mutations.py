"""Damaged probe functions compile, or end in one mistake with a place in the file; nothing else happens."""

import warnings

import pytest
from support.python.python_mutations import Damage
from support.suite.example_counts import count_of
from test_python_mistakes import module_of

import sonde

pytestmark = pytest.mark.examples

EXAMPLES = count_of(60)


def outcome(path, text):
    """`compiled`, or the mistake."""
    try:
        with warnings.catch_warnings():
            # Python warns of what cannot be called.
            warnings.simplefilter("ignore", SyntaxWarning)
            module = module_of(path, text)
    except SyntaxError:
        return "no Python"
    try:
        sonde.compile(module.damaged, engine="embedded")
    except sonde.CompileError as error:
        return "mistake" if _has_place(error) else f"without a place: {error}"
    return "compiled"


def _has_place(error):
    """Whether the line is one of the file."""
    with open(error.file) as file:
        lines = file.read().split("\n")
    return error.source_line == lines[error.line - 1] and 1 <= error.column <= len(error.source_line) + 1


def test_damaged_functions_have_mistakes_with_places(tmp_path):
    counts = {}
    for seed in range(EXAMPLES):
        text = Damage(seed).program()
        try:
            found = outcome(tmp_path / "damaged.py", text)
        except Exception as error:
            raise AssertionError(f"seed {seed}: {text[text.index('@probe') :]}") from error
        assert found in ("compiled", "mistake", "no Python"), (seed, found)
        counts[found] = counts.get(found, 0) + 1
    assert counts["compiled"] > EXAMPLES / 20
    assert counts["mistake"] > EXAMPLES / 5
    assert counts.get("no Python", 0) < EXAMPLES / 5


def test_the_damage_is_the_same_each_time():
    texts = [Damage(seed).program() for seed in range(20)]
    assert texts == [Damage(seed).program() for seed in range(20)]
    assert len(set(texts)) == 20
