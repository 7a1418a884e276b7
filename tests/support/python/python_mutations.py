"""Damaged probe functions: parts of known ones deleted, doubled, or put in the place of others."""

import ast
import random
from pathlib import Path

from support.python import functions_of_probes, python_pairs

_SOURCES = [Path(module.__file__).read_text() for module in (python_pairs, functions_of_probes)]


def _functions():
    """All functions that are probes or are called by them."""
    for text in _SOURCES:
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef) and not any(isinstance(each, ast.FunctionDef) for each in node.body):
                yield node


KNOWN = [*_functions()]
EXPRESSIONS = [node for each in KNOWN for node in ast.walk(each) if isinstance(node, ast.expr)]
STATEMENTS = [node for each in KNOWN for node in ast.walk(each) if isinstance(node, ast.stmt) and node is not each]
ODD = [
    ast.parse(text, mode="eval").body
    for text in (
        "p", "thread", "reads", "tables", "None", "True", "''", "b'x'", "1.5", "-1", "2**63", "2**64 - 1", "10**30",
        "()", "(1, 'a')", "p.args", "p.args[0]", "p.args[99]", "p.nothing", "p.execname", "p.curpsinfo", "p.timestamp",
        "len", "copyinstr(p.arg1)", "ustack()", "reads[1]", "tables[1]", "tables[p.execname, 1]", "thread.x",
        "thread.x[1]", "kernel.jiffies", "f'{p.pid}'", "f'{p.pid:>5}{p.execname!r}'", "p.execname[1]", "p.execname[1:]",
        "u32(p.pid)", "print(1)", "exit(0)", "reads.add(1)", "lambda: 1", "[1]", "{1: 2}", "x if p else 2",
        "not p.execname", "(x := 5)", "p.pid // 0", "1 << 64", "p.pid << p.pid", "cast('int *', p.arg0)[0]",
        "cast('x', 1)", "sizeof('int')", "undefined", "ast", "first_of(p.pid, 2)", "first_of(first_of)", "max(1, 2)",
        "abs(p.execname)", "str(p.pid)", "int('5')",
    )
]  # fmt: skip

HEADER = """
import ast
import os
import errno
import signal

from sonde import *
from sonde import exit, probe, thread
from support.python.functions_of_probes import *

reads, calls, linear = quantize(), count(), lquantize(base=0, limit=9)
tables, LIMIT, total, longest, written, whole = {}, 5, 0, 5, 0, 0
found = start = sums = sizes = bits = names = kinds = logs = roots = cut = parts = texts = reads


"""


class Damage:
    """Makes damaged programs of a seed."""

    def __init__(self, seed):
        self._random = random.Random(seed)

    def program(self):
        """A module with one probe function `damaged`, a copy of a known one that was changed in some places."""
        function = _copied(self._random.choice(KNOWN))
        for _ in range(self._random.randrange(1, 4)):
            self._change(function)
        function.name = "damaged"
        function.decorator_list = [ast.parse("probe('syscall::write:entry')", mode="eval").body]
        function.args = ast.parse("lambda p: 0", mode="eval").body.args
        if self._random.random() < 0.7:
            given = "a = p.arg0\nb = p.arg2\nx = 5" if self._random.random() < 0.5 else "a, b, x = 1, 2, p.pid"
            function.body = [*ast.parse(given).body, *function.body]
        return HEADER + ast.unparse(ast.fix_missing_locations(function)) + "\n"

    def _change(self, function):
        blocks = [
            getattr(node, name)
            for node in ast.walk(function)
            for name in ("body", "orelse")
            if isinstance(getattr(node, name, None), list) and getattr(node, name)
        ]
        block = self._random.choice(blocks)
        place = self._random.randrange(len(block))
        kind = self._random.random()
        if kind < 0.1 and len(block) > 1:
            del block[place]
        elif kind < 0.25:
            block.insert(place, _copied(self._random.choice(STATEMENTS)))
        else:
            self._replace(block[place])

    def _replace(self, node):
        """Another expression in the place of one."""
        places = [
            (each, name, index)
            for each in ast.walk(node)
            for name, value in ast.iter_fields(each)
            for index, part in enumerate(value if isinstance(value, list) else [value])
            if isinstance(part, ast.expr) and not isinstance(each, ast.JoinedStr | ast.FormattedValue)
        ]
        if not places:
            return
        each, name, index = self._random.choice(places)
        new = _copied(self._random.choice(ODD if self._random.random() < 0.6 else EXPRESSIONS))
        if isinstance(getattr(each, name), list):
            getattr(each, name)[index] = new
        else:
            setattr(each, name, new)


def _copied(node):
    """A tree of its own."""
    fields = {
        name: [_copied(each) if isinstance(each, ast.AST) else each for each in value] if isinstance(value, list)
        else _copied(value) if isinstance(value, ast.AST) else value
        for name, value in ast.iter_fields(node)
    }  # fmt: skip
    return type(node)(**fields)
