"""A name means one thing: no two public classes are called the same, and few files are."""

import ast
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from support.source.parsed import parsed

import sonde

ROOT = Path(sonde.__file__).parent

TREES = {
    "frontends/d/syntax.py": "D as it is written",
    "frontends/bpftrace/syntax/nodes.py": "bpftrace's language as it is written",
    "model/program.py": "D as it was checked",
    "model/types.py": "types",
    "model/location.py": "where variables are",
    "codegen/intermediate/ir.py": "the form above eBPF",
}
"""Nodes of trees: a call is one in each, and the tree says in which form."""

FOR_USERS = {
    "Aggregation": "what printa() shows, for Python programs",
    "Exit": "how a session ended, for Python programs",
    "HeatMap": "a picture that notebooks show, for Python programs",
    "KernelFunction": "a function of the kernel for Python programs; else what fires a probe there",
    "NotPermittedError": "the library's, with its own base; else the session's",
    "Variable": "a variable of a traced program, for Python programs",
}
"""Names that the library gives to its users, who see no others."""

MOST_FILES = 6
"""Besides errors.py, which packages have each of their own."""


@cache
def public_classes():
    """Where each is, by its name."""
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        for node in parsed(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found.setdefault(node.name, set()).add(str(path.relative_to(ROOT)))
    return found


def among_others(places):
    """Those places that are no trees, and one for all trees."""
    return places - set(TREES) | ({"a tree"} if places & set(TREES) else set())


def test_no_two_classes_are_called_the_same():
    assert len(public_classes()) > 500
    twice = {name: places for name, places in public_classes().items() if len(among_others(places)) > 1}
    assert set(twice) == set(FOR_USERS), twice


@pytest.mark.parametrize("name", FOR_USERS)
def test_the_exceptions_are_those_of_the_library(name):
    assert getattr(sonde, name).__module__.startswith("sonde.library.")
    assert len(among_others(public_classes()[name])) == 2


GLOSSARY = {
    "Field": {"model/records.py"},
    "Function": {"model/types.py"},
    "Target": {"model/target.py"},
    "Call": {
        "frontends/d/syntax.py", "frontends/bpftrace/syntax/nodes.py", "model/program.py", "codegen/intermediate/ir.py",
    },
}  # fmt: skip
"""What words of the glossary (docs/design.md) are as classes."""


@pytest.mark.parametrize("name", GLOSSARY)
def test_words_of_the_glossary_are_one_class(name):
    assert public_classes()[name] == GLOSSARY[name]


def test_few_files_are_called_the_same():
    names = Counter(path.name for path in ROOT.rglob("*.py") if path.name not in ("__init__.py", "errors.py"))
    assert not [name for name, count in names.items() if count > MOST_FILES]
    assert "packets.py" not in names
