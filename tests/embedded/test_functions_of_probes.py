"""What functions give in a probe is what Python gives itself."""

import pytest
from support.python.functions_of_probes import ARGUMENTS, FUNCTIONS, done, expected, given

import sonde

AT_ONCE = 8
"""Functions of one run."""


@pytest.mark.long
@pytest.mark.parametrize("start", range(0, len(FUNCTIONS), AT_ONCE))
def test_functions_give_what_python_gives(start):
    some = FUNCTIONS[start : start + AT_ONCE]
    assert given(some, ARGUMENTS, "embedded") == expected(some, ARGUMENTS)


NUMBERS = [
    ("u64(n)", -1, 2**64 - 1),
    ("u64(n) // 2", -1, 2**63 - 1),
    ("u64(n) // 3", -1, (2**64 - 1) // 3),
    ("u64(n) % 10", -1, (2**64 - 1) % 10),
    ("u64(n) // u64(n & 7)", -1, (2**64 - 1) // 7),
    ("u64(n) // (n & 7)", -1, -1),
    ("u64(n) >> 60", -1, 15),
    ("n >> 60", -1, -1),
    ("u64(n) > -1", 5, 1),
    ("-1 < u64(n)", 5, 1),
    ("u64(n) == -5", -5, 0),
    ("u64(n) > 5", -1, 1),
    ("n > 5", -1, 0),
    ("u64(5) - u64(n)", 7, -2),
    ("(u64(n) - 10) // 2", 5, -3),
    ("-u64(n)", 5, -5),
    ("~u64(n)", 0, -1),
    ("u64(n) + 1", -1, 0),
    ("u32(n) - 1", 0, -1),
    ("u32(n) + u32(n)", 2**32 - 1, 2**33 - 2),
    ("i8(n) * 2", 200, -112),
    ("u8(n) + 1", 255, 256),
    ("i16(n) >> 4", 0xF000, -256),
    ("u16(n) >> 4", 0xF000, 0xF00),
    ("i32(n) // 10", 2**31, -214748365),
    ("max(u64(n), 3)", -1, 2**64 - 1),
    ("0xFFFFFFFFFFFFFFFF & n", -1, 2**64 - 1),
]
"""An expression of n, n, and its value: the types are those of docs/python-probes.md."""


def test_numbers_have_the_types_that_the_page_says(tmp_path, monkeypatch):
    lines = ["from sonde import probe, thread, u8, u16, u32, u64, i8, i16, i32", ""]
    for number, (text, n, _) in enumerate(NUMBERS):
        lines += ['@probe("BEGIN")', f"def f{number}(p):", f"    thread.n = {n}"]
        lines += ["    n = thread.n", f"    print({text})", ""]
    path = tmp_path / "numbers_of_probes.py"
    path.write_text("\n".join(lines))
    monkeypatch.syspath_prepend(tmp_path)
    import numbers_of_probes

    probes = [getattr(numbers_of_probes, f"f{number}") for number in range(len(NUMBERS))]
    with sonde.run(*probes, done, engine="embedded") as run:
        found = [event[0] for event in run if isinstance(event, sonde.Record)]
    assert {text: (n, value) for (text, n, _), value in zip(NUMBERS, found, strict=True)} == {
        text: (n, value) for text, n, value in NUMBERS
    }
