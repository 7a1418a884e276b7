"""Code for kernels that lack what newer ones have, and what is refused there."""

import pytest
from support.d.compiled import TARGET, calls, compilation

from sonde.bpf import instructions as bpf
from sonde.model.errors import SourceError
from sonde.model.target import is_older


def code(text, release):
    found = compilation(text, TARGET._replace(release=release)).spec()
    return [instruction for program in found.programs for instruction in bpf.decode(program.code)]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("BEGIN { for (i = 0; i < 3; i++) trace(i); }", "loops"),
        ("BEGIN { while (1) { } }", "loops"),
        ('string s; BEGIN { trace(strstr(s, "x")); }', "strstr()"),
        ("string s; BEGIN { trace(basename(s)); }", "basename()"),
        ("BEGIN { trace(lltostr(5)); }", "lltostr()"),
    ],
)
def test_what_needs_the_helper_for_loops(text, what):
    with pytest.raises(SourceError) as raised:
        code(text, "5.15.0-91-generic")
    assert raised.value.text == f"{what} before Linux 5.17 is not supported by this engine"
    assert raised.value.position is not None
    assert calls(code(text, "5.17.0"), "loop")
    assert calls(code(text, "what a file is called"), "loop")


def test_long_strings_are_compared_without_it():
    text = "string s, t; BEGIN { trace(s == t); }"
    assert not calls(code(text, "5.16.1"), "loop")
    assert calls(code(text, "5.17.0"), "loop")


@pytest.mark.parametrize(
    ("release", "expected"),
    [
        ("5.16.9-arch", True),
        ("5.4", True),
        ("4.19.0", True),
        ("5.17.0-rc1", False),
        ("6.1.0-56-amd64", False),
        ("10.0.0", False),
        ("vmlinux", False),
        ("x.y", False),
        ("", False),
    ],
)
def test_releases(release, expected):
    assert is_older(TARGET._replace(release=release), (5, 17)) == expected
