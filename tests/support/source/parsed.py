"""The syntax trees of source files, parsed once for all tests that look at them. They are not to be changed."""

import ast
import gc
from functools import cache


@cache
def parsed(path):
    """Millions of nodes live as long as the tests: to look for garbage among them takes longer than to make them."""
    is_enabled = gc.isenabled()
    gc.disable()
    tree = ast.parse(path.read_text())
    gc.freeze()
    if is_enabled:
        gc.enable()
    return tree


@cache
def nodes(path):
    """All of its nodes, as ast.walk() has them."""
    return tuple(ast.walk(parsed(path)))
