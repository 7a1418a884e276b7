"""Aggregations of bpftrace's language are of signed or unsigned numbers, as what they are given."""

import json
import random

import pytest
from support.command.command import sonde

ENGINES = (["--engine", "kernel"], ["--engine", "embedded", "-c", "true"])
WORD = 1 << 64
FUNCTIONS = ("sum", "min", "max", "avg", "stats")
CASTS = {"u": "uint64", "s": "int64"}


def wrapped(number, is_unsigned):
    number %= WORD
    return number if is_unsigned else number - WORD * (number >> 63)


def divided(total, count):
    """As C divides."""
    return abs(total) // count * (1 if total >= 0 else -1)


def expected(function, values, is_unsigned):
    """What a function comes to, as a number; of stats all three."""
    values = [wrapped(each, is_unsigned) for each in values]
    total = wrapped(sum(values), is_unsigned)
    average = divided(total, len(values))
    found = {"sum": total, "min": min(values), "max": max(values), "avg": average}
    return found.get(function, {"count": len(values), "average": average, "total": total})


def cases():
    """A map's name, its function, values and their signs: all unsigned, all signed, or mixed."""
    chooser = random.Random(8)
    edges = [0, 1, 5, (1 << 63) - 1, 1 << 63, (1 << 63) + 5, WORD - 1]
    for function in FUNCTIONS:
        for number, kinds in enumerate(("u", "s", "us", "su")):
            values = [chooser.choice([*edges, chooser.randrange(WORD)]) for _ in range(3)]
            signs = [kinds[place % len(kinds)] for place in range(3)]
            yield f"@{function}{number}", function, values, signs


CASES = tuple(cases())


def program():
    given = [
        f"{name} = {function}(({CASTS[sign]}){value:#x});"
        for name, function, values, signs in CASES
        for value, sign in zip(values, signs, strict=True)
    ]
    return f"begin {{ {' '.join(given)} }}"


@pytest.mark.parametrize("engine", ENGINES, ids=lambda words: words[1])
def test_a_map_is_of_signed_numbers_where_one_of_them_is(engine):
    lines = sonde("bt", "-q", *engine, "-e", program()).stdout.splitlines()
    shown = dict(line.split(": ", 1) for line in lines if line)
    for name, function, values, signs in CASES:
        found = expected(function, values, "s" not in signs)
        text = str(found)
        if function == "stats":
            text = "{{ .count = {count}, .average = {average}, .total = {total} }}".format(**found)
        assert shown[name] == text, (name, values, signs)


def test_objects_have_the_same_numbers():
    lines = map(json.loads, sonde("bt", "-q", "-f", "json", "-e", program()).stdout.splitlines())
    shown = {name: value for each in lines if each["type"] in ("map", "stats") for name, value in each["data"].items()}
    for name, function, values, signs in CASES:
        given = shown[name]
        number = {key: int(value) for key, value in given.items()} if function == "stats" else int(given)
        assert number == expected(function, values, "s" not in signs)


@pytest.mark.parametrize("engine", ENGINES, ids=lambda words: words[1])
def test_programs_compare_them_as_what_they_are(engine):
    told = sonde(
        "bt", "-q", *engine, "-e",
        "begin { @u = max((uint64)-1); @s = max((int64)-1); @a = avg((uint64)-2); @i = min((uint64)-1);"
        '@n = min((uint64)7); printf("%d%d%d%d%d|%llu", @u > 10, @s > 10, @a > 10, @i > 10, @n > 10, @a);'
        "clear(@u); clear(@s); clear(@a); clear(@i); clear(@n); }",
    ).stdout  # fmt: skip
    assert told.split() == ["10110|18446744073709551614"]


@pytest.mark.share(1)
@pytest.mark.parametrize(
    ("kind", "rows"), [("uint64", ["@[2]: 3", "@[1]: 18446744073709551615"]), ("int64", ["@[1]: -1", "@[2]: 3"])]
)
def test_rows_are_in_the_order_of_their_numbers(kind, rows):
    told = sonde("bt", "-q", "-e", f"begin {{ @[1] = max(({kind})-1); @[2] = max(({kind})3); }}").stdout
    assert [line for line in told.splitlines() if line] == rows
