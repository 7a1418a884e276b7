"""C definitions of bpftrace programs: layouts as a C compiler has them, the preprocessor, and mistakes with places."""

import os
import random
import re
import subprocess

import pytest
from support.d.catalog import FakeCatalog
from support.machine import compilers
from support.symbols.compiled_objects import needs_gcc

from sonde.frontends.bpftrace.check.definitions.reading import read_definitions
from sonde.frontends.bpftrace.check.definitions.tokens import DefinitionError
from sonde.frontends.bpftrace.check.known_types import KnownTypes
from sonde.frontends.bpftrace.errors import SourceSpan
from sonde.frontends.bpftrace.programs.headers import HeaderFiles
from sonde.frontends.bpftrace.syntax.nodes import CDefinition
from sonde.frontends.bpftrace.syntax.program import items, stream_of
from sonde.model.errors import ProgramError
from sonde.model.types import Struct, align_of, resolve, size_of

PRELUDE = """
typedef unsigned char u8x; typedef short __attribute__((aligned(8))) wide_short; typedef int triple[3];
enum small { LEAST = -3, MOST = 7 }; enum large { HUGE = 1ull << 40 }; enum __attribute__((packed)) tiny { ONE = 1 };
"""
INTEGERS = (
    "char", "signed char", "unsigned char", "short", "unsigned short int", "int", "unsigned", "long", "unsigned long",
    "long long int", "_Bool", "u8x", "enum small",
)  # fmt: skip
OTHERS = ("float", "double", "void *", "wide_short", "triple", "enum large", "enum tiny", "int (*)(void)")
STRUCTURES = 131


def read(text, headers=None, included=()):
    """What a program's definitions make known."""
    known = KnownTypes(FakeCatalog())
    definitions = [CDefinition(SourceSpan(1, 1, 1 + text.count("\n"), 2), text)]
    found = headers or {}
    read_definitions(definitions, lambda name, *_: (name, found[name]) if name in found else None, included, "x", known)
    return known


def member(draw, name, depth):
    """A declaration of that name, or without one."""
    kind = draw.random()
    attribute = draw.choice(("", "", "", "", " __attribute__((aligned(4)))", " __attribute__((packed))"))
    if kind < 0.35:
        base = draw.choice(INTEGERS)
        bits = 1 if base == "_Bool" else draw.randint(1, 7 if "char" in base or base == "u8x" else 13)
        if draw.random() < 0.15:
            return f"{base} : {draw.choice((0, bits))};"
        return f"{base} {name} : {bits}{draw.choice(('', '', attribute))};"
    if kind < 0.5 and depth:
        inner = structure(draw, "", name, depth - 1)
        return inner + draw.choice((";", f" {name};", f" {name}[3];"))
    base = draw.choice(INTEGERS + OTHERS)
    if "(*)" in base:
        return f"int (*{name}[2])(void){attribute};"
    # No array has elements that ask for a larger alignment than their size.
    dimensions = "" if base == "wide_short" else draw.choice(("", "", "[5]", "[2][3]", "[sizeof(long) / 2 + 1]"))
    return f"{base} {name}{dimensions}{attribute};"


def structure(draw, tag, prefix, depth):
    keyword = draw.choice(("struct", "struct", "struct", "union"))
    attribute = draw.choice(("", "", "__attribute__((packed))", "__attribute__ ((__packed__, aligned (2)))"))
    members = " ".join(member(draw, f"{prefix}{number}", depth) for number in range(draw.randint(1, 6)))
    front = draw.random() < 0.5
    return f"{keyword} {attribute if front else ''} {tag} {{ {members} }} {'' if front else attribute}"


def of_the_compiler(definitions, known):
    """For each structure its size, its alignment, and for each member the bits that it has, as gcc lays them out."""
    body = []
    for keyword, tag in known.tagged:
        if not tag.startswith("s_"):
            continue
        kind = f"{keyword} {tag}"
        body.append(f'printf("{tag} %zu %zu\\n", sizeof({kind}), _Alignof({kind}));')
        for name, inner in leaves(known.tagged[keyword, tag]):
            if inner.bits:
                body.append(
                    f"{{ {kind} o; memset(&o, 0, sizeof o); o.{name} = -1; show(&o, sizeof o); }}"
                )  # fmt: skip
            else:
                body.append(f'printf("%zu %zu\\n", 8 * offsetof({kind}, {name}), sizeof((({kind} *)0)->{name}));')
    source = f"""
#include <stddef.h>
#include <stdio.h>
#include <string.h>
{definitions}
static void show(void *object, size_t size) {{
    size_t count = 0, first = 0;
    for (size_t bit = 0; bit < 8 * size; bit++)
        if (((unsigned char *)object)[bit / 8] >> bit % 8 & 1 && !count++) first = bit;
    printf("%zu %zu\\n", first, count);
}}
int main() {{ {" ".join(body)} }}
"""
    program = compilers.built("layout.c", source, "gcc", "-w", "-O0", "-std=gnu11")
    return subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines()


