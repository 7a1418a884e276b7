"""Where bit-fields lie: C's, in text that comes from the preprocessor, against the C compiler, and D's."""

import random
import subprocess

import pytest
from support.d.catalog import check
from support.machine import compilers

from sonde.model.types import resolve

TYPES = {"char": 8, "unsigned char": 8, "short": 16, "int": 32, "unsigned int": 32, "long": 64}
_SHOWN = """{
    %(tag)s v; memset(&v, 0, sizeof v); v.%(name)s = -1; unsigned char *b = (void *)&v; long at = -1, n = 0;
    for (long i = 0; i < 8 * (long)sizeof v; i++) if (b[i / 8] >> i %% 8 & 1) { n++; if (at < 0) at = i; }
    printf(" %(name)s %%ld %%ld", at, n);
}"""
"""C that says where the bits of a field lie, and how many they are."""
PREPROCESSED = '# 1 "some.h"\n'


def declared(text):
    return resolve(check(f"{text} x; BEGIN {{}}\n").variables[-1].type)


def structures(count):
    """Random declarations, as (tag, declaration, names of their named bit-fields)."""
    draw = random.Random(11)
    for number in range(count):
        members, names = [], []
        for place in range(draw.randint(1, 6)):
            kind = draw.choice(list(TYPES))
            form = draw.choice(("plain", "named", "named", "named", "unnamed", "zero"))
            if form == "plain":
                members.append(f"{kind} m{place};")
            elif form == "named":
                members.append(f"{kind} m{place} : {draw.randint(1, TYPES[kind])};")
                names.append(f"m{place}")
            else:
                members.append(f"{kind} : {draw.randint(1, TYPES[kind]) if form == 'unnamed' else 0};")
        if not names:
            continue
        packed = " __attribute__((packed))" if draw.random() < 0.2 else ""
        keyword = draw.choice(("struct", "struct", "struct", "union"))
        yield f"{keyword} s{number}", f"{keyword} s{number} {{ {' '.join(members)} }}{packed}", names


def test_bit_fields_of_headers_are_those_of_the_compiler():
    """Sizes, and the bits of each field, of 200 random structures."""
    made = list(structures(200))
    lines = ["#include <stdio.h>", "#include <string.h>"]
    for _, text, _ in made:
        lines.append(f"{text};")
    lines.append("int main(void) {")
    for tag, _, names in made:
        lines.append(f'printf("%zu", sizeof({tag}));')
        lines += [_SHOWN % {"tag": tag, "name": name} for name in names]
        lines.append('puts("");')
    program = compilers.built("fields.c", "\n".join([*lines, "return 0; }"]), "gcc", "-w")
    wanted = subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()
    for (_, text, names), line in zip(made, wanted, strict=True):
        kind = declared(PREPROCESSED + text)
        found = {member.name: f"{member.name} {member.offset} {member.bits}" for member in kind.members}
        assert " ".join([str(kind.size), *(found[name] for name in names)]) == line, text


@pytest.mark.parametrize(
    ("members", "size", "offsets"),
    [
        ("int a : 1; int b : 3;", 2, [0, 8]),
        ("int a : 20; int b : 3; int c : 12;", 6, [0, 24, 32]),
        ("char a : 2; short b : 12; long c : 32;", 8, [0, 16, 32]),
    ],
)
def test_bit_fields_of_programs_are_those_of_dtrace(members, size, offsets):
    """Each begins at a byte of its own."""
    kind = declared(f"struct s {{ {members} }}")
    assert (kind.size, [member.offset for member in kind.members]) == (size, offsets)
