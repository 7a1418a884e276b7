"""What the system's C headers have beyond D: passed over or understood in declarations."""

import subprocess

import pytest
from support.d.catalog import check, error
from support.machine import packages

from sonde.frontends.d.check.layout import object_size
from sonde.frontends.d.programs.preprocess import preprocessor_command
from sonde.model.options import OptionTable
from sonde.model.types import Struct, name_of, resolve


def declared(text):
    return check(f"{text} BEGIN {{}}").variables[-1].type


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("typedef __signed__ char s8; s8 x;", "s8"),
        ("__extension__ typedef __signed__ long long s64; s64 x;", "s64"),
        ("char *__restrict x;", "char *"),
        ("__const char *x;", "char *"),
        ("extern int f(int) __asm__(\"g\") __attribute__((__nothrow__)); int x;", "int"),
        ("__attribute__((aligned(8))) int x __attribute__((unused));", "int"),
        ("_Static_assert(sizeof (int) == 4, \"int\"); int x;", "int"),
        ("_Noreturn void f(int); int x;", "int"),
        ("static __inline int f(int a) { return a ? '{' : \"}\"[0]; /* } */ } int x;", "int"),
        ("inline static double f(double a) { if (a > 0.5e3) { a = 1; } return a; } long x;", "long"),
        ("extern __inline__ int f(int); int x;", "int"),
        ("float _Complex x;", "float _Complex"),
        ("_Complex double x;", "double _Complex"),
        ("unsigned __int128 x;", "unsigned __int128"),
    ],
)  # fmt: skip
def test_declarations(text, spelled):
    assert name_of(declared(text)) == spelled


def test_line_markers_in_a_body_count():
    """An error after a body is on the line that the preprocessor's markers say."""
    found = error('inline static int f(int a)\n{\n# 40 "h.h"\n return a;\n}\nint y[-1];\n')
    assert (found.position.file, found.position.line) == ("h.h", 42)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("struct s { char a; int b; } x;", 8),
        ("struct s { char a; int b; } __attribute__((packed)) x;", 5),
        ("struct __attribute__((__packed__)) s { char a; long b; char c; } x;", 10),
        ("struct s { char a; struct { char b; int c; } __attribute__((packed)) d; int e; } x;", 12),
        ("struct s { char a; int b __attribute__((packed)); } x;", 8),
        ("struct s { _Static_assert(1, \"\"); char a; } x;", 1),
        ("struct s { char a; float _Complex b; } x;", 12),
    ],
)  # fmt: skip
def test_layout(text, size):
    kind = resolve(declared(text))
    assert isinstance(kind, Struct)
    assert object_size(kind, 256) == size


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("int f(int a) { return a; }", "D_SYNTAX"),
        ("inline static int x;", "D_SYNTAX"),
        ("static int f(int);", "D_DECL_BADCLASS"),
        ("inline static int f(int a) { ", "D_SYNTAX"),
        ("int x __attribute__((packed;", "D_SYNTAX"),
        ("int x __attribute__ y;", "D_SYNTAX"),
    ],
)
def test_refused(text, tag):
    assert error(f"{text} BEGIN {{}}").tag == tag


HEADERS = (
    "endian.h",
    "sys/socket.h",
    "netinet/in.h",
    "linux/tcp.h",
    "linux/if_ether.h",
    "complex.h",
    "stdio.h",
    "stddef.h",
)


@pytest.mark.share(6)
@pytest.mark.parametrize("header", HEADERS)
def test_headers_of_this_system(header):
    """Everything a header declares is taken."""
    packages.require("cpp")
    command = ["cpp", *preprocessor_command(OptionTable())[1:-1]]
    text = f"#include <{header}>\nBEGIN {{}}\n"
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no {header}")
    assert len(check(done.stdout).clauses) == 1


def test_what_headers_repeat_and_leave_open_is_theirs_alone():
    """C11 lets a typedef be repeated, and headers end structures with arrays of no elements; D does neither."""
    text = "typedef int q;\ntypedef int q;\nstruct s { int n; int of[0]; };\nBEGIN {}\n"
    assert error(text).tag == "D_DECL_IDRED"
    assert error(text.replace("typedef int q;\n", "", 1)).tag == "D_DECL_ARRSUB"
    assert check(f'# 1 "/usr/include/some.h"\n{text}').clauses