def leaves(struct):
    """The named members that are reached without a name in between."""
    for name in sorted(struct.names()):
        yield name, struct.find(name)


@needs_gcc
def test_random_structures_lie_as_the_compiler_has_them():
    draw = random.Random(3)
    # A structure of a random one lies as that asks for, too.
    texts = [structure(draw, f"s_{number}", "m", 2) + ";" for number in range(STRUCTURES)]
    texts += [f"struct s_of_{n} {{ char c; {kind(text, n)} m[2]; int i:3; }};" for n, text in enumerate(texts[:29])]
    definitions = PRELUDE + "\n".join(texts)
    known = read(definitions)
    lines = []
    for (_, tag), struct in known.tagged.items():
        if tag.startswith("s_"):
            lines.append(f"{tag} {size_of(struct)} {align_of(struct)}")
            lines += [f"{each.offset} {each.bits or size_of(each.type)}" for _, each in leaves(struct)]
    assert lines == of_the_compiler(definitions, known)


def kind(text, number):
    return f"{text.split()[0]} s_{number}"


PREPROCESSED = """
#define N 3
#define TWICE(x) ((x) * 2)
#define JOINED(a, b) a ## b
#define SELF SELF
#define MANY(f, ...) f(__VA_ARGS__)
#ifdef N
#  if defined(M) || N > 5
struct wrong { int a; };
#  elif TWICE(N) == 6 && !defined M
struct JOINED(ri, ght) { int a[TWICE(N + 1)], *p, (*q)[N]; };
#  else
struct wrong { int a; };
#  endif
#else
#  error "not here"
#endif
#undef N
#ifndef N
enum { A = 1 << 4, B = A + 'a', C = (unsigned char)-1, D = sizeof(struct right), E = -1 < 0 ? 7 : 9, F, SELF };
#endif
struct of_many { int MANY(TWICE, 1) [MANY(TWICE, 3)]; };
""".replace("int MANY(TWICE, 1) [", "int x[")


def test_the_preprocessor_and_constants():
    known = read(PREPROCESSED)
    assert ("struct", "wrong") not in known.tagged
    right = known.tagged["struct", "right"]
    assert [(each.name, each.offset, size_of(each.type)) for each in right.members] == [
        ("a", 0, 32), ("p", 256, 8), ("q", 320, 8),
    ]  # fmt: skip
    values = {name: value for name, (_, value) in known.enumerators.items()}
    assert values == {"A": 16, "B": 113, "C": 255, "D": 48, "E": 7, "F": 8, "SELF": 9}
    assert size_of(known.tagged["struct", "of_many"]) == 24
    assert known.macro("N") is None
    assert known.macro("TWICE") is None


def test_headers_are_read_and_what_they_do_not_need_is_passed_over():
    header = """
#pragma once
#include "inner.h"
extern int printf(const char *, ...) __attribute__((format(printf, 1, 2)));
static inline int one(struct unknown *x) { if (x) { return 1; } return 2; }
__extension__ typedef struct { long long a[N]; } box_t;
unknown_t never(unknown_t);
int array[] = { 1, 2, 3 };
_Static_assert(1, "");
"""
    files = {"outer.h": header, "inner.h": "#define N 11\n#define AF 2 /* a\ncomment */ + 1\n"}
    known = read('#include "outer.h"\n#include <outer.h>\nstruct own { box_t b; char c; };', files)
    assert size_of(known.tagged["struct", "own"]) == 96
    assert known.macro("AF") == "2 + 1"
    assert size_of(read("struct own { box_t b; };", files, ("outer.h",)).tagged["struct", "own"]) == 88


def test_types_of_the_kernel_complete_those_of_the_program():
    known = read("struct own { struct task_struct *p; struct node q; }; struct later; struct a { struct later *l; };")
    members = known.tagged["struct", "own"].members
    assert isinstance(resolve(members[1].type), Struct)
    assert members[1].type is FakeCatalog().tagged_type("struct", "node")


def test_included_files_are_found_in_order_and_others_keep_nobody_waiting(tmp_path, monkeypatch):
    first, second = tmp_path / "first", tmp_path / "second"
    for each in (first, second / "linux"):
        each.mkdir(parents=True)
    monkeypatch.setenv("CPATH", str(second))
    os.mkfifo(first / "one.h")
    (second / "one.h").write_bytes(b"struct \xff")
    (second / "linux" / "two.h").mkdir()
    files = HeaderFiles([str(first)], has_btf=True)
    path, text = files.find("one.h", False, "definitions.h")
    assert (path, text[:7]) == (str(second / "one.h"), "struct ")
    with pytest.raises(DefinitionError):
        read(text)
    assert files.find("one.h", True, str(second / "linux" / "it.h"))[0] == path
    assert files.find("linux/two.h", False, "definitions.h") == ("linux/two.h", "")
    assert HeaderFiles([], has_btf=False).find("linux/two.h", False, "definitions.h") is None
    for content in (b" " * ((4 << 20) + 1), b"struct \0"):
        (second / "one.h").write_bytes(content)
        with pytest.raises(ProgramError, match=r"one\.h"):
            files.find("one.h", False, "definitions.h")


