"""Functions that look at their own return address, in compiled programs of drawn frames."""

import random
from pathlib import Path

import pytest
from support.machine import compilers, packages

from sonde.symbols.code_objects import CodeObjects
from sonde.symbols.return_obstacles import LOOKED_AT

FUNCTIONS = 40

WAYS = {
    "asked": "return (long)__builtin_return_address(0) + sum;",
    "compared": "return (long)__builtin_return_address(0) == sum;",
    "stored": "from[sum & 3] = __builtin_return_address(0); return sum;",
    "given": "return use((long)__builtin_return_address(0), sum);",
    "late": "if (sum & 1) from[1] = __builtin_return_address(0); return use(sum, sum);",
    "": "return sum;",
    " ": "return use(sum, from[0] == 0);",
}
"""Bodies that read the return address, and two without such a read (their names are blank)."""

HEAD = """
#include <alloca.h>
extern void *from[4];
long use(long, long);
void fill(void *, long);
"""

REST = """
void *from[4];
__attribute__((noipa)) long use(long a, long b) { return a ^ b; }
__attribute__((noipa)) void fill(void *to, long size) { for (long i = 0; i < size; i++) ((char *)to)[i] = i; }
"""


def function(name, way, draw):
    """With locals, values that are kept over calls, arguments on the stack, and a frame of unknown size, or without."""
    room, kept, given = (
        draw.choice([0, 0, 8, 40, 112, 128, 136, 4000, 6000, 40000]),
        draw.randrange(7),
        draw.choice([1, 3, 7, 9]),
    )
    body = [f"long k{number} = use(a0, {number});" for number in range(kept)]
    if room:
        body.append(f"char room[{room}]; fill(room, {room}); sum += room[3];")
    if draw.random() < 0.2:
        body.append("char *more = alloca(a0 & 63); fill(more, a0 & 63); sum += more[0];")
    body += [f"sum += use(k{number}, sum);" for number in range(kept)]
    arguments = ", ".join(f"long a{number}" for number in range(given))
    total = " + ".join(f"a{number}" for number in range(given))
    return f"__attribute__((noipa)) long {name}({arguments}) {{ long sum = {total}; {' '.join(body)} {WAYS[way]} }}"


@packages.needs("gcc", "clang")
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize(
    "flags", ["-O0", "-O1", "-O2", "-Os", "-O2 -fno-omit-frame-pointer", "-O3 -mavx2", "-O2 -fstack-clash-protection"]
)
def test_those_that_look_are_found_and_no_others(compiler, flags):
    draw = random.Random(f"{compiler} {flags}")
    ways = {f"f{number}": draw.choice(list(WAYS)) for number in range(FUNCTIONS)}
    source = HEAD + "\n".join(function(name, way, draw) for name, way in ways.items()) + REST
    words = [compiler, *flags.split(), "-w", "-shared", "-fPIC", "-o", "library", "library.c"]
    (library,) = CodeObjects().files(str(compilers.kept(words, {"library.c": source}, "library")))
    found = {name: library.return_obstacle(library.find(name)[0]) for name in ways}
    assert found == {name: LOOKED_AT if way.strip() else None for name, way in ways.items()}
    assert not any(library.return_obstacle(library.find(name)[0], looks_at_calls=True) for name in ways)


def test_functions_of_the_c_library():
    path = next(line.split()[-1] for line in Path("/proc/self/maps").read_text().split("\n") if "libc.so.6" in line)
    (library,) = CodeObjects().files(path)
    found = {each.name for each in library.functions if library.return_obstacle(each) == LOOKED_AT}
    assert {"dlopen", "dlsym", "dl_iterate_phdr"} <= found
    assert len(found) < 40
