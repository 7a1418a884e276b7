"""Random formats of f-strings: a probe shows what Python shows, or refuses them when it is compiled."""

import importlib.util
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.suite.example_counts import count_of

import sonde

pytestmark = pytest.mark.examples

EXAMPLES = count_of(3)

NUMBERS = (0, 1, -1, 7, -42, 255, 1000, -1000, 1234567, -1234567890123, 2**31, 2**63 - 1, -(2**63))
TEXTS = ("", "a", "echo", "long text with spaces", "1234", 'q"q')

DONE = """
from sonde import exit, thread


def done(p):
    exit(0)
"""


def a_number(chosen):
    """A value, and a format: hexadecimal and octal digits are those of 64 bits, whatever the sign."""
    parts = (("", "<", ">", "", "^", "*<"), ("", "", "+", "-", " "), ("", "", "#"), ("", "", "0"),
             ("", "1", "5", "8", "25"), ("", "", ",", "_"), ("", "d", "x", "X", "o", "b", "n"))  # fmt: skip
    made, value = "".join(map(chosen.choice, parts)), chosen.choice(NUMBERS)
    return abs(value) % 2**63 if made.endswith(("x", "X", "o")) else value, made


def a_text(chosen):
    parts = ("", "<", ">", "^", "*>", "="), ("", "", "0"), ("", "1", "5", "30"), ("", ".0", ".1", ".3"), ("", "s")
    return chosen.choice(TEXTS), "".join(map(chosen.choice, parts))


def shown(value, conversion, specification):
    """What Python makes of it; None if it refuses it."""
    try:
        return format({"!r": repr, "!s": str, "": lambda same: same}[conversion](value), specification)
    except ValueError:
        return None


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.integers(0, 2**32))
def test_formats_are_those_of_python_or_refused(tmp_path_factory, seed):
    chosen = random.Random(seed)
    cases = [(*chosen.choice((a_number, a_text))(chosen), chosen.choice(("", "", "", "!s", "!r"))) for _ in range(60)]
    cases += [(1234567, ",", ""), (-5, "+08d", ""), (0, "#x", ""), (255, "#010x", ""), ("echo", ">8.3", "")]
    source = DONE
    for number, (value, specification, conversion) in enumerate(cases):
        name = "thread.n" if isinstance(value, int) else "thread.t"
        field = name + conversion + (f":{specification}" if specification else "")
        source += f"\n\ndef f{number}(p):\n    {name} = {value!r}\n    print(f'[{{{field}}}]')\n"
    path = tmp_path_factory.mktemp("formats") / "formats_of_python.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location("formats_of_python", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    taken, expected, refused = [], [], []
    for number, (value, specification, conversion) in enumerate(cases):
        function = sonde.probe("BEGIN")(getattr(module, f"f{number}"))
        try:
            sonde.compile(function, engine="embedded")
        except sonde.CompileError as error:
            refused.append((number, error.line))
            continue
        taken.append(function)
        expected.append(f"[{shown(value, conversion, specification)}]")
    assert all(line and number < len(cases) - 5 for number, line in refused)
    run = sonde.run(*taken, sonde.probe("BEGIN")(module.done), engine="embedded", output="text")
    with run:
        text = b"".join(event.text for event in run if isinstance(event, sonde.Text)).decode()
    assert text.strip("\n").split("\n") == expected
