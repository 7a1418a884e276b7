"""What beginners write, and what they are told: the place, the cause, and a remedy that compiles when it is pasted."""

import os
import shlex
from pathlib import Path

import pytest
from support.command.running import run
from support.d.d_checking import DEFAULTS
from support.machine.access import needs

from sonde.frontends.d.advice.findings import findings
from sonde.frontends.d.check.checker import Checker
from sonde.frontends.d.errors import DError
from sonde.frontends.d.programs.libraries import libraries
from sonde.frontends.d.source import Macros, command_line_source
from sonde.machine.system import current_target
from sonde.model.options import OptionTable
from sonde.session.registry import Registry

REGISTRY = Registry(current_target())


GROUPS = pytest.mark.skipif(
    not os.access("/sys/kernel/tracing/events", os.R_OK),
    reason="tracefs, which tells the modules of sdt, is not readable",
)


def trial(text, explained=True):
    """The first mistake of a program, as the command compiles it."""
    checker = Checker(REGISTRY, DEFAULTS._replace(explained=explained))
    checker.use_libraries(lambda: libraries(OptionTable()))
    try:
        checker.add_text(command_line_source(text), Macros(arguments=("sonde",)))
    except DError as error:
        return error
    return None


def told(program):
    first = trial(program)
    assert first is not None, "this compiles"
    return findings(first, program, trial)


def blocks():
    """The marked program, the cause and the repaired program of each block of mistakes.txt."""
    text = (Path(__file__).parent / "mistakes.txt").read_text(encoding="utf-8")
    for block in text.split("\n\n")[1:]:
        marked, cause, repaired = block.strip("\n").split("\n")
        marks = GROUPS if marked.startswith("sdt:«") else ()
        yield pytest.param(marked.replace("⏎", "\n"), cause.strip(), repaired.replace("⏎", "\n"), marks=marks)


@pytest.mark.share(1)
@pytest.mark.parametrize(("marked", "cause", "repaired"), list(blocks()))
def test_a_mistake_is_told_with_its_place_its_cause_and_a_remedy_that_compiles(marked, cause, repaired):
    start, end = marked.index("«"), marked.index("»") - 1
    program = marked.replace("«", "").replace("»", "")
    error = trial(program)
    found = findings(error, program, trial)
    first = found.listed[0]
    assert first.error is error
    assert (first.span.start, max(first.span.end - 1, first.span.start + 1)) == (start, max(end - 1, start + 1))
    if repaired == "-":
        assert cause == first.label
        assert first.advice
        assert (first.remedy, found.repaired) == (None, None)
        assert len(found.listed) == 1, "told of what comes from the first mistake"
        return
    assert cause in (first.label, first.remedy.words)
    assert found.repaired.rstrip() == repaired
    assert trial(found.repaired) is None


def test_up_to_five_mistakes_are_told_and_none_that_comes_from_another():
    clauses = [f"syscall::read:entry {{ trace(unknown_{number}); }}\n" for number in range(7)]
    found = told("".join(clauses))
    assert [each.error.text.split()[3] for each in found.listed] == [f"unknown_{number}:" for number in range(5)]
    # What is set where something is wrong is not missing elsewhere.
    found = told("BEGIN { self->x = unknown; @a = count(unknown); }\nEND { trace(self->x); printa(@a); }\n")
    assert len(found.listed) == 1


@pytest.mark.parametrize("use", ["nosuch()", "trace(nosuch())", "x = nosuch(1) + 2", "@a = sum(nosuch())"])
def test_a_name_that_nothing_has_is_told_once_and_stays_a_name_that_nothing_has(use):
    found = told(f"BEGIN /!self->at/ {{ self->at = timestamp; {use}; }}")
    assert [(each.error.text, each.remedy) for each in found.listed] == [("undefined function name: nosuch", None)]


def test_a_clause_that_cannot_be_read_does_not_hide_the_next():
    found = told("BEGIN { x = * ; }\nsyscall::raed:entry { trace(1); }\nEND { trace(unknown_name); }\n")
    assert [each.error.tag for each in found.listed] == ["D_SYNTAX", "D_PDESC_ZERO", "D_IDENT_UNDEF"]


@pytest.mark.share(8)
@pytest.mark.parametrize(
    "use",
    [
        "locals->x",
        "globals->x",
        "args->x",
        "args[0]->x",
        "arg0 + args->p->d",
        "pktlen",
        "capture(10)",
        "stringof(args->s)",
    ],
)
@pytest.mark.parametrize("nowhere", ["nosuch:::", "syscall::nosuch:entry", "uprobe:/bin/sh:nosuch:entry"])
def test_at_a_probe_that_is_not_there_nothing_else_is_wrong(nowhere, use):
    """What stands in its place while other mistakes are looked for has no variables, and is not the user's."""
    body = use if use.endswith(")") and not use.startswith("string") else f"trace({use})"
    found = told(f"{nowhere} {{ {body}; }}\nEND {{ trace(unknown_name); }}\n")
    assert [each.error.tag for each in found.listed][1:] == ["D_IDENT_UNDEF"]
    assert "unknown_name" in found.listed[1].error.text


