"""Macros of C are replaced as by a C compiler, also where they name themselves or each other (C17, 6.10.3.4)."""

import random
import re
import subprocess

from sonde.frontends.bpftrace.check.definitions.preprocessor import Preprocessor

PROGRAMS = 150
NAMES = tuple(f"M{number}" for number in range(5))


def made(seed):
    """Definitions of macros that lead to each other in all ways, and a line that uses them."""
    chosen = random.Random(seed)
    takes = {name: chosen.random() < 0.4 for name in NAMES}

    def piece(*more):
        words = [*NAMES, "1", "+", "z", *more]
        if chosen.random() < 0.5:
            return chosen.choice(words)
        return f"{chosen.choice(NAMES)}({chosen.choice(words)})"

    lines = []
    for name in NAMES:
        parameters = ("x",) if takes[name] else ()
        body = " ".join(piece(*parameters) for _ in range(chosen.randint(1, 4)))
        lines.append(f"#define {name}{'(x)' if takes[name] else ''} {body}\n")
    return "".join(lines), " ".join(piece() for _ in range(3))


def own(definitions, line):
    preprocessor = Preprocessor(lambda *_: None, {})
    preprocessor.read(f"{definitions}{line}\n", "text")
    return "".join(each.text for each in preprocessor.found)


def test_macros_are_expanded_as_by_a_compiler():
    programs = [made(seed) for seed in range(PROGRAMS)]
    without = "".join(f"#undef {name}\n" for name in NAMES)
    text = "".join(f"{one}BEGIN_{at} {line} END\n{without}" for at, (one, line) in enumerate(programs))
    done = subprocess.run(["gcc", "-E", "-P", "-w", "-"], input=text, capture_output=True, text=True, check=True)
    found = {int(at): "".join(line.split()) for at, line in re.findall(r"BEGIN_(\d+)(.*?)END", done.stdout, re.DOTALL)}
    assert {at: own(*program) for at, program in enumerate(programs)} == found
