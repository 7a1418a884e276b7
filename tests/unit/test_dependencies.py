"""`#pragma D depends_on` in programs and in libraries."""

import pytest
from support.d.catalog import check, error

LIBRARY = "#pragma D depends_on {what}\ninline int five = 5;\n"


@pytest.mark.parametrize("what", ["provider syscall", "module vmlinux"])
def test_what_is_there(what):
    assert check(f"#pragma D depends_on {what}\nBEGIN {{}}").clauses
    assert check("BEGIN { trace(five); }", libraries=(LIBRARY.format(what=what),)).clauses


def test_a_provider_of_the_program_itself():
    assert check("provider mine { };\n#pragma D depends_on provider mine\nBEGIN {}").clauses


@pytest.mark.parametrize("what", ["provider nosuch", "module nosuch"])
def test_what_is_not_there(what):
    """A program is refused; a library is as if it were not there."""
    found = error(f"BEGIN {{}}\n#pragma D depends_on {what}\n")
    assert (found.tag, found.text) == ("D_PRAGMA_DEPEND", f"program requires {what}")
    assert found.position is not None
    assert found.position.line == 2
    missing = error("BEGIN { trace(five); }", libraries=(LIBRARY.format(what=what),))
    assert missing.tag == "D_IDENT_UNDEF"


@pytest.mark.parametrize("words", ["", "provider"])
def test_malformed(words):
    assert error(f"#pragma D depends_on {words}\nBEGIN {{}}").tag == "D_PRAGMA_MALFORM"


def test_a_class_that_is_none():
    found = error("#pragma D depends_on nosuch syscall\nBEGIN {}")
    assert (found.tag, found.text) == ("D_PRAGMA_INVAL", "invalid class nosuch specified by #pragma depends_on")
