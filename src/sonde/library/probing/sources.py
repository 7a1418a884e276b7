"""The source of a function, found when the function is made: what is on the disk later may be another one."""

from __future__ import annotations

import ast
import linecache
import os
import sys
from types import FunctionType

from sonde.library.errors import CompileError
from sonde.typed import NamedTuple

_FIRST_WITH_SOURCES = (3, 13)
"""The Python whose interactive interpreter keeps what was typed."""


class FunctionSource(NamedTuple):
    """`file` is what tracebacks call it; `line` is the number of the first of the function's lines, its decorators'
    included."""

    file: str
    line: int
    text: str
    tree: ast.FunctionDef


class Decorated(NamedTuple):
    """A function that probes run: the descriptions of these, and the source."""

    function: FunctionType
    descriptions: tuple[str, ...]
    source: FunctionSource


def source_of(function: FunctionType) -> FunctionSource:
    """Raises CompileError for a function whose source nobody has kept, or that is none made by def."""
    code = function.__code__
    file = code.co_filename
    if not file.startswith("<"):
        linecache.checkcache(file)
    lines = linecache.getlines(file, function.__globals__)
    if not lines:
        raise CompileError(f"{file}: the source of {code.co_name}() is not to be had", _remedy(file), file=file)
    tree = _definition(lines, code.co_name, code.co_firstlineno)
    if tree is None:
        text = f"{file}:{code.co_firstlineno}: {code.co_name} is not made by a def there"
        remedy = "probes are functions made by def; if the file was changed, import it again"
        raise CompileError(text, remedy, file=file, line=code.co_firstlineno)
    end = tree.end_lineno or tree.lineno
    text = "".join(lines[code.co_firstlineno - 1 : end]).rstrip("\n")
    return FunctionSource(os.fspath(file), code.co_firstlineno, text, tree)


def _remedy(file: str) -> str:
    if file in ("<stdin>", "<string>") and sys.version_info < _FIRST_WITH_SOURCES:
        version = ".".join(map(str, _FIRST_WITH_SOURCES))
        return f"the interactive Python keeps sources from {version} on: write a file, or use IPython or a notebook"
    if file.startswith("<"):
        return "what exec(), eval() and -c run keeps no source: write a file, or use IPython or a notebook"
    return "a probe is compiled from its source: keep the .py file beside what is imported"


def _definition(lines: list[str], name: str, first: int) -> ast.FunctionDef | None:
    """The definition that begins at a line, with its decorators."""
    try:
        module = ast.parse("".join(lines))
    except (SyntaxError, ValueError):
        return None
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef) and node.name == name:
            begin = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            if begin == first:
                return node
    return None
