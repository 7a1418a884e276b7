"""Variables of declared types stay of these; names of numbers are strings like others. On both engines."""

import os
import random
import signal

import pytest
from support.bpftrace.bt_programs import EDGES, KINDS
from support.command.command import sonde

from sonde.arch.call_numbers import native_names

ENGINES = ("kernel", "embedded")


def run(program, engine):
    done = sonde("bt", "-q", "--no-warnings", "--engine", engine, "-e", program, "-c", "true")
    assert done.stderr == ""
    return done.stdout.split("\n\n\n")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_declared_variable_holds_what_its_type_holds(engine):
    """Whatever is assigned: by operators, by ++ and --, or from other types."""
    draw = random.Random(20)
    body, wanted = [], []
    for number, kind in enumerate(KINDS * 4):
        name, start = f"$v{number}", kind.wrap(draw.choice(EDGES))
        step, factor = draw.choice(EDGES[:10]), draw.choice(EDGES[:6])
        body.append(f"let {name} : {kind} = ({kind}){start}; {name} = {name} * {factor}; {name} += {step}; {name}++;")
        body.append(f"--{name}; {name}++; print({name}); let {name}t : typeof({name}); {name}t = {name} - 1; ")
        body.append(f"print({name}t); print((uint64){name});")
        value = kind.wrap(kind.wrap(kind.wrap(start * factor) + step) + 1)
        wanted += [str(value), str(kind.wrap(value - 1)), str(value & (1 << 64) - 1)]
    assert run(f"begin {{ {' '.join(body)} }}", engine)[0].splitlines() == wanted


@pytest.mark.parametrize("engine", ENGINES)
def test_names_of_numbers_are_strings(engine):
    """Of each number, also of those that have none; negative errors are the positive ones."""
    program = """
        begin {
            for ($i : -5..140) { print(strerror($i)); print(signal_name($i)); }
            for ($i : -1..500) {
                $name = syscall_name($i); print($name);
                if ($name == "read") { print(strlen($name)); }
            }
            $s = "none"; @e = 2;
            print(strcontains(strerror(@e), "such file")); print(str_concat($s, signal_name(@e + 7)));
            $s = cpid > 0 ? strerror(-@e) : "fine"; print($s); @kept[strerror(@e)] = strlen(strerror(@e));
        }
    """
    calls = native_names()
    wanted = []
    for number in range(-5, 140):
        text = os.strerror(abs(number))
        wanted.append("Unknown error" if "Unknown" in text or abs(number) > 133 else text)
        name = (number and signal.strsignal(number)) or f"Unknown signal {number}" if 0 <= number <= 64 else "N/A"
        wanted.append(name)
    for number in range(-1, 500):
        wanted += [calls.get(number, "Unknown syscall"), *(["4"] if calls.get(number) == "read" else [])]
    missing = os.strerror(2)
    wanted += ["true", "noneKilled", missing]
    printed, maps = run(program, engine)
    assert printed.splitlines() == wanted
    assert f"@kept[{missing}]: {len(missing)}" in maps


@pytest.mark.parametrize("engine", ENGINES)
def test_operators_of_literal_strings(engine):
    words = ["", "a", "ab", "b", "aB", "three words here"]
    pairs = [(one, other) for one in words for other in words]
    body = "".join(
        f'print(("{one}" + "{other}", "{one}" < "{other}", "{one}" >= "{other}", "{one}" == "{other}"));'
        for one, other in pairs
    )
    ends = "".join(f'print(("{word}" + {count}, {count}));' for word in words for count in range(4))
    truths = {True: "true", False: "false"}
    wanted = [
        f"({one + other}, {truths[one < other]}, {truths[one >= other]}, {truths[one == other]})"
        for one, other in pairs
    ]
    wanted += [f"({word[count:]}, {count})" for word in words for count in range(4)]
    assert run(f"begin {{ {body} {ends} }}", engine)[0].split("\n") == wanted
