"""Structures as values, wherever they are kept: random stores, copies and bit-fields against a model in Python."""

from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.d.d_run import Run

relaxed = settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)

STRUCTURE = """
struct s {
    char a; unsigned short b; int c; long d;
    unsigned e : 3; int f : 6; unsigned long g : 37; long h : 50;
    short v[3];
    struct { unsigned char x; union { int y; char bytes[4]; }; };
    struct inner { int one; char two; } in;
};
struct s global; self struct s own; this struct s local; struct s elements[int]; struct s of_thread; struct s row[2];
self struct s threads[string];
"""


class Member(NamedTuple):
    name: str
    bits: int
    signed: bool

    def wrap(self, value):
        value &= (1 << self.bits) - 1
        return value - (1 << self.bits) if self.signed and value >> (self.bits - 1) else value


MEMBERS = [
    Member("a", 8, True), Member("b", 16, False), Member("c", 32, True), Member("d", 64, True), Member("e", 3, False),
    Member("f", 6, True), Member("g", 37, False), Member("h", 50, True), Member("v[0]", 16, True),
    Member("v[two]", 16, True), Member("x", 8, False), Member("y", 32, True), Member("in.one", 32, True),
    Member("in.two", 8, True),
]  # fmt: skip

PLACES = [
    "global", "self->own", "this->local", "elements[1]", "elements[two]", 'self->threads["abc"]', "row[0]",
    "row[two - 1]", "(*p)", "q[1]",
]  # fmt: skip


@st.composite
def programs(draw):
    """The text of assignments and what they leave in each member of each place."""
    found = {place: dict.fromkeys(MEMBERS, 0) for place in PLACES}
    text = []
    for _ in range(draw(st.integers(1, 14))):
        place, other = draw(st.sampled_from(PLACES)), draw(st.sampled_from(PLACES))
        member, read = draw(st.sampled_from(MEMBERS)), draw(st.sampled_from(MEMBERS))
        value = draw(st.integers(-(1 << 31) + 1, (1 << 31) - 1))
        what = draw(st.sampled_from(["store", "copy", "add", "increment", "move", "inner", "choose"]))
        target = f"{place}.{member.name}"
        if what == "store":
            text.append(f"{target} = {value};")
            found[place][member] = member.wrap(value)
        elif what == "add":
            text.append(f"{target} += {value};")
            found[place][member] = member.wrap(found[place][member] + value)
        elif what == "increment":
            text.append(f"last = ++{target};")
            found[place][member] = member.wrap(found[place][member] + 1)
        elif what == "move":
            text.append(f"{target} = {other}.{read.name};")
            found[place][member] = member.wrap(found[other][read])
        elif what == "inner":
            text.append(f"{place}.in = {other}.in;")
            found[place] |= {m: v for m, v in found[other].items() if m.name.startswith("in.")}
        elif what == "copy":
            third = draw(st.sampled_from(PLACES))
            text.append(f"{third} = {place} = {other};")
            found[place] = dict(found[other])
            found[third] = dict(found[other])
        else:
            text.append(f"{place} = two == 3 ? global : {other};")
            found[place] = dict(found[other])
    return text, found


def members_after(statements):
    """Each member of each place, None if the kernel had no memory for a thread's variables just then."""
    names = {(place, m): f"r{n}" for n, (place, m) in enumerate((p, m) for p in PLACES for m in MEMBERS)}
    declared = "".join(f"long {name};" for name in names.values())
    results = " ".join(f"{name} = {place}.{m.name};" for (place, m), name in names.items())
    text = (f"{STRUCTURE} {declared} BEGIN {{ two = 2; p = (struct s *)alloca(sizeof (struct s)); "
            f"q = (struct s *)alloca(2 * sizeof (struct s)); {' '.join(statements)} {results} }}")  # fmt: skip
    with Run(text, scratchsize=512) as run:
        run.begin()
        assert run.faults() == []
        if run.lost():
            return None
        values = run.globals()
    return {(place, m): values[name] for (place, m), name in names.items()}


@pytest.mark.long
@relaxed
@given(programs())
def test_structures_are_values(program):
    statements, expected = program
    while (found := members_after(statements)) is None:
        continue
    wrong = {
        f"{place}.{m.name}": (found[place, m], value)
        for place, members in expected.items()
        for m, value in members.items()
        if found[place, m] != value
    }
    assert not wrong, " ".join(statements)


def test_a_part_that_is_set_brings_the_whole_into_being():
    """An element that was never set, and a thread's structure: the rest is zero; 0 for the whole frees it."""
    text = ("struct s { int a; int b; }; struct s of[int]; self struct s own; BEGIN { of[1].a = 5; self->own.b = 6; "
            "x = of[1].a; y = of[1].b; z = self->own.a; w = self->own.b; of[1] = 0; self->own = 0; "
            "u = of[1].a; v = self->own.b; }")  # fmt: skip
    with Run(text) as run:
        run.begin()
        found = run.globals()
        assert [found[name] for name in "xyzwuv"] == [5, 0, 0, 6, 0, 0]
        assert run.elements("of") == []


def test_what_is_behind_an_assignments_sign_is_computed_once():
    text = ("struct s { int a; int v[4]; }; struct s of[int]; BEGIN { p = (int *)alloca(16); *p++ = 1; *p++ += 5; "
            "of[i++].v[j++] += 7; of[0].v[0]++; at = p - (int *)alloca(0); x = of[0].v[0]; }")  # fmt: skip
    with Run("int i, j; " + text) as run:
        run.begin()
        found = run.globals()
        assert (found["i"], found["j"], found["at"], found["x"]) == (1, 1, -2, 8)


def test_bounds_of_arrays_are_checked_where_they_are_known():
    """Of variables, of members, of the kernel's structures; an array of no declared length has none."""
    text = ("int a[5]; this short b[3]; struct s { char c[4]; } s; "
            "BEGIN { i = 4; a[i] = 1; this->b[2] = 2; s.c[3] = 3; } "
            "BEGIN { a[i + 1] = 1; } BEGIN { this->b[i - 1] = 1; } BEGIN { s.c[i] = 1; } BEGIN { x = a[i - 5]; } "
            "BEGIN { x = curthread->comm[i + 12]; } BEGIN { x = curthread->comm[i]; last = 1; }")  # fmt: skip
    with Run(text) as run:
        run.begin()
        assert [(clause, code, value) for clause, _, code, value in run.faults()] == [
            (2, 11, 5), (3, 11, 3), (4, 11, 4), (5, 11, (1 << 64) - 1), (6, 11, 16),
        ]  # fmt: skip
        assert run.globals()["last"] == 1


def test_the_value_of_an_assignment_to_a_bit_field_is_what_the_field_holds():
    text = ("struct s { int low : 3; unsigned high : 5; } s; BEGIN { a = (s.low = 7); b = (s.high = 33); c = ++s.low; "
            "d = (s.high -= 2); e = s.high++; }")  # fmt: skip
    with Run(text) as run:
        run.begin()
        found = run.globals()
        assert [found[name] for name in "abcde"] == [-1, 1, 0, 31, 31]
