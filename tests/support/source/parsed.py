"""The syntax trees of source files, parsed once for all tests that look at them. They are not to be changed."""

import ast
from functools import cache


@cache
def parsed(path):
    return ast.parse(path.read_text())


@cache
def nodes(path):
    """All of its nodes, as ast.walk() has them."""
    return tuple(ast.walk(parsed(path)))
