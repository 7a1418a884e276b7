"""Probes at source positions fire as often as gdb's breakpoints there are hit."""

import re
import subprocess
import sys

import pytest
from support.command.command import build, environment, sonde, table, unwrapped
from support.machine import compilers, packages

needs_gdb = packages.needs("gdb")

PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
volatile int sink;
static inline __attribute__((always_inline)) int twice(int value)
{
    int doubled = value * 2;
    sink += doubled;
    return doubled;
}
static __attribute__((noinline)) int work(const int *values, int count)
{
    int sum = 0;
    for (int i = 0; i < count; i++) {
        sum += twice(values[i]);
        if (sum > 40)
            sink = sum;
    }
    for (int i = 0; i < 8; i++)
        sink ^= values[i & 3];

    return sum;
}
static int descend(int depth)
{
    if (depth == 0)
        return 1;
    sink += depth;
    return descend(depth - 1) + twice(depth);
}
int main(int count, char **words)
{
    int values[] = {1, 2, 3, 4, 5, 6, 7};
    for (int i = 0; i < 7; i++) {
        work(values, i + count - 1);
        values[i] += descend(i);
    }
    switch (twice(count)) {
    case 2:
        sink = 3;
        break;
    default:
        abort();
    }
    return 0;
}
"""

LINES = [number for number, text in enumerate(PROGRAM.split("\n"), 1) if text.strip() and not text.startswith("#")]


def hits_of_gdb(path, name):
    """Line -> how often a breakpoint there was hit; gdb moves some to a later line, those are left out."""
    commands = [f"break {name}:{line}" for line in LINES] + [f"ignore {n} 1000000" for n in range(1, len(LINES) + 1)]
    commands += ["run", "info breakpoints"]
    words = [word for each in commands for word in ("-ex", each)]
    text = subprocess.run(
        ["gdb", "-batch", "-nx", "-ex", "set confirm off", "-ex", "set startup-with-shell off", *words, path],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    found, current = {}, None
    for row in text[text.index("Num ") :].splitlines():
        main = re.match(r"(\d+)\s+breakpoint\s+keep y\s", row)
        if main:
            current = LINES[int(main[1]) - 1]
        at = re.search(rf"{re.escape(name)}:(\d+)$", row)
        if at:
            found[current] = 0 if int(at[1]) == current else None
        hits = re.match(r"\tbreakpoint already hit (\d+) time", row)
        if hits:
            found[current, "hits"] = int(hits[1])
    return {line: found.get((line, "hits"), 0) for line in LINES if found.get(line) is not None}


@pytest.mark.long
@needs_gdb
@pytest.mark.parametrize("flags", [("-O0",), ("-O2",), ("-O3", "-funroll-loops"), ("-O2", "-no-pie", "-gdwarf-4")])
def test_lines_fire_as_gdb_stops(tmp_path, flags):
    path = build(tmp_path, "lines", PROGRAM, "-g", *flags)
    expected = hits_of_gdb(path, "lines.c")
    assert len(expected) > 15
    probes = ", ".join(f"pid$target:a.out:lines.c@{line}:" for line in expected)
    counts = table(sonde("-q", "-c", path, "-n", f"{probes} {{ @[probefunc] = count(); }}").stdout)
    assert counts == {(f"lines.c@{line}",): hits for line, hits in expected.items() if hits}


COUNTING = """
import sys
from sonde.symbols.dwarf.line_table import LineTable
original = LineTable.rows
LineTable.rows = lambda table: sys.stderr.write("read\\n") and original(table)
from sonde.cli.main import main
sys.exit(main(["sonde", *sys.argv[1:]]))
"""


def test_a_table_of_lines_is_run_once_for_many_clauses(tmp_path):
    """Each is a clause of its own that asks for a variable of its line."""
    body = "".join(f"    sink += local + {n};\n" for n in range(40))
    source = f"volatile int sink;\nint main()\n{{\n    int local = 1;\n{body}    return 0;\n}}\n"
    path = build(tmp_path, "many", source, "-g", "-O0")
    text = "".join(f"pid$target:a.out:many.c@{line}: {{ @ = sum(locals->local); }} " for line in range(5, 45))
    words = [sys.executable, "-c", COUNTING, "-e", "-c", path, "-n", text]
    done = subprocess.run(words, capture_output=True, text=True, env=environment(), check=True)
    assert (done.stdout, done.stderr) == ("", "read\n")


@pytest.fixture(scope="module")
def two_files():
    """A program of two files of one name."""
    main = "int in_first(int), in_second(int);\nint main() { in_first(1); in_second(2); return in_second(3) != 4; }\n"
    files = {"main.c": main}
    for number, name in enumerate(("first", "second")):
        files[f"{name}/part.c"] = (
            f"volatile int sink_{name};\n\nint in_{name}(int n)\n{{\n"
            f"    sink_{name} = n;\n    return n + {number};\n}}\n"
        )
    return str(compilers.kept(["gcc", "-g", "-O0", "-o", "program", *files], files, "program"))


@pytest.mark.share(1)
@pytest.mark.parametrize(
    ("description", "expected"),
    [
        ("a.out:part.c@5:", {"in_first": 1, "in_second": 2}),
        ("a.out:first/part.c@5:", {"in_first": 1}),
        ("a.out:second/part.c@5:", {"in_second": 2}),
        (":second/part.c@5:", {"in_second": 2}),
        ("a.out:part.c@5:in_first*", {"in_first": 1}),
    ],
)
def test_files_of_one_name(two_files, description, expected):
    """A name means all of them, a directory before it one; the probe's name tells the function."""
    text = f"pid$target:{description} {{ @[probename] = count(); }}"
    counts = table(sonde("-q", "-c", two_files, "-n", text).stdout)
    assert {name.partition("+")[0]: count for (name,), count in counts.items()} == expected


