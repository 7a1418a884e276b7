"""What the names in probe functions mean, looked up when the functions are run."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Sequence
from difflib import get_close_matches
from operator import index
from types import BuiltinFunctionType, FunctionType, ModuleType

from sonde.frontends.python.captured import (
    SHARED,
    CapturedAggregation,
    CapturedFunction,
    CapturedProgram,
    Meaning,
    text_of,
)
from sonde.frontends.python.function_names import names_of
from sonde.library.errors import CompileError, Error
from sonde.library.probing import subroutines, words
from sonde.library.probing.aggregating import ProbeAggregation
from sonde.library.probing.sources import Decorated, FunctionSource, source_of
from sonde.library.probing.words import ProbeVariables, ProbeWord
from sonde.typed import Any

_BUILTINS = ("abs", "bool", "enumerate", "exit", "int", "len", "max", "min", "print", "range", "str")
_MISSING = object()


def captured(functions: Sequence[Decorated]) -> str:
    """The text of the program that functions are, in their order. Raises CompileError, and Error."""
    capture = _Capture()
    clauses = tuple(capture.function(each) for each in functions)
    return text_of(CapturedProgram(tuple(capture.functions), tuple(capture.aggregations), clauses))


class _Capture:
    def __init__(self) -> None:
        self.functions: list[Any] = []
        self.aggregations: list[CapturedAggregation] = []
        self._numbers: dict[int, int] = {}
        self._kept: list[object] = []
        """What numbers are of, so that nothing else gets their addresses."""
        self._names: dict[str, int] = {}
        self._cells: dict[int, str] = {}
        self._plain: dict[int, Decorated] = {}

    def _number(self, of: object, items: list[Any]) -> tuple[int, bool]:
        """The number of an object among the items, and whether it is new."""
        if id(of) in self._numbers:
            return self._numbers[id(of)], False
        self._kept.append(of)
        self._numbers[id(of)] = len(items)
        return len(items), True

    def function(self, function: Decorated) -> int:
        # A function may be a probe twice, with other probes.
        number, is_new = self._number(function, self.functions)
        if is_new:
            plain, descriptions, source = function
            self.functions.append(None)
            names = {path: self._meaning(found, path) for path, found in _found(plain, source)}
            self.functions[number] = CapturedFunction(
                plain.__name__, plain.__module__ or "", source.file, source.line, source.text, descriptions, names,
                self._cells_of(plain),
            )  # fmt: skip
        return number

    def _called(self, function: FunctionType) -> int:
        """The number of a plain function, whose source is looked for when it is first met."""
        if id(function) not in self._plain:
            self._kept.append(function)
            self._plain[id(function)] = Decorated(function, (), source_of(function))
        return self.function(self._plain[id(function)])

    def _cells_of(self, function: FunctionType) -> dict[str, str]:
        """Names of the program for the variables of functions around one."""
        found = {}
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            if id(cell) not in self._cells:
                self._kept.append(cell)
                self._cells[id(cell)] = f"cell{len(self._cells)}{SHARED}{name}"
            found[name] = self._cells[id(cell)]
        return found

    def _aggregation(self, aggregation: ProbeAggregation, path: str) -> int:
        number, is_new = self._number(aggregation, self.aggregations)
        if is_new:
            name = self._own_name(path, "aggregations")
            parameters = aggregation.parameters
            self.aggregations.append(CapturedAggregation(name, aggregation.function, parameters, aggregation.title))
        return number

    def _own_name(self, path: str, what: str) -> str:
        """The last part of the name that something was captured by."""
        name = path.rpartition(".")[2]
        if name in self._names:
            raise Error(f"two {what} of one run are called {name}", "give one of them another name")
        self._names[name] = 1
        return name

    def _table(self, table: dict[Any, Any], path: str) -> str:
        if id(table) not in self._cells:
            self._kept.append(table)
            self._cells[id(table)] = f"table{len(self._cells)}{SHARED}{path.rpartition('.')[2]}"
        return self._cells[id(table)]

    def _meaning(self, found: object, path: str) -> Meaning:
        if found is None:
            return Meaning("none")
        if hasattr(type(found), "__index__"):
            # Also members of IntEnum and IntFlag, and the numbers of numpy.
            return Meaning("integer", index(found))  # type: ignore[arg-type]
        if isinstance(found, str):
            return Meaning("text", str(found))
        if isinstance(found, bytes):
            return Meaning("text", found.decode("utf-8", "surrogateescape"))
        if isinstance(found, (tuple, list, frozenset, set)):
            items = found if isinstance(found, (tuple, list)) else sorted(found, key=repr)
            return Meaning("tuple", tuple(self._meaning(each, path) for each in items))
        if isinstance(found, FunctionType):
            return self._of_function(found)
        if (decorated := _decorated(found)) is not None:
            return Meaning("function", self.function(decorated))
        if isinstance(found, ProbeAggregation):
            return Meaning("aggregation", self._aggregation(found, path))
        if isinstance(found, dict) and not found:
            return Meaning("table", self._table(found, path))
        return _plain_meaning(found, path)

    def _of_function(self, function: FunctionType) -> Meaning:
        if _is_of_library(function):
            return Meaning("subroutine", function.__name__)
        if function.__module__ == ProbeAggregation.__module__:
            return Meaning("maker", function.__name__)
        try:
            return Meaning("function", self._called(function))
        except CompileError as error:
            told = "is made by async def" if error.column else "is not made by def" if error.line else "has no source"
            return Meaning("outside", f"a function that {told}")


def _decorated(found: object) -> Decorated | None:
    """What a probe function is made of, None of anything else."""
    own = getattr(found, "__dict__", None)
    decorated = own.get("decorated") if isinstance(own, dict) else None
    return decorated if isinstance(decorated, Decorated) else None


def _is_of_library(function: FunctionType) -> bool:
    """Whether it is the one name that the library and D both have."""
    return function.__module__ == "sonde.library.shortest" and function.__name__ == "trace"


def _plain_meaning(found: object, path: str) -> Meaning:
    """Of what is neither a value nor one of the user's own."""
    if found is _MISSING:
        return Meaning("missing", _meant(path.rpartition(".")[2]))
    if isinstance(found, ProbeWord):
        return Meaning(found.kind, found.meaning)
    if isinstance(found, ProbeVariables):
        return Meaning(found.kind)
    for name in _BUILTINS:
        if found is getattr(builtins, name, None):
            return Meaning("builtin", name)
    if isinstance(found, BuiltinFunctionType) and (found.__module__, found.__name__) == ("sys", "exit"):
        return Meaning("builtin", "exit")
    if type(found).__name__ == "Quitter":
        return Meaning("builtin", "exit")
    return Meaning("outside", _what(found))


