"""Strings of D in the kernel against Python's: comparisons, subroutines, and what stands behind a string's end."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.d.d_run import Run, text

relaxed = settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
characters = st.text(st.sampled_from("abcdefgh \x7fZ"), max_size=40)
near = st.integers(0, 3).flatmap(lambda n: st.text(st.sampled_from("ab"), min_size=6 + n, max_size=9 + n))
strings = st.one_of(characters, near)
RELATIONS = {
    "==": lambda a, b: a == b, "!=": lambda a, b: a != b, "<": lambda a, b: a < b, "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
}  # fmt: skip


def run(declarations, body, globals_=None, **settings_):
    """The values of one printf's record: `globals_` are strings that global variables are set to beforehand."""
    with Run(f"{declarations} BEGIN {{ {body} }}", **settings_) as program:
        if globals_:
            set_globals(program, globals_)
        program.begin()
        (values,) = program.values()
        return values


def set_globals(program, strings):
    ((key, data),) = program.tracing.read_map("globals")
    data = bytearray(data)
    places = {v.name: where for v, where in program.compilation.shared.variables.items()}
    for name, value in strings.items():
        _, offset = places[name]
        data[offset : offset + len(value)] = value.encode()
    program.tracing.write_map("globals", key, bytes(data))


def show(expressions):
    return f'printf("{"%s" * len(expressions)}", {", ".join(expressions)});'


def substring(s, start, length=None):
    """substr() of dtrace_dif_subr (illumos, uts/common/dtrace/dtrace.c)."""
    remaining = 256 if length is None else length
    if start < 0:
        start += len(s)
        if start < 0 < start + remaining:
            remaining += start
            start = 0
    if start >= len(s) or start < 0:
        return ""
    if remaining < 0:
        remaining += len(s) - start
    return s[start : start + max(remaining, 0)]


@pytest.mark.long
@relaxed
@given(st.lists(st.tuples(strings, strings), min_size=3, max_size=3), st.data())
def test_comparisons_are_those_of_characters(pairs, data):
    """All six relations, of variables, and of a variable with a constant on either side."""
    declared = " ".join(f"string a{n}; string b{n};" for n in range(len(pairs)))
    expressions, wanted, contents = [], [], {}
    for n, (a, b) in enumerate(pairs):
        contents |= {f"a{n}": a, f"b{n}": b}
        for op, relation in RELATIONS.items():
            left, right = data.draw(st.sampled_from(
                ((f"a{n}", f"b{n}"), (f"a{n}", f'"{b}"'), (f'"{a}"', f"b{n}"))
            ))  # fmt: skip
            expressions.append(f"({left} {op} {right})")
            wanted.append(int(relation(a, b)))
    form = f'printf("{"%d" * len(expressions)}", {", ".join(expressions)});'
    assert run(declared, form, contents) == wanted, expressions


@pytest.mark.long
@relaxed
@given(strings, strings, st.integers(-45, 45), st.integers(-45, 45), st.sampled_from((256, 20, 7)))
def test_subroutines_give_what_the_model_gives(a, b, start, length, strsize):
    """strlen, strjoin and substr, their arguments variables and constants, cut to strsize."""
    a, b = a[:strsize], b[:strsize]
    expressions = {
        "strjoin(a, b)": a + b,
        f'strjoin("{a}", b)': a + b,
        f'strjoin(strjoin(b, "{a}"), a)': ((b + a)[:strsize] + a),
        f"substr(a, {start})": substring(a, start),
        f"substr(a, {start}, {length})": substring(a, start, length),
        f'substr("{a}", this->x, this->y)': substring(a, start, length),
        "a": a,
        f'"{b}"': b,
        "(this->x > 3 ? a : b)": a if start > 3 else b,
        "stringof(a)": a,
    }
    body = f"this->x = {start}; this->y = {length}; {show(list(expressions))}"
    got = run("string a; string b; this int x; this int y;", body, {"a": a, "b": b}, strsize=strsize)
    assert [text(slot).decode() for slot in got] == [wanted[:strsize] for wanted in expressions.values()]


