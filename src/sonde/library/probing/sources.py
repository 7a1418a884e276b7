"""The source of a function, found when the function is made: what is on the disk later may be another one."""

from __future__ import annotations

import ast
import inspect
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
    lines = linecache.getlines(file, function.__globals__) or _typed(function)
    if not lines:
        raise CompileError(f"{file}: the source of {code.co_name}() is not to be had", _remedy(file), file=file)
    first = code.co_firstlineno
    text = "".join(inspect.getblock(lines[first - 1 :])).rstrip("\n")
    tree = _definition(text, code.co_name)
    if isinstance(tree, ast.AsyncFunctionDef):
        line, column = tree.lineno - 1 - text[:1].isspace() + first, tree.col_offset + 1
        message = f"{code.co_name} is made by async def"
        told, there = f"{file}:{line}:{column}: {message}", lines[line - 1].rstrip("\n")
        remedy = "a probe waits for nothing: write def"
        raise CompileError(told, remedy, message, file=file, line=line, column=column, source_line=there)
    if tree is None:
        told = f"{file}:{first}: {code.co_name} is not made by a def there"
        remedy = "probes are functions made by def; if the file was changed, import it again"
        raise CompileError(told, remedy, file=file, line=first)
    return FunctionSource(os.fspath(file), first, text, tree)


def _typed(function: FunctionType) -> list[str]:
    """The lines of what was typed: Python 3.13.1 and later keeps them by functions, not by files."""
    try:
        return inspect.findsource(function)[0]
    except (OSError, TypeError):
        return []


def _remedy(file: str) -> str:
    if file in ("<stdin>", "<string>") and sys.version_info < _FIRST_WITH_SOURCES:
        version = ".".join(map(str, _FIRST_WITH_SOURCES))
        return f"the interactive Python keeps sources from {version} on: write a file, or use IPython or a notebook"
    if file.startswith("<"):
        return "what exec(), eval() and -c run keeps no source: write a file, or use IPython or a notebook"
    return "a probe is compiled from its source: keep the .py file beside what is imported"


def _definition(text: str, name: str) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """The definition that a text is, None where it is something else."""
    is_indented = text[:1].isspace()
    try:
        module = ast.parse(f"if 1:\n{text}" if is_indented else text)
    except (SyntaxError, ValueError):
        return None
    found: ast.stmt = module.body[0] if module.body else ast.Pass()
    if is_indented and isinstance(found, ast.If):
        found = found.body[0]
    return found if isinstance(found, (ast.FunctionDef, ast.AsyncFunctionDef)) and found.name == name else None
