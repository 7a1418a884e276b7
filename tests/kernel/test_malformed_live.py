"""Malformed programs: each is refused with one clear message that has a position, at once."""

import random
import re
import time

import pytest
from support.command.command import sonde, start
from support.d.d_checking import DEFAULTS, compile_sources

from sonde.frontends.d.source import ProgramSource
from sonde.machine.system import current_target
from sonde.model.errors import SourceError
from sonde.session.registry import Registry

PROGRAMS = [
    "syscall:::entry { @[probefunc] = count(); }",
    'BEGIN { x = 1; y = "abc"; printf("%d %s\\n", x, y); exit(0); }',
    'syscall::openat:entry /pid == 5 && execname != "sh"/ { self->t = timestamp; @q = quantize(arg2); }\n'
    "syscall::openat:return /self->t/ { @[execname, probefunc] = avg(timestamp - self->t); self->t = 0; }",
    "int a[int, string]; struct foo { int x; char y[8]; };\n"
    'BEGIN { a[1, "x"]++; this->z = (struct foo *)0; trace(sizeof(struct foo)); }',
    "inline int N = 5 * (3 + 2);\nprofile-97 /cpu == 0/ { @[stack(5), ustack(3)] = lquantize(arg0, 0, 100, 10); }\n"
    'tick-1s { trunc(@, 5); clear(@); normalize(@, 2); setopt("quiet"); }',
]

PIECES = ["{", "}", "(", ")", "[", "]", ";", ",", "/", '"', "'", "$", "@", "`", "->", "...", "#pragma", "/*", "::",
          "sizeof", "struct", "this->", "99999999999999999999", "0x", "$1", "$$x", "\0", "\xff", "é", "xlate",
          "typedef", "stringof", "printf(", "0" * 500, "a" * 5000, "(" * 300, "[" * 200, "-" * 400, "!" * 1000,
          "{" * 300, "1+" * 2000]  # fmt: skip


def mutated(seed):
    """A program with one to four changes: cut off, something put in or taken out, words swapped, brackets dropped."""
    choose = random.Random(seed)
    text = choose.choice(PROGRAMS)
    for _ in range(choose.randint(1, 4)):
        at = choose.randrange(len(text) + 1)
        match choose.randrange(5):
            case 0:
                text = text[:at] or "{"
            case 1:
                text = text[:at] + choose.choice(PIECES) + text[at:]
            case 2:
                text = text[:at] + text[at + choose.randrange(1, 12) :] or "}"
            case 3:
                words = text.split(" ")
                one, other = choose.randrange(len(words)), choose.randrange(len(words))
                words[one], words[other] = words[other], words[one]
                text = " ".join(words)
            case 4:
                text = text.replace(choose.choice("(){}[];,/"), "", 1) or ";"
    return text


@pytest.fixture(scope="module")
def registry():
    found = Registry(current_target())
    compile_sources([ProgramSource(PROGRAMS[2])], found, DEFAULTS)
    return found


def refusal(text, registry):
    """The error a program is refused with, None if it compiles."""
    try:
        compile_sources([ProgramSource(text)], registry, DEFAULTS)
    except SourceError as error:
        return error
    return None


@pytest.mark.long
def test_mutated_programs_are_refused_with_a_position(registry):
    """No other exception comes out of the compiler, and most of the programs are in fact malformed."""
    refused = 0
    for seed in range(250):
        text = mutated(seed)
        begin = time.monotonic()
        error = refusal(text, registry)
        assert time.monotonic() - begin < 10, text
        if error is not None:
            refused += 1
            assert error.text, text
            assert 1 <= error.position.line <= text.count("\n") + 2, text
    assert refused > 200


@pytest.mark.share(1)
@pytest.mark.parametrize("seed", range(0, 250, 25))
def test_the_command_says_it_in_one_message(tmp_path, seed, registry):
    """Status 1, one message of sonde's, its place and the line with a mark under it; never a traceback."""
    script = tmp_path / "script.d"
    text = next(each for each in map(mutated, range(seed, seed + 25)) if refusal(each, registry))
    script.write_text(text)
    done = sonde("-qs", str(script), status=1)
    assert done.stderr.startswith(f"sonde: failed to compile script {script}: ")
    assert done.stderr.count("sonde: ") == 1
    assert f"\n  {script}:" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


@pytest.mark.share(2)
@pytest.mark.parametrize(
    ("statement", "named"),
    [("panic()", "panic()"), ("breakpoint()", "breakpoint()"), ("trace(msgsize(0))", "msgsize")],
)
def test_what_cannot_be_compiled_is_named_with_its_position(statement, named):
    done = sonde("-wqn", f"BEGIN {{ {statement}; exit(0); }}", status=1)
    assert named in done.stderr.splitlines()[0]
    assert "\n  command line:1:" in done.stderr


@pytest.mark.long
def test_a_clause_too_large_for_ebpf_is_named_with_its_position(tmp_path):
    """More statements in a row than a jump can span, with a predicate to jump over them."""
    script = tmp_path / "long.d"
    script.write_text("int x; BEGIN /pid/ {" + "x ^= pid;" * 8000 + "exit(0); }")
    done = sonde("-qs", str(script), status=1)
    assert "the clauses of dtrace:::BEGIN are too large" in done.stderr.splitlines()[0]
    assert "\n  " + str(script) + ":1:8:" in done.stderr


def loops_around(statement, depth):
    heads = "".join(f"for (this->i{n} = 0; this->i{n} < 2; this->i{n}++) {{ " for n in range(depth))
    return f"{heads}{statement} {'}' * depth}"


@pytest.mark.long
@pytest.mark.parametrize("statement", ["@[ustack()] = count();", "@[basename(execname)] = count();"])
def test_loops_nest_as_deep_as_ebpf_has_functions_within_each_other(statement):
    """The kernel takes what sonde compiles; beyond that the clause is named."""
    for depth in range(2, 9):
        clause = f"syscall::write:entry /pid == $target/ {{ {loops_around(statement, depth)} }}"
        process = start("-q", "-c", "true", "-n", clause, text=True)
        _, messages = process.communicate()
        if process.returncode:
            assert re.search(r"the clauses of .* are too large: they (are|need) \d+ ", messages), messages
            assert "\n  command line:1:1:" in messages
            break
    assert process.returncode
    assert depth > 2


def test_strings_may_be_long():
    """A megabyte, where only the variable takes that much."""
    assert sonde("-xstrsize=1m", "-qn", 'BEGIN { s = "x"; trace(s); exit(0); }').stdout == "x\n"