@relaxed
@given(strings, st.sampled_from((256, 20, 7)))
def test_lengths(a, strsize):
    """strlen of variables, constants and results."""
    a = a[:strsize]
    expressions = ["strlen(a)", f'strlen("{a}")', 'strlen(strjoin(a, "xy"))', "strlen(substr(a, 2))"]
    wanted = [len(a), len(a), min(len(a) + 2, strsize), max(len(a) - 2, 0)]
    form = f'printf("{"%d" * len(expressions)}", {", ".join(expressions)});'
    assert run("string a;", form, {"a": a}, strsize=strsize) == wanted


@pytest.mark.share(3)
@pytest.mark.parametrize("scope", ["", "self->", "this->", "k[1] = 1; a[7]"])
def test_a_shorter_string_leaves_nothing_of_the_longer_one(scope):
    """Assigning twice: zeros behind the second string, in variables of every scope and in the record."""
    name = f"{scope}s" if "[" not in scope else "a[7]"
    setup = "k[1] = 1;" if "[" in scope else ""
    long, short = "0123456789" * 12, "abc"
    for expression in (f'"{short}"', f'strjoin("{short}", "")', f'substr("{short}", 0)'):
        body = f'{setup} {name} = "{long}"; {name} = {expression}; {show([name, f"strjoin({name}, {name})"])}'
        got = run("", body)
        assert [text(slot) for slot in got] == [short.encode(), 2 * short.encode()]


@pytest.mark.parametrize("strsize", [1, 7, 8, 9, 15, 16, 255, 256, 300, 511])
def test_strsize_is_the_most_characters(strsize):
    """A string of one character more loses it, in variables, results and records."""
    given_text = "x" * (strsize + 1)
    body = f'a = "{given_text}"; {show(["a", f"{chr(34)}{given_text}{chr(34)}", "strjoin(a, a)"])}'
    got = run("string a;", body, strsize=strsize)
    assert [len(text(slot)) for slot in got] == [strsize] * 3


def test_a_string_may_be_read_and_set_in_one_assignment():
    """The target's old content is complete while it is read."""
    body = f'a = "head"; a = strjoin(a, "-"); a = strjoin("<", a); a = substr(a, 1); {show(["a"])}'
    assert text(run("string a;", body)[0]) == b"head-"
    assert text(run("", body.replace("a = ", "self->a = ").replace("(a", "(self->a").replace(", a", ", self->a"))[0])


def test_characters_of_strings():
    """Subscripts of a string, and stringof its address."""
    body = 'a = "hello"; printf("%d %d %d", a[1], a[4], a[5]);'
    assert run("string a;", body) == [ord("e"), ord("o"), 0]


@pytest.mark.share(5)
@pytest.mark.parametrize(
    ("expression", "is_true"),
    [
        ('a != ""', 0), ("b != NULL && c == NULL", 1), ("c == NULL", 1), ("c == a", 0), ("c < a", 1), ("a <= c", 0),
        ("c == self->d", 1), ("self->d == NULL", 1), ("d[1] != NULL", 0), ("d[1] == c", 1), ("d[2] == NULL", 0),
        ("self->e == NULL", 0), ("(1 ? c : b) == NULL", 1), ("(d[2] = NULL) == NULL && d[2] == NULL", 1),
        ("(self->e = NULL) == self->e && self->e == NULL", 1),
        ('(b = NULL) == c && b != "b"', 1),
    ],
)  # fmt: skip
def test_comparisons_with_null(expression, is_true):
    """NULL is less than the empty string, and no other."""
    declared = "string a; string b; string c; self string d; string d[int]; self string e;"
    body = 'b = "b"; c = NULL; d[2] = ""; self->e = "";'
    assert run(declared, f'{body} printf("%d", !!({expression}));') == [is_true]


def test_the_verifier_does_not_follow_every_length():
    """A program with many lengths in it is accepted: they are no constants to the verifier."""
    body = 's = "abcdef"; t = "xy"; n = strlen(s) + strlen(t) * strlen(strjoin(s, t)); '
    body += "s = substr(s, strlen(t), strlen(s) - strlen(t)); t = substr(strjoin(t, s), strlen(t) - 1, strlen(s));"
    got = run("string s; string t; long n;", f'{body} printf("%d %s %s", n, s, t);')
    assert [got[0], text(got[1]), text(got[2])] == [22, b"cdef", b"ycde"]
