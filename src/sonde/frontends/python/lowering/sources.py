"""The sources of captured functions as trees of Python's own parser, with their places in the files they are from."""

from __future__ import annotations

import ast

from sonde.frontends.python.captured import CapturedFunction
from sonde.frontends.python.errors import PythonError
from sonde.frontends.python.function_names import names_of
from sonde.frontends.python.lowering.matching import without_match
from sonde.model.errors import Position
from sonde.typed import NamedTuple


class ParsedFunction(NamedTuple):
    """`shift` is what to add to lines of the tree for those of the file; `own` are the names of its parameters and
    variables, `shared` those that it declares as variables of a module or a function around it."""

    captured: CapturedFunction
    tree: ast.FunctionDef
    shift: int
    lines: tuple[str, ...]
    own: frozenset[str]
    shared: frozenset[str]

    def at(self, node: ast.AST) -> Position:
        """Where a node begins; columns count characters from 1."""
        line: int = getattr(node, "lineno", self.tree.lineno)
        return self.place(line, getattr(node, "col_offset", 0))

    def place(self, line: int, offset: int) -> Position:
        """Of a line of the tree, and a place in it, which Python counts in bytes."""
        number = line + self.shift
        text = self.lines[number - self.captured.line] if number - self.captured.line < len(self.lines) else ""
        return Position(self.captured.file, number, len(text.encode()[:offset].decode(errors="replace")) + 1)

    def text(self, node: ast.expr) -> str:
        """The source of an expression, on one line."""
        before = self.captured.line - self.shift - 1
        found = ast.get_source_segment("\n".join(("",) * before + self.lines), node)
        return " ".join((found or "").split())


def parsed(captured: CapturedFunction) -> ParsedFunction:
    """Raises PythonError."""
    lines = tuple(captured.source.split("\n"))
    is_indented = captured.source[:1].isspace()
    text = f"if 1:\n{captured.source}" if is_indented else captured.source
    shift = captured.line - 1 - is_indented
    try:
        module = ast.parse(text)
    except SyntaxError as error:
        at = Position(captured.file, (error.lineno or 1) + shift, max(error.offset or 1, 1))
        raise PythonError(f"this Python cannot read it: {error.msg}", at) from None
    first: ast.AST = module.body[0]
    if is_indented and isinstance(first, ast.If):
        first = first.body[0]
    if not isinstance(first, ast.FunctionDef):
        at = Position(captured.file, captured.line, 1)
        raise PythonError(f"{captured.name} is no plain function", at, "probes are functions made by `def`")
    tree = without_match(first)
    own, shared = names_of(tree)
    return ParsedFunction(captured, tree, shift, lines, own, shared)
