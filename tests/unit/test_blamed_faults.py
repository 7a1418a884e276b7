"""No fault of sonde's own is taken for one of a file: handlers of Python's errors of programming have a reason each.

Whatever reads what others have written raises an error of its own (`formats.damage.DamagedError` and others) where it
makes no sense, and only that is caught.
"""

import ast
from functools import lru_cache
from pathlib import Path

from support.source.parsed import nodes

import sonde

ROOT = Path(sonde.__file__).parent

PROGRAMMING = {
    "AttributeError", "TypeError", "RuntimeError", "AssertionError", "NameError", "UnboundLocalError", "LookupError",
    "ArithmeticError", "Exception", "BaseException", "StopIteration", "NotImplementedError",
}  # fmt: skip
"""What comes of mistakes in a program, or is a class of such."""

VALUES = {"KeyError", "IndexError", "ValueError", "struct.error", "OverflowError"}
"""What one step of reading may come to: the handler may be around few."""

MOST_STATEMENTS = 6
"""That a handler of VALUES may be around."""

REASONED = {
    "engines/embedded/tracer/following.py": "the guardian confesses any error, as what is traced must not suffer",
    "library/export/server.py": "scrapers get an answer, and the error output the defect",
    "launch.py": "a child that is no command yet has but a pipe to tell its error by",
    "library/aggregations.py": "a run that is over answers by RuntimeError (library/stop.py)",
    "library/given.py": "of values that a caller gives: operator.index and fileno() ask them",
    "library/notebook/trace.py": "a thread hands its error to whoever waits",
    "library/notebook/view.py": "a deque changes while another thread goes over it",
    "library/probing/sources.py": "inspect.findsource raises TypeError of functions that it does not know",
    "library/recordings.py": "a thread hands its error to whoever iterates",
    "library/rich_text.py": "values of a program may have no order",
    "library/run.py": "a thread hands its error to whoever waits",
    "library/stop.py": "a thread hands its error to whoever waits",
    "library/testing/expressions.py": "assertions of users are evaluated",
    "library/waking.py": "asyncio's loop may be closed",
    "runtime/machine/memory.py": "a memoryview that is read-only raises TypeError",
    "symbols/dwarf/errors.py": "pyelftools has no class for input without sense",
    "symbols/source_names/cxx_worker.py": "ctypes raises AttributeError where a library lacks a function",
    "symbols/unwinding/object_rules.py": "the value of a generator that has ended",
    "symbols/unwinding/unwind_objects.py": "the value of a generator that has ended",
    "symbols/unwinding/unwind_tables.py": "the value of a generator that has ended",
    "objects/reading.py": "objects of compilers are read by steps that each may come to one of VALUES, or to none",
}
"""Files with handlers of PROGRAMMING, or of VALUES around much, and why."""

OF_BYTES = (
    "symbols/dwarf/", "symbols/elf/", "symbols/mappings.py", "symbols/python/", "formats/perf_data_input.py",
    "formats/perf_features.py", "engines/kernel/side_band.py", "recording/", "objects/btf_ext.py", "lazy.py",
    "runtime/verifier/", "engines/embedded/tracer/", "bpf/btf.py",
)  # fmt: skip
"""Parsers that read bytes place by place: their end is an IndexError or a struct.error wherever it comes."""


def names(module, caught):
    """The classes that a handler names; a tuple of the module's own by what is in it."""
    if caught is None:
        return ["BaseException"]
    found = caught.elts if isinstance(caught, ast.Tuple) else [caught]
    tuples = {
        each.targets[0].id: each.value.elts
        for each in module.body
        if isinstance(each, ast.Assign) and isinstance(each.value, ast.Tuple) and isinstance(each.targets[0], ast.Name)
    }
    whole = [each for one in found for each in tuples.get(getattr(one, "id", ""), [one])]
    return [ast.unparse(each) for each in whole]


def raises_again(handler):
    """Whether it only tidies up."""
    last = handler.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


def suppressed(node):
    is_call = isinstance(node, ast.Call) and ast.unparse(node.func).endswith("suppress")
    return [ast.unparse(each) for each in node.args] if is_call else []


@lru_cache(1)
def blaming():
    return [*_blaming()]


def _blaming():
    """(file, line, what is caught) of handlers that may hide a fault of sonde's."""
    for path in sorted(ROOT.rglob("*.py")):
        found = list(nodes(path))
        module = next(each for each in found if isinstance(each, ast.Module))
        name = path.relative_to(ROOT).as_posix()
        for node in found:
            for caught in PROGRAMMING.intersection(suppressed(node)):
                yield name, node.lineno, caught
            if not isinstance(node, ast.Try):
                continue
            size = sum(isinstance(each, ast.stmt) for one in node.body for each in ast.walk(one))
            for handler in node.handlers:
                caught = set() if raises_again(handler) else set(names(module, handler.type))
                for each in sorted(caught & PROGRAMMING):
                    yield name, handler.lineno, each
                if size > MOST_STATEMENTS and caught & VALUES and not name.startswith(OF_BYTES):
                    yield name, handler.lineno, f"{', '.join(sorted(caught & VALUES))} of {size} statements"


def test_no_handler_takes_a_fault_of_sondes_for_another():
    wrong = [f"{name}:{line}: {caught}" for name, line, caught in blaming() if name not in REASONED]
    assert not wrong, "raise an error of its own where the input makes no sense, and catch that alone"


def test_each_reason_is_for_a_handler():
    assert {*REASONED} == {name for name, _, _ in blaming() if name in REASONED}
