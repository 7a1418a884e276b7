"""Strings that are members of structures: strsize bytes at any address, next to other members."""

import pytest
from support.d.d_run import Run, text
from support.machine.access import needs

pytestmark = needs("CAP_BPF", "CAP_PERFMON")
STRUCTURE = "struct s { int before; string b; char behind; string last; };"
SIZES = (1, *range(8, 16), 256)
WHERE = {
    "global": ("struct s x;", "", "x"),
    "this": ("this struct s x;", "", "this->x"),
    "self": ("self struct s x;", "", "self->x"),
    "element": ("struct s x[int];", "", "x[7]"),
    "self element": ("self struct s x[string];", "", 'self->x["k"]'),
    "array": ("struct s x[3];", "", "x[1]"),
    "scratch": ("struct s *x;", "x = (struct s *)alloca(sizeof (struct s));", "(*x)"),
}


@pytest.mark.share(8)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("where", WHERE)
def test_a_member_keeps_what_it_is_given(where, size):
    """It has room for strsize characters, and what is around it stays as it is."""
    declaration, before, x = WHERE[where]
    program = f"""{STRUCTURE} {declaration} BEGIN {{ {before}
        {x}.before = 17; {x}.behind = 'e'; {x}.last = "ab"; {x}.b = "{"c" * (size + 1)}"; {x}.b = "xyzxyzxyzxyzxyz";
        {x}.last = {x}.b;
        {x}.b = "abc";
        printf("%d%s%d%s%d", {x}.before, {x}.b, {x}.behind, {x}.last, strlen({x}.last)); }}"""
    with Run(program, strsize=size, scratchsize=2048) as run:
        ((before, b, behind, last, length),) = run.begin().values()
    whole = b"xyzxyzxyzxyzxyz"[:size]
    assert (before, text(b), behind, text(last), length) == (17, b"abc"[:size], ord("e"), whole, len(whole))


@pytest.mark.share(4)
@pytest.mark.parametrize("size", SIZES)
def test_members_are_values_like_other_strings(size):
    """Compared, indexed, as keys, joined, assigned to variables and copied with their structure."""
    program = f"""{STRUCTURE} struct s x; struct s y; string v;
        BEGIN {{ x.b = "bcd"; y = x; x.b[0] = 'a'; this->i = 0; v = y.b; @[x.b, y.b] = count();
            printf("%d%d%d%d%s%s", x.b < y.b, x.b == y.b, y.b == v, y.b[this->i], strjoin(x.b, "-"), v); }}"""
    with Run(program, strsize=size) as run:
        ((*numbers, joined, v),) = run.begin().values()
        ((x, y),) = (key.replace(b"\0", b"").split(b"b") for key in run.aggregation())
    assert (x, y) == (b"acd"[:size], b"cd"[: size - 1])
    assert numbers == [1, 0, 1, ord("b")]
    assert text(joined) == b"acd-"[: min(size, 3)] + b"-"[: max(size - 3, 0)]
    assert text(v) == b"bcd"[:size]


def test_bounds_and_null():
    """No more characters than strsize can be reached; NULL has none that could be copied."""
    for statement in ("x.b[16]", "x.b[-1]", "x.b[this->i]", 'x.b = strchr("a", 98)'):
        with Run(f"{STRUCTURE} struct s x; BEGIN {{ this->i = 16; trace({statement}); }}", strsize=16) as run:
            assert len(run.begin().faults()) == 1, statement
