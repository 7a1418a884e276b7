"""What each definition of a package's sources refers to: the edges of its call graph."""

import ast
from typing import NamedTuple

from support.source.source_definitions import FUNCTIONS, Definition, Imported, Sources, imported_names, is_for_types
from support.source.source_scopes import Scope, resolved, scope_of
from support.source.source_types import Types

NAMED, USED = 1, 2
"""A class that is named stands in annotations, tests of types and handlers only; one that is used may be made."""

_PASSIVE = {
    "property", "cached_property", "staticmethod", "classmethod", "cache", "lru_cache", "contextmanager", "overload",
    "dataclass_transform",
}  # fmt: skip
"""Decorators that call nothing before the function is called."""

_ONLY_TELL = {"__name__", "__slots__", "__annotations__", "__members__", "_fields", "_field_defaults", "__doc__"}


class Edge(NamedTuple):
    """`kind`: definition (`target` is its identifier), module (whose body runs), value (a module that is handed on),
    member (of the class `target`, by `name`), attribute (of anything, by `name`). It counts when one class of each of
    `guards` is used."""

    kind: str
    target: str
    level: int = USED
    name: str = ""
    guards: tuple[frozenset[str], ...] = ()


def references(sources: Sources) -> dict[str, list[Edge]]:
    """The edges of each definition; functions within functions become definitions as well."""
    types = Types(sources)
    found: dict[str, list[Edge]] = {}
    for definition in list(sources.definitions.values()):
        walker = _Walker(sources, types, definition, [], found)
        walker.definition(definition)
    return found