def test_a_bracket_that_is_not_closed_is_shown_where_it_was_opened():
    done = run("-e", "-n", "BEGIN\n{\n  trace((1 + 2);\n}\n")
    assert "opened here" in done.stderr
    done = run("-e", "-n", "BEGIN {\n  trace(1);\nEND { trace(2); }\n")
    assert "   1 | BEGIN {\n" in done.stderr
    assert "- opened here\n" in done.stderr


def test_the_program_is_not_printed_twice():
    program = "".join(f"syscall::read:entry {{ trace({number}); }}\n" for number in range(100)) + "END { trace(x); }"
    done = run("-e", "-n", program)
    assert len(done.stderr.splitlines()) < 10
    assert done.stderr.startswith("sonde: invalid probe specifier: in action list: failed to resolve x: ")
    tested = run("-e", "-n", program, _DTRACE_TESTING="t")
    assert tested.stderr.startswith(f"sonde: invalid probe specifier {program}: in action list: failed to resolve x: ")


def test_a_repaired_script_is_shown_by_the_lines_that_change(tmp_path):
    script = tmp_path / "a.d"
    script.write_text("BEGIN\n{\n\ttrace(comm);\n\ttrace(nsecs);\n}\n")
    done = run("-e", "-s", str(script))
    assert done.stderr.endswith("     3 |     trace(execname);\n     4 |     trace(timestamp);\n")


def test_a_file_that_is_no_text_is_told_to_be_none():
    done = run("-e", "-s", "/bin/ls")
    assert "\n  this is no text: -s takes a program in D; to trace that file as a command:\n" in done.stderr
    assert pasted(done.stderr, "-q", "-e").returncode == 0
    assert len(done.stderr.splitlines()) == 4


def test_a_body_that_is_a_word_of_its_own_is_put_to_its_probe():
    done = run("-n", "BEGIN", '{ trace("it\'s"); exit(0); }')
    assert "the program is one word" in done.stderr
    again = pasted(done.stderr, "-q")
    assert (again.returncode, again.stdout) == (0, "it's\n")
    assert "sonde -n" not in run("-n", "BEGIN", "/pid/", "{ exit(0); }").stderr


def pasted(message, *more):
    """The command that a message ends with, run with a few words more."""
    line = message[message.index("\n  sonde ") :]
    words = shlex.split(line)
    return run(*words[1:], *more)


@pytest.mark.share(5)
@pytest.mark.parametrize(
    ("words", "told", "line"),
    [
        (["--flmae", "x.html", "-n", "BEGIN"], "did you mean --flame?", "sonde --flame x.html -n BEGIN"),
        (["--pid", "12", "-n", "BEGIN"], "did you mean -p?", "sonde -p 12 -n BEGIN"),
        (["--pid=12", "-n", "BEGIN"], "did you mean -p?", "sonde -p 12 -n BEGIN"),
        (["--quite", "-n", "BEGIN { x }"], "did you mean -q?", "sonde -q -n 'BEGIN { x }'"),
        (["--folde=x", "-n", "BEGIN"], "did you mean --folded?", "sonde --folded=x -n BEGIN"),
        (["-help"], "did you mean --help?", "sonde --help"),
        (["-xbufsiz=4m", "-n", "BEGIN"], "did you mean bufsize", "help: write -x bufsize=4m"),
        (["-xstrsize=1kb", "-n", "BEGIN"], "a number of bytes", "help: write -x strsize=1k"),
        (["-b", "4MB", "-n", "BEGIN"], "a number of bytes", "help: write -b 4m"),
        (["-xswitchrate=1sek", "-n", "BEGIN"], "it takes a time", "help: write -x switchrate=1s"),
        (["-xrings=cpus", "-n", "BEGIN"], "it takes cpu, one", "help: write -x rings=cpu"),
    ],
)  # fmt: skip
def test_a_misspelt_option_is_told_with_the_right_one(words, told, line):
    done = run(*words)
    assert done.returncode in (1, 2)
    assert told in done.stderr
    assert line in done.stderr.splitlines()[-1]
    assert "Usage" not in done.stderr


@needs("CAP_BPF", "CAP_PERFMON")
def test_scratch_memory_that_is_used_up_names_its_option():
    done = run("-q", "-n", "BEGIN { x = alloca(200); y = alloca(200); } ERROR { exit(0); }")
    assert "-xscratchsize=N" in done.stderr
    assert "-xscratchsize=N" in run("-e", "-n", "BEGIN { x = alloca(20000); }").stderr


def test_tests_of_dtrace_see_the_usage_and_no_help():
    done = run("--flmae", "x", _DTRACE_TESTING="t")
    assert "Usage" in done.stderr
    assert "help" not in done.stderr.partition("Usage")[0]
