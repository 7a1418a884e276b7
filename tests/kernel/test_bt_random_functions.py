"""Functions of bpftrace's language against the same ones in Python: `return` out of branches and loops of any depth."""

import random

import pytest
from support.command.command import sonde

FUNCTIONS, ARGUMENTS = 9, 12
"""The first call none, since what they call is copied; arguments count from 0."""


class _Maker:
    """Statements at random, as lines of both languages. `loops` are variables of the loops around them."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.made = 0

    def number(self, loops):
        given = [*loops, "a", "x", str(self.random.randrange(9))]
        return f"{self.random.choice(given)} * {self.random.randrange(4)} + {self.random.choice(given)}"

    def test(self, loops):
        return f"({self.number(loops)}) % 7 {self.random.choice(['<', '>', '=='])} {self.random.randrange(7)}"

    def function(self, name, called):
        """One that may call those `called`."""
        self.called = called
        bt, python = self.block(3, (), False)
        text = ["fn NAME($a: int64): int64 {", "let $x: int64 = $a + 1;", *bt, "return $x + 1000; }"]
        other = [f"def {name}(a):", " x = a + 1", *(f" {line}" for line in python), " return x + 1000"]
        return "\n".join(text).replace("NAME", name), "\n".join(other)

    def block(self, depth, loops, is_loop):
        bt, python = [], []
        for _ in range(self.random.randrange(1, 4)):
            one, other = self.statement(depth, loops, is_loop)
            bt, python = bt + one, python + other
        return bt, python

    def statement(self, depth, loops, is_loop):
        kind = self.random.choice(["set", "set", "call", *(("if", "if", "for", "unroll") if depth else ())])
        if kind == "if":
            return self.branch(depth, loops, is_loop)
        if kind in ("for", "unroll"):
            return self.loop(kind, depth, loops)
        if kind == "call" and self.called:
            value = f"{self.random.choice(self.called)}(({self.number(loops)}) % 12)"
        else:
            value = f"({self.number(loops)}) % 101"
        return [f"$x = {_dollars(value)};"], [f"x = {value}"]

    def branch(self, depth, loops, is_loop):
        test = self.test(loops)
        then, otherwise = self.block(depth - 1, loops, is_loop), self.block(depth - 1, loops, is_loop)
        word = self.random.choice(["return", "return", *(("break", "continue") if is_loop else ())])
        value = f" {self.number(loops)}" if word == "return" else ""
        ended = self.random.choice([then, otherwise])
        ended[0].append(f"{word}{_dollars(value)};")
        ended[1].append(f"{word}{value}")
        bt = [f"if ({_dollars(test)}) {{", *then[0], "} else {", *otherwise[0], "}"]
        return bt, [f"if {test}:", *_deeper(then[1]), "else:", *_deeper(otherwise[1])]

    def loop(self, kind, depth, loops):
        turns = self.random.randrange(1, 4)
        if kind == "unroll":
            bt, python = self.block(depth - 1, loops, False)
            return [f"unroll({turns}) {{", *bt, "}"], [f"for _ in range({turns}):", *_deeper(python)]
        self.made += 1
        name = f"i{self.made}"
        bt, python = self.block(depth - 1, (*loops, name), True)
        return [f"for (${name} : 0..{turns}) {{", *bt, "}"], [f"for {name} in range({turns}):", *_deeper(python)]


def _deeper(lines):
    return [f" {line}" for line in lines]


def _dollars(text):
    """The variables of an expression as bpftrace's."""
    words = text.replace("(", " ( ").replace(")", " ) ").split(" ")
    return " ".join(f"${word}" if word in ("a", "x") or (word[:1] == "i" and word[1:].isdigit()) else word
                    for word in words)  # fmt: skip


@pytest.mark.share(1)
@pytest.mark.parametrize("engine", ["kernel", "embedded"])
@pytest.mark.parametrize("seed", range(3))
def test_functions_give_what_they_give_in_python(engine, seed):
    maker, names, bt, known = _Maker(seed), [], [], {}
    for number in range(FUNCTIONS):
        text, python = maker.function(f"f{number}", names[:3] if number > 3 else ())
        exec(python, known)
        bt.append(text)
        names.append(f"f{number}")
    shown = "".join(f'for ($n : 0..{ARGUMENTS}) {{ printf("{name} %d %d\\n", $n, {name}($n)); }} '
                    for name in names[3:])  # fmt: skip
    done = sonde(
        "bt", "-q", "--no-warnings", "--engine", engine, "-e", "\n".join(bt) + f"\nbegin {{ {shown} exit(); }}"
    )
    wanted = [f"{name} {n} {known[name](n)}" for name in names[3:] for n in range(ARGUMENTS)]
    assert done.stdout.split("\n")[: len(wanted)] == wanted