@pytest.mark.share(1)
@pytest.mark.parametrize(
    ("description", "tag", "message"),
    [
        ("a.out:first/part.c@2:", "D_PROC_OFF", r"line 2 of first/part\.c has no code(.*\n)*.*first/part\.c@4"),
        ("a.out:part.c@900:", "D_PROC_FUNC", r"no code for line 900 of part\.c or behind it"),
        ("a.out:third/part.c@5:", "D_PROC_FUNC", r"no source file third/part\.c"),
        ("a.out:pa*.c@5:", "D_PROC_FUNC", "is no file and line(.*\n)*.*name the file"),
        ("a.out:part.c@5:entry", "D_PROC_NAME", r"'entry' is an invalid name for a source position"),
        (":other.c@5:", "D_PROC_FUNC", r"no object of the process has a source file 'other\.c'"),
    ],
)
def test_refused(two_files, description, tag, message):
    refused = sonde("-xerrtags", "-c", two_files, "-n", f"pid$target:{description}", status=1).stderr
    assert f"[{tag}]" in refused
    assert re.search(message, unwrapped(refused))


def test_without_debug_information(tmp_path):
    """What was looked for, and what it would add."""
    path = build(tmp_path, "bare", "int main() { return 0; }", "-Wl,--build-id")
    refused = sonde("-c", path, "-n", "pid$target:a.out:bare.c@1:", status=1).stderr
    assert re.search(
        r"no debug information \(looked for \S*/\.build-id/\S+\.debug.*source lines.*-g", unwrapped(refused)
    )


def test_constructors_and_templates():
    """C++: a template has a copy for each type, and a constructor makes objects as well as their bases."""
    source = (
        "volatile long sink;\n"
        "template <typename T> struct Box {\n"
        "    T value;\n"
        "    Box(T v) : value(v)\n"
        "    {\n"
        "        sink += value;\n"
        "    }\n"
        "    virtual ~Box() = default;\n"
        "};\n"
        "struct Derived : virtual Box<int> { Derived() : Box<int>(3) {} };\n"
        "int main() { Box<int> a(1); Box<long> b(2); Box<char> c(3); Derived d; return 0; }\n"
    )
    program = compilers.built("copies.cc", source, "g++", "-g", "-O0")
    text = "pid$target:a.out:copies.cc@6: { @[probename] = count(); }"
    counts = table(sonde("-q", "-c", program, "-n", text).stdout)
    assert sorted(counts.values()) == [1, 1, 2]