DOUBLING = "\n".join(f"#define a{n} " + f"a{n - 1} " * 9 for n in range(1, 9)) + "\n#if a8\n#endif"
MISTAKES = {
    "#include <lol/no.h>": "definitions.h:2:10: fatal error: 'lol/no.h' file not found",
    "struct a { struct none x; };": "definitions.h:2:24: error: field has incomplete type 'struct none'",
    "struct a {\n  none_t x; };": "definitions.h:3:3: error: unknown type name 'none_t'",
    "struct a { int x:33; };": "definitions.h:2:16: error: width of bit-field",
    "struct a { int x; char x; };": "definitions.h:2:24: error: duplicate member 'x'",
    "struct a { int x; }; struct a { int y; };": "definitions.h:2:29: error: redefinition of 'a'",
    "struct a { int x[-1]; };": "definitions.h:2:17: error: array size is negative",
    "struct a { int x[n]; };": "definitions.h:2:18: error: use of undeclared identifier 'n'",
    "enum e { A, A };": "definitions.h:2:13: error: redefinition of enumerator 'A'",
    "#define A A B\n#define B A A\n#if A\n#endif": "definitions.h:4:",
    "#error this": "definitions.h:2:1: error: this",
    "#pragma pack(1)": "definitions.h:2:9: error: #pragma pack is not supported",
    "struct a { int x __attribute__((aligned(3))); };": "definitions.h:2:41: error: requested alignment",
    "typedef struct { int (" + "(" * 300 + "x; } t;": "definitions.h:2:",
    "#include <self.h>": "self.h:1:10: error: #include nested too deeply",
    DOUBLING: "definitions.h:10:5: fatal error: macros stand for too much text",
}  # fmt: skip


@pytest.mark.share(6)
@pytest.mark.parametrize("text", MISTAKES, ids=range(len(MISTAKES)))
def test_a_mistake_is_told_as_a_compiler_tells_it(text):
    with pytest.raises(DefinitionError) as found:
        read(text, {"self.h": "#include <self.h>"})
    assert found.value.told.startswith(MISTAKES[text])
    assert re.fullmatch(r"[\w./-]+:\d+:\d+: (fatal )?error: .+", found.value.told)


def test_mutated_definitions_give_definitions_or_one_mistake():
    draw = random.Random(5)
    pieces = re.findall(r"\w+|\s+|.", PRELUDE + PREPROCESSED)
    refused = 0
    for _ in range(211):
        mutated = list(pieces)
        for _ in range(draw.randint(1, 3)):
            at = draw.randrange(len(mutated))
            mutated[at] = draw.choice(("", draw.choice(pieces), mutated[at] * 2))
        try:
            read("".join(mutated))
        except DefinitionError:
            refused += 1
    assert 20 < refused < 205


def known_of(text):
    definitions = [each for each in items(stream_of(text)) if isinstance(each, CDefinition)]
    known = KnownTypes(FakeCatalog())
    read_definitions(definitions, lambda *_: None, (), "x", known)
    return known


def test_a_macro_is_not_expanded_in_what_it_stands_for():
    """C17, 6.10.3.4."""
    text = "#define A A\n#define B B + 1\n#define C D\n#define D C\nenum e { A = 7 };\nbegin { }"
    known = known_of(text)
    assert [known.macro(name) for name in "ABCD"] == ["A", "B + 1", "C", "D"]
    with known.expanded():
        assert known.macro("A") is None
    assert known.macro("A") == "A"


@pytest.mark.long
def test_a_macro_that_stands_for_too_much_is_a_mistake_where_it_is_used():
    doubled = "".join(f"#define A{at + 1} A{at} + A{at}\n" for at in range(40))
    known = known_of(f"#define A0 1\n{doubled}begin {{ }}")
    with pytest.raises(DefinitionError) as found:
        known.macro("A40")
    assert "macros stand for too much text" in found.value.told


def test_the_place_in_the_program_is_told():
    text = "struct a { int x; };\n  struct b {\n  none_t y;\n};\nbegin { }"
    definitions = [each for each in items(stream_of(text)) if isinstance(each, CDefinition)]
    with pytest.raises(DefinitionError) as found:
        read_definitions(definitions, lambda *_: None, (), "x", KnownTypes(FakeCatalog()))
    assert (found.value.span.line, found.value.span.column, found.value.span.end_column) == (3, 3, 9)
