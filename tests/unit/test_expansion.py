"""Definitions that multiply when they are put in end in an error, soon."""

import pytest
from support.d.catalog import check, error

TOO_LARGE = "expression is too large when the definitions it uses are put in"


def chain(count, value, first="pid"):
    """`a0`, and inline definitions each made from the one before by `value`."""
    lines = [f"inline int a0 = {first};"]
    lines += [f"inline int a{n} = {value.replace('a', f'a{n - 1}')};" for n in range(1, count)]
    return "\n".join(lines)


@pytest.mark.share(1)
@pytest.mark.parametrize(
    "text",
    [
        f"{chain(60, 'a + a')} BEGIN {{ trace(a59); }}",
        f"{chain(60, 'a + a', '1')} BEGIN {{ trace(a59); }}",
        f"inline int f[int x] = x + x; BEGIN {{ trace({'f[' * 40}pid{']' * 40}); }}",
        "inline int f0[int x] = x + x; "
        + " ".join(f"inline int f{n}[int x] = f{n - 1}[f{n - 1}[x]];" for n in range(1, 30))
        + " BEGIN {}",
        "struct s { int a; }; translator struct s < int x > { a = x + x; }; "
        f"BEGIN {{ trace({'xlate <struct s> (' * 40}pid{').a' * 40}); }}",
    ],
    ids=["inline", "constant inline", "argument", "inline arrays", "translator"],
)
def test_doubling(text):
    found = error(text)
    assert (found.tag, found.text) == ("D_UNKNOWN", TOO_LARGE)
    assert found.position is not None


def test_a_long_chain():
    found = error(f"{chain(300, 'a')} BEGIN {{ trace(a299); }}")
    assert (found.tag, found.text) == ("D_UNKNOWN", "definitions are nested more than 50 deep here")


def test_deep_definitions_of_constants():
    """What needs more calls than Python allows is said to be nested too deeply."""
    found = error(f"{chain(49, 'a' + ' + 1' * 190, '1')} BEGIN {{ trace(a48{' + 1' * 190}); }}")
    assert (found.tag, found.text) == ("D_SYNTAX", "nested too deeply")


def test_moderate_use():
    assert check(f"{chain(11, 'a + a')} {chain(2, 'a').replace('a', 'b')} BEGIN {{ trace(a10); trace(b1); }}").clauses


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("int x[2147483647][2147483647][2147483647];", "D_DECL_ARRBIG"),
        ("typedef int t[2147483647]; typedef t u[2147483647]; u x[16];", "D_DECL_ARRBIG"),
        (
            "struct s0 { int a; };" + "".join(f"struct s{n} {{ struct s{n - 1} a, b; }};" for n in range(1, 99)),
            "D_UNKNOWN",
        ),
    ],
)
def test_sizes(text, tag):
    assert error(f"{text} BEGIN {{}}").tag == tag


def test_a_member_sought_in_many_anonymous_structures():
    """Each type is looked into once."""
    nested = "".join(
        f"typedef struct s{n} t{n}; struct s{n + 1} {{ struct {{ t{n} x; }}; struct {{ t{n} y; }}; }};"
        for n in range(40)
    )
    anonymous = "".join(f"struct u{n + 1} {{ struct u{n}; struct u{n}; }};" for n in range(40))
    text = f"struct s0 {{ int a; }}; {nested} struct u0 {{ int a; }}; {anonymous}"
    assert error(f"{text} struct u40 *p; BEGIN {{ trace(p->z); }}").tag == "D_TYPE_MEMBER"