def _meant(name: str) -> str:
    """What helps where a name is not defined."""
    known = {each for module in (subroutines, words) for each in vars(module) if not each.startswith("_")}
    if name in known:
        return f"from sonde import {name}"
    near = get_close_matches(name, sorted(known), 1, 0.75)
    return f"did you mean {near[0]}? from sonde import {near[0]}" if near else ""


def _what(found: object) -> str:
    if isinstance(found, ModuleType):
        return "a module"
    if isinstance(found, type):
        return f"the class {found.__name__}"
    if isinstance(found, dict):
        return "a dict that is not empty"
    name = type(found).__name__
    return f"{'an' if name[:1] in 'aeiouAEIOU' else 'a'} {name}"


def _found(function: FunctionType, source: FunctionSource) -> list[tuple[str, object]]:
    """What the names of a function are that it does not make itself, by the dots in its source: `os`, `os.O_CREAT`."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    own = names_of(source.tree).own
    found: dict[str, object] = {}

    def root(name: str) -> object:
        if name in cells:
            try:
                return cells[name].cell_contents
            except ValueError:
                return _MISSING
        return function.__globals__.get(name, getattr(builtins, name, _MISSING))

    for node in _nodes(source.tree):
        names = _path(node)
        if not names or names[0] in own:
            continue
        path = names[0]
        value = found.setdefault(path, root(path))
        for name in names[1:]:
            if not _is_looked_into(value):
                break
            path = f"{path}.{name}"
            value = found.setdefault(path, getattr(value, name, _MISSING))
    return sorted(found.items())


def _is_looked_into(value: object) -> bool:
    """Whether what is behind its dot is looked up now: of modules, classes, and objects that are no words of ours."""
    ours = (ProbeAggregation, ProbeVariables, ProbeWord, int, str, bytes, tuple, dict, FunctionType)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return True
    return value is not _MISSING and not isinstance(value, ours) and _decorated(value) is None


def _nodes(tree: ast.FunctionDef) -> list[ast.AST]:
    """Those of the body and of the defaults of parameters: decorators and annotations of these are Python's own."""
    inner: list[ast.AST] = [*tree.body, *tree.args.defaults, *filter(None, tree.args.kw_defaults)]
    found = [each for node in inner for each in ast.walk(node)]
    shared = [ast.Name(name, ast.Load()) for each in found if isinstance(each, (ast.Global, ast.Nonlocal))
              for name in each.names]  # fmt: skip
    return [*found, *shared]


def _path(node: ast.AST) -> list[str]:
    """The names of `a.b.c`, the first first; none of anything else."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.insert(0, node.attr)
        node = node.value
    return [node.id, *names] if isinstance(node, ast.Name) else []
