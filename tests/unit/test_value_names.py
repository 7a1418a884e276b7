"""What a program's source calls the values with a packet."""

import pytest
from support.d.compiled import spec

from sonde.codegen.records.value_names import arguments
from sonde.model.errors import Position


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("trace(pid);", ["pid"]),
        ("trace( args[0]->len +  f(1, 2) );", ["args[0]->len + f(1, 2)"]),
        ('printf("%d, (%s)\\n", x, this->name)', ['"%d, (%s)\\n"', "x", "this->name"]),
        ("trace(a == ')' ? 1 : 2); trace(b)", ["a == ')' ? 1 : 2"]),
        ("tracemem(\n\tp,\n\t8)", ["p", "8"]),
        ("trace(pid", []),
        ("stack(3);", []),
        ("a + b", []),
    ],
)
def test_arguments_are_as_they_are_written(text, expected):
    lines = ["", *f"   {text}".split("\n")]
    assert list(arguments(Position("file.d", 2, 4), {"file.d": lines})) == expected


def test_where_the_source_is_not_there_nothing_is_said():
    assert list(arguments(Position(None, 1, 1), {})) == []
    assert list(arguments(Position(None, 7, 1), {None: ["trace(pid)"]})) == []
    assert list(arguments(Position(None, 1, 1, True), {None: ["trace(pid)"]})) == []


def test_keys_have_the_names_of_their_first_use():
    text = """BEGIN { @a[execname, pid +
      1] = count(); @b = sum(1); @c["x, y"] = max(2); } END { @a["", 2] = count(); }"""
    found = {each.name: each.key_names for each in spec(text, names=True).aggregations}
    assert found == {"a": ("execname", "pid + 1"), "b": (), "c": ('"x, y"',)}
