"""The short suite depends on no time: what its tests may not do, found by their syntax."""

import ast
import re

import pytest
from support.places import TESTS
from support.source.parsed import parsed

CLOCKS = {"monotonic", "perf_counter", "process_time", "thread_time"}
FILES = sorted(TESTS.rglob("*.py"))
LIMITED = {"wait", "communicate", "run", "check_output", "check_call", "call", "join"}

WAITING = {
    "kernel/test_export.py": "those who scrape ask again",
    "support/command/family_work.py": "a program that is traced",
    "support/packets/replayed_packets.py": "used by tests of the long suite",
    "unit/test_untrusted.py": "a writer, whose file the test reads to its end",
}
"""Files whose sleeps are not waited for, and why."""


def parents(tree):
    return {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}


def around(node, above):
    while node in above:
        node = above[node]
        yield node


def is_long(nodes):
    """True below a function or in a module that is marked `long`, or has no share in the short suite."""
    marks = [mark for node in nodes if isinstance(node, ast.FunctionDef) for mark in node.decorator_list]
    marks += [
        each.value
        for node in nodes
        if isinstance(node, ast.Module)
        for each in node.body
        if isinstance(each, ast.Assign) and ast.unparse(each.targets[0]) == "pytestmark"
    ]
    return any(re.search(r"mark\.(long\b|share\(0\b)", ast.unparse(mark)) for mark in marks)


def sleeps(tree):
    """The places where the process itself waits for a time, once and not in a loop for a condition."""
    above = parents(tree)
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and ast.unparse(node.func) == "time.sleep"):
            continue
        outer = list(around(node, above))
        if not is_long(outer) and not any(isinstance(each, (ast.While, ast.For)) for each in outer):
            yield node.lineno


def clocks(tree):
    """The places where a test asserts that something has taken less than a time, which another function may return."""
    above = parents(tree)
    timing = {"monotonic", "perf_counter"} | {
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        and any(isinstance(each, ast.Return) and each.value and read(each.value) & CLOCKS for each in ast.walk(node))
    }
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Assert) and any(isinstance(each, (ast.Lt, ast.LtE)) for each in ast.walk(node))):
            continue
        if read(node) & timing and not is_long(list(around(node, above))):
            yield node.lineno


def read(tree):
    """The names that an expression has."""
    return {each.attr if isinstance(each, ast.Attribute) else each.id for each in ast.walk(tree)
            if isinstance(each, (ast.Attribute, ast.Name))}  # fmt: skip


def limits(tree):
    """The places where a command has a limit of its own: the suite has one for each test."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in LIMITED:
            for each in node.keywords:
                if each.arg == "timeout" and isinstance(each.value, ast.Constant) and each.value.value is not None:
                    yield node.lineno


@pytest.mark.long
@pytest.mark.parametrize("look", [sleeps, clocks, limits])
def test_no_test_of_the_short_suite_depends_on_time(look):
    found = {
        f"{path.relative_to(TESTS)}:{line}"
        for path in FILES
        if str(path.relative_to(TESTS)) not in WAITING
        for line in look(parsed(path))
    }
    assert sorted(found) == []


@pytest.mark.share(1)
@pytest.mark.parametrize(
    ("look", "text"),
    [
        (sleeps, "def test_a():\n    time.sleep(1)\n"),
        (clocks, "def test_a():\n    assert time.monotonic() - begin < 5\n"),
        (limits, "def test_a():\n    subprocess.run(['true'], timeout=5)\n"),
    ],
)
def test_each_is_found(look, text):
    assert list(look(ast.parse(text))) == [2]
    assert list(look(ast.parse(text.replace("    time.sleep", "    while True: time.sleep")))) == [2][look is sleeps :]
