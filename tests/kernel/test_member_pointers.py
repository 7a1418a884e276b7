"""Pointers to members of C++ are numbers: a distance in the object, or a function and what is added."""

import pytest
from support.command.command import sonde
from support.machine import compilers, packages
from support.machine.access import needs

pytestmark = [needs("CAP_SYS_ADMIN"), packages.needs("g++")]

SOURCE = """
struct S { int a = 1; int S::*at = &S::b; int S::*none = nullptr; void (S::*call)() = &S::g; int b = 2; void g() {} };
extern "C" __attribute__((noinline)) void probed(S *s) { asm volatile("" : : "r"(s) : "memory"); }
int main() { S s; probed(&s); }
"""


@pytest.mark.long
@pytest.mark.parametrize("engine", ["kernel", "embedded"])
def test_their_values(engine):
    program = compilers.built("members.cc", SOURCE, "g++", "-g", "-O1")
    words = ["-q", "--engine", engine, "-c", program]
    text = '{ printf("%d %d %d", args->s->at, args->s->none, args->s->call[1]); }'
    assert sonde(*words, "-n", f"pid$target:a.out:probed:entry {text}").stdout.split() == ["40", "-1", "0"]
    done = sonde("bt", *words, "-e", f"uprobe:{program}:probed {{ print(*args.s); }}").stdout
    assert ".at = 40, .none = -1," in done
    assert ".b = 2 }" in done