class _Walker:
    """The edges of one definition."""

    def __init__(
        self, sources: Sources, types: Types, definition: Definition, scopes: list[Scope], found: dict[str, list[Edge]]
    ) -> None:
        self.sources = sources
        self.types = types
        self.module = definition.module
        self.owner = definition.owner
        self.scopes = scopes
        self.found = found
        self.edges = found.setdefault(definition.id, [])

    def add(
        self, kind: str, target: str, guards: tuple[frozenset[str], ...], level: int = USED, name: str = ""
    ) -> None:
        self.edges.append(Edge(kind, target, level, name, guards))

    def definition(self, definition: Definition) -> None:
        node = definition.node
        match node:
            case ast.Module():
                self.statements(node.body, (), is_module=True)
            case ast.ClassDef():
                for each in [*node.bases, *node.decorator_list]:
                    self.visit(each, USED, ())
                for keyword in node.keywords:
                    self.visit(keyword.value, USED, ())
                self.statements(node.body, (), is_module=True)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self.scopes = [*self.scopes, scope_of(self.sources, definition)]
                for each in node.decorator_list:
                    self.visit(each, USED, ())
                self.visit(node.args, NAMED, ())
                if node.returns is not None:
                    self.visit(node.returns, NAMED, ())
                self._nested(definition)
                self.statements(node.body, ())
            case ast.Assign():
                self.visit(node.value, USED, ())
            case ast.AnnAssign():
                self.visit(node.annotation, NAMED, ())
                is_type = isinstance(node.annotation, ast.Name) and node.annotation.id == "TypeAlias"
                if node.value is not None:
                    self.visit(node.value, NAMED if is_type else USED, ())

    def _nested(self, definition: Definition) -> None:
        """Functions within this one, wherever they stand in it."""
        waiting, nested = list(ast.iter_child_nodes(definition.node)), []
        while waiting:
            node = waiting.pop()
            if isinstance(node, FUNCTIONS):
                name = f"{definition.name}.{node.name}"
                inner = Definition(f"{definition.id}.{node.name}", "function", self.module, name, node)
                nested.append(self.sources.definitions.setdefault(inner.id, inner))
            elif not isinstance(node, ast.Lambda | ast.ClassDef):
                waiting.extend(ast.iter_child_nodes(node))
        for inner in nested:
            _Walker(self.sources, self.types, inner, self.scopes, self.found).definition(inner)

    def statements(self, body: list[ast.stmt], guards: tuple[frozenset[str], ...], is_module: bool = False) -> None:
        for statement in body:
            self.statement(statement, guards, is_module)

    def statement(self, node: ast.stmt, guards: tuple[frozenset[str], ...], is_module: bool) -> None:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._defined(node, guards, is_module)
            case ast.ClassDef():
                if not is_module:
                    for each in ast.iter_child_nodes(node):
                        self.visit(each, USED, guards)
            case ast.Import() | ast.ImportFrom():
                self._import(node, guards)
            case ast.If():
                if is_for_types(node):
                    self.statements(node.orelse, guards, is_module)
                    return
                self.visit(node.test, USED, guards)
                self.statements(node.body, (*guards, *self._tested(node.test)), is_module)
                self.statements(node.orelse, guards, is_module)
            case ast.Match():
                self._match(node, guards)
            case ast.Try():
                for body in (node.body, node.orelse, node.finalbody):
                    self.statements(body, guards, is_module)
                for handler in node.handlers:
                    if handler.type is not None:
                        self.visit(handler.type, NAMED, guards)
                    caught = self._classes(handler.type)
                    self.statements(handler.body, (*guards, caught) if caught else guards, is_module)
            case ast.AnnAssign():
                self.visit(node.annotation, NAMED, guards)
                self.visit(node.target, USED, guards)
                if node.value is not None:
                    self.visit(node.value, USED, guards)
            case ast.Assign() if is_module and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                # A constant of a module is a definition; one of a class is the class's.
                if f"{self.module}:{node.targets[0].id}" not in self.sources.definitions:
                    self.visit(node.value, USED, guards)
            case _:
                for field in ("body", "orelse"):
                    self.statements(getattr(node, field, []), guards, is_module)
                for child in ast.iter_child_nodes(node):
                    if not isinstance(child, ast.stmt):
                        self.visit(child, USED, guards)

    def _defined(self, node: ast.FunctionDef | ast.AsyncFunctionDef, guards, is_module: bool) -> None:
        """A function that a decorator registers is called by whom it is registered with."""
        for default in [*node.args.defaults, *(each for each in node.args.kw_defaults if each is not None)]:
            self.visit(default, USED, guards)
        for decorator in node.decorator_list:
            callee = decorator.func if isinstance(decorator, ast.Call) else decorator
            name = callee.attr if isinstance(callee, ast.Attribute) else getattr(callee, "id", "")
            if name not in _PASSIVE | {"setter"}:
                self.visit(ast.Name(node.name, ast.Load()), USED, guards)

    def _import(self, node: ast.Import | ast.ImportFrom, guards: tuple[frozenset[str], ...]) -> None:
        for what in imported_names(node, self.sources.trees).values():
            names = [what.module, f"{what.module}.{what.name}", self.sources.imported(what)]
            for name in names:
                if name in self.sources.trees:
                    self.add("module", name, guards)
        if isinstance(node, ast.Import):
            for each in node.names:
                if each.name in self.sources.trees:
                    self.add("module", each.name, guards)

    def _match(self, node: ast.Match, guards: tuple[frozenset[str], ...]) -> None:
        self.visit(node.subject, USED, guards)
        for case in node.cases:
            classes: set[str] = set()
            is_open = False
            patterns = case.pattern.patterns if isinstance(case.pattern, ast.MatchOr) else [case.pattern]
            for pattern in patterns:
                inner = pattern.pattern if isinstance(pattern, ast.MatchAs) and pattern.pattern else pattern
                found = self._classes(inner.cls) if isinstance(inner, ast.MatchClass) else frozenset()
                is_open = is_open or not found
                classes |= found
            for each in ast.walk(case.pattern):
                if isinstance(each, ast.MatchClass):
                    self.visit(each.cls, NAMED, guards)
                elif isinstance(each, ast.MatchValue):
                    self.visit(each.value, USED, guards)
            inside = guards if is_open else (*guards, frozenset(classes))
            if case.guard is not None:
                self.visit(case.guard, USED, inside)
            self.statements(case.body, inside)

    def _tested(self, test: ast.expr) -> list[frozenset[str]]:
        """The classes of which one must be used for a test to hold."""
        if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
            return [each for value in test.values for each in self._tested(value)]
        is_test = isinstance(test, ast.Call) and isinstance(test.func, ast.Name) and test.func.id == "isinstance"
        classes = self._classes(test.args[1]) if is_test and len(test.args) == 2 else frozenset()
        return [classes] if classes else []

    def _classes(self, node: ast.AST | None) -> frozenset[str]:
        """The classes that a test of types names; none if some of them are not of the package."""
        if isinstance(node, ast.Tuple | ast.BinOp):
            parts = node.elts if isinstance(node, ast.Tuple) else [node.left, node.right]
            found = [self._classes(each) for each in parts]
            return frozenset().union(*found) if all(found) else frozenset()
        target = resolved(self.sources, node, self.module, self.scopes) if node is not None else ""
        definition = self.sources.definitions.get(target)
        if definition is None or definition.kind != "class":
            return frozenset()
        return frozenset() if self.sources.is_protocol(target) else frozenset({target})

    def visit(self, node: ast.AST, level: int, guards: tuple[frozenset[str], ...]) -> None:
        match node:
            case ast.Name():
                if isinstance(node.ctx, ast.Load):
                    if node.id == "cls" and self.owner:
                        self.add("definition", self.owner, guards)
                    self._name(resolved(self.sources, node, self.module, self.scopes), level, guards)
            case ast.Attribute():
                self._attribute(node, level, guards)
            case ast.Call():
                self._call(node, level, guards)
            case ast.Constant():
                if level == NAMED and isinstance(node.value, str):
                    self._text(node.value, guards)
            case ast.Compare():
                self.visit(node.left, level, guards)
                for each in node.comparators:
                    is_kind = isinstance(each, ast.Name | ast.Tuple | ast.Set) and self._classes_in(each)
                    self.visit(each, NAMED if is_kind else level, guards)
            case ast.BinOp() if isinstance(node.op, ast.BitOr) and (
                self._is_type(node.left) or self._is_type(node.right)
            ):
                self.visit(node.left, NAMED, guards)
                self.visit(node.right, NAMED, guards)
            case ast.Dict():
                for key, value in zip(node.keys, node.values, strict=True):
                    classes = self._classes(key)
                    if key is not None:
                        self.visit(key, NAMED if classes else level, guards)
                    self.visit(value, level, (*guards, classes) if classes else guards)
            case ast.IfExp():
                self.visit(node.test, USED, guards)
                self.visit(node.body, level, (*guards, *self._tested(node.test)))
                self.visit(node.orelse, level, guards)
            case ast.BoolOp() if isinstance(node.op, ast.And):
                inside = guards
                for each in node.values:
                    self.visit(each, level, inside)
                    inside = (*inside, *self._tested(each))
            case ast.arguments():
                for argument in ast.walk(node):
                    if isinstance(argument, ast.arg) and argument.annotation is not None:
                        self.visit(argument.annotation, NAMED, guards)
            case ast.stmt():
                self.statement(node, guards, is_module=False)
            case _:
                for child in ast.iter_child_nodes(node):
                    self.visit(child, level, guards)

    def _classes_in(self, node: ast.expr) -> bool:
        parts = node.elts if isinstance(node, ast.Tuple | ast.Set) else [node]
        return bool(parts) and all(self._classes(each) for each in parts)

    def _is_type(self, node: ast.expr) -> bool:
        if isinstance(node, ast.BinOp):
            return self._is_type(node.left) or self._is_type(node.right)
        definition = self.sources.definitions.get(resolved(self.sources, node, self.module, self.scopes))
        return definition is not None and definition.kind == "class"

    def _text(self, text: str, guards: tuple[frozenset[str], ...]) -> None:
        """An annotation in quotes."""
        try:
            node = ast.parse(text, mode="eval").body
        except SyntaxError:
            return
        self.visit(node, NAMED, guards)

    def _name(self, target: str, level: int, guards: tuple[frozenset[str], ...]) -> None:
        if target in self.sources.definitions:
            self.add("definition", target, guards, level)
        elif target in self.sources.trees:
            self.add("value", target, guards)

    def _call(self, node: ast.Call, level: int, guards: tuple[frozenset[str], ...]) -> None:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        rest = list(node.args)
        if name in ("isinstance", "issubclass") and len(rest) == 2:
            self.visit(rest.pop(), NAMED, guards)
        elif name == "cast" and len(rest) == 2:
            self.visit(rest.pop(0), NAMED, guards)
        elif name in ("getattr", "hasattr") and len(rest) > 1 and isinstance(rest[1], ast.Constant):
            self.add("attribute", "", guards, name=str(rest[1].value))
        self.visit(node.func, USED, guards)
        for each in [*rest, *(keyword.value for keyword in node.keywords)]:
            self.visit(each, USED if name != "TypeVar" else NAMED, guards)

    def _attribute(self, node: ast.Attribute, level: int, guards: tuple[frozenset[str], ...]) -> None:
        base = resolved(self.sources, node.value, self.module, self.scopes)
        if base in self.sources.trees:
            self._name(self.sources.attribute(base, node.attr), level, guards)
            self.add("module", base, guards)
            return
        if base in self.sources.bases:
            self._of_class(base, node.attr, guards)
            return
        if self._is_foreign(node.value):
            return
        self.visit(node.value, USED, guards)
        if isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Name) and node.value.func.id == "super":
            for each in self.sources.ancestors(self.owner)[1:]:
                self.add("member", each, guards, name=node.attr)
            return
        classes = self.types.of(node.value, self.module, self.scopes, self.owner)
        if classes is None:
            self.add("attribute", "", guards, name=node.attr)
        for each in classes or ():
            self.add("member", each, guards, name=node.attr)

    def _of_class(self, owner: str, name: str, guards: tuple[frozenset[str], ...]) -> None:
        """`Class.name`: a function of it, a constant of it, or what tells of it."""
        target = self.sources.attribute(owner, name)
        if target:
            self.add("definition", target, guards)
        self.add("definition", owner, guards, NAMED if target or name in _ONLY_TELL else USED)

    def _is_foreign(self, node: ast.expr) -> bool:
        """Whether an expression is a module of others, or something of one."""
        while isinstance(node, ast.Attribute):
            node = node.value
        if not isinstance(node, ast.Name):
            return False
        bound = next((scope[node.id] for scope in reversed(self.scopes) if node.id in scope), None)
        if bound is None:
            bound = self.sources.names[self.module].get(node.id)
        return isinstance(bound, Imported) and not self.sources.imported(bound)
