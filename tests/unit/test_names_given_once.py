"""A name means one thing in its scope: no definition, import or constant takes the name of another one.

Functions may set a variable again; what they define or import may not take the name of anything else there.
"""

import ast
from pathlib import Path
from typing import NamedTuple

import pytest
from support.source.parsed import parsed

ROOT = Path(__file__).parents[2]

TREES = ("src", "tests", "tools", "bench", "examples")

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
LOOPS = (ast.For, ast.AsyncFor, ast.While)
LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)
TAKES_ANOTHER = ("overload", "setter", "deleter", "getter", "register")
"""Decorators below which several functions of a name are one."""


class Given(NamedTuple):
    """A name that is given a meaning: what gives it, and the branches it stands in."""

    name: str
    kind: str
    line: int
    branches: tuple[tuple[int, int], ...]

    def beside(self, other):
        """Whether no run of the scope reaches both."""
        mine = dict(self.branches)
        return any(mine.get(statement, branch) != branch for statement, branch in other.branches)


def stored(*targets):
    return [
        each.id
        for target in targets
        if target is not None
        for each in ast.walk(target)
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
    ]


def defined(node):
    """(kind, names) of one statement, without those of the statements in it."""
    if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
        words = {word for each in node.decorator_list for word in ast.unparse(each).partition("(")[0].split(".")}
        return "definition", [] if words.intersection(TAKES_ANOTHER) else [node.name]
    if isinstance(node, ast.ImportFrom):
        return "import", [each.asname or each.name for each in node.names]
    if isinstance(node, ast.Import):
        return "import", [each.asname or each.name for each in node.names if each.asname or "." not in each.name]
    if isinstance(node, ast.Assign):
        return "value", stored(*node.targets)
    if isinstance(node, ast.AnnAssign) and node.value:
        return "value", stored(node.target)
    if isinstance(node, (ast.For, ast.AsyncFor)):
        return "variable", stored(node.target)
    if isinstance(node, (ast.With, ast.AsyncWith)):
        return "variable", stored(*(each.optional_vars for each in node.items))
    return "", []


def bodies(node):
    """The statements within a statement: (number of the branch, body); 0 for those that always run."""
    if isinstance(node, ast.If):
        yield from ((1, node.body), (2, node.orelse))
    elif isinstance(node, (ast.Try, ast.TryStar)):
        yield 1, node.body + node.orelse
        yield from enumerate((each.body for each in node.handlers), 2)
        yield 0, node.finalbody
    elif isinstance(node, ast.Match):
        yield from enumerate((each.body for each in node.cases), 1)
    elif isinstance(node, LOOPS):
        yield 0, node.body + node.orelse
    elif isinstance(node, (ast.With, ast.AsyncWith)):
        yield 0, node.body


def given(body, branches=()):
    """All that a scope gives, in the order of its lines."""
    for at, node in enumerate(body):
        kind, names = defined(node)
        yield from (Given(name, kind, node.lineno, branches) for name in names)
        for number, inner in bodies(node):
            yield from given(inner, (*branches, (id(node), number)) if number else branches)
        if isinstance(node, ast.If) and node.body and isinstance(node.body[-1], LEAVES):
            yield from given(body[at + 1 :], (*branches, (id(node), 2)))
            return


def scopes(scope):
    """Those of a module, class or function, and in it, each with what is given before its first statement."""
    yield scope, tuple(parameters(scope.args)) if isinstance(scope, FUNCTIONS) else ()
    statements = list(scope.body)
    while statements:
        node = statements.pop()
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            yield from scopes(node)
        else:
            statements += [each for _, body in bodies(node) for each in body]


def parameters(arguments):
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    return [Given(each.arg, "value", each.lineno, ()) for each in every if each]


def agree(one, other, of_function):
    """Whether both may have the name: variables of loops, and whatever is a variable of a function."""
    kinds = {one.kind, other.kind}
    return kinds <= {"value", "variable"} and (of_function or kinds == {"variable"})


def twice(tree):
    """(name, line, line of the other) of what is given twice."""
    for scope, already in scopes(tree):
        of_function = isinstance(scope, FUNCTIONS)
        before = {}
        for each in (*already, *given(scope.body)):
            others = before.setdefault(each.name, [])
            yield from (
                (each.name, each.line, other.line)
                for other in others
                if not each.beside(other) and not agree(each, other, of_function)
            )
            others.append(each)


def files(tree):
    return sorted((ROOT / tree).rglob("*.py"))


@pytest.mark.long
@pytest.mark.parametrize("tree", TREES)
def test_names_are_given_once(tree):
    assert files(tree)
    found = {path: names for path in files(tree) if (names := list(twice(parsed(path))))}
    assert not found


@pytest.mark.parametrize(
    "text",
    [
        "from a import SLOT\nSLOT = 8\n",
        "COUNT = 1\nFIRST, *COUNT = range(3)\n",
        "def f(): pass\nX = 1\ndef f(): return 1\n",
        "from a import f\nclass f: pass\n",
        "class C:\n    a: int = 1\n    def a(self): pass\n",
        "def f(a):\n    def a(): pass\n",
        "def f(b):\n    from a import b\n",
        "if A:\n    X = 1\nX = 2\n",
        "with open(F) as X:\n    pass\nX = 1\n",
        "match A:\n    case 1:\n        X = 1\nX = 2\n",
    ],
)
def test_what_is_given_twice_is_found(text):
    assert list(twice(ast.parse(text)))


@pytest.mark.share(2)
@pytest.mark.parametrize(
    "text",
    [
        "if A:\n    from a import X\nelse:\n    X = None\n",
        "try:\n    from a import X\nexcept ImportError:\n    X = None\n",
        "for x in A: pass\nfor x in B: pass\n",
        "def f(a):\n    a = a + 1\n    a = 2\n",
        "def f():\n    if A:\n        def g(): pass\n        return g\n    def g(): pass\n",
        "class C:\n    @property\n    def a(self): pass\n    @a.setter\n    def a(self, x): pass\n",
        "match A:\n    case 1:\n        X = 1\n    case 2:\n        X = 2\n",
        "import urllib.parse\nimport urllib.request\n",
        "X: int\nX = 1\nX += 1\n",
    ],
)
def test_what_is_given_once_is_not(text):
    assert not list(twice(ast.parse(text)))
