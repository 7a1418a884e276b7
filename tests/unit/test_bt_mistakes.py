"""Mistakes in programs of bpftrace's language are told where bpftrace tells them, and for the same reason."""

import pytest
from support.bpftrace.bt_compiling import registry, told
from support.bpftrace.bt_mistakes import MISTAKES


@pytest.fixture(scope="module")
def machine():
    return registry()


def wanted(line):
    """A program, the columns that are marked, or "", and the kind."""
    marked, kind, *place = line.split(" ;; ")
    text = marked.replace("«", "").replace("»", "")
    begin, _, rest = marked.partition("«")
    start = len(begin) + 1
    columns = f"1:{start}-{start + len(rest.partition('»')[0].rstrip())}" if "«" in marked else ""
    return text, (place[0] if place else columns), kind


@pytest.mark.share(79)
@pytest.mark.parametrize("line", MISTAKES)
def test_a_mistake_has_its_place_and_kind(line, machine):
    program, columns, kind = wanted(line)
    first = told(program, machine)
    assert kind in first
    assert first.startswith(f"stdin:{columns}: ERROR: " if columns else "stdin:1:")


@pytest.mark.long
@pytest.mark.parametrize(
    ("first", "next_"),
    [
        ("macro m0(x) {{ x + 1 }}", "macro m{n}(x) {{ m{m}(x) + m{m}(x + 1) }}"),
        ("fn m0($x: int64): int64 {{ return $x; }}", "fn m{n}($x: int64): int64 {{ return m{m}($x) + m{m}($x + 1); }}"),
        ("macro m0() {{ @ = 1; }}", "macro m{n}() {{ unroll(100) {{ m{m}(); }} }}"),
    ],
)
def test_copies_of_copies_end(first, next_, machine):
    lines = [first.format(), *(next_.format(n=n, m=n - 1) for n in range(1, 28))]
    program = "\n".join([*lines, "begin { $x = m27(1); }" if "(x)" in next_ or "$x" in next_ else "begin { m27(); }"])
    assert any(text in told(program, machine) for text in ("more than 20000 statements", "unroll within unroll"))


def test_there_are_many_kinds():
    assert len(MISTAKES) >= 150
    assert len({wanted(line)[2] for line in MISTAKES}) > 100
