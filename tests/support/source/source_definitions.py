"""The definitions of a package's sources, by syntax alone: modules, classes, functions, constants; and what names mean.

A definition's identifier is `module:qualified.name`; `module:` is the module's own body.
"""

import ast
from pathlib import Path
from typing import NamedTuple

from support.source.parsed import parsed

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)

SOME_PROCESSOR = {"sonde.arch": ("sonde.arch.x86_64",)}
"""Packages whose modules are chosen while the program runs, and whose they may be."""


class Definition(NamedTuple):
    """`kind` is body, class, function or constant. `owner` is the class of a method, else ""."""

    id: str
    kind: str
    module: str
    name: str
    node: ast.AST
    owner: str = ""


class Imported(NamedTuple):
    """What an import binds a name to: a module, or a name of it."""

    module: str
    name: str = ""


class Sources:
    """All modules below `root`, a package that is called `package`."""

    def __init__(self, root: Path, package: str) -> None:
        self.package = package
        self.paths = dict(_files(root, package))
        self.trees = {name: parsed(path) for name, path in self.paths.items()}
        self.definitions: dict[str, Definition] = {}
        self.names: dict[str, dict[str, str | Imported]] = {}
        self.members: dict[str, dict[str, str]] = {}
        """The methods of each class, by name."""
        self.fields: dict[str, dict[str, ast.expr]] = {}
        """The annotations of each class's fields, by name."""
        for module, tree in self.trees.items():
            self._define(Definition(f"{module}:", "body", module, "", tree))
            self.names[module] = {}
            self._block(module, tree.body)
        self.bases = {each.id: self._bases_of(each) for each in self.definitions.values() if each.kind == "class"}
        self.derived: dict[str, set[str]] = {each: set() for each in self.bases}
        for each, bases in self.bases.items():
            for base in bases:
                self.derived[base].add(each)

    def _define(self, definition: Definition) -> None:
        self.definitions.setdefault(definition.id, definition)

    def _block(self, module: str, body: list[ast.stmt]) -> None:
        """The definitions of a module's own statements, also of those under its conditions."""
        names = self.names[module]
        for statement in body:
            if isinstance(statement, FUNCTIONS):
                names[statement.name] = identifier = f"{module}:{statement.name}"
                self._define(Definition(identifier, "function", module, statement.name, statement))
            elif isinstance(statement, ast.ClassDef):
                names[statement.name] = self._class(module, statement, "")
            elif isinstance(statement, ast.Import | ast.ImportFrom):
                names.update(imported_names(statement, self.trees))
            elif (name := constant_name(statement)) and f"{module}:{name}" not in self.definitions:
                names[name] = identifier = f"{module}:{name}"
                self._define(Definition(identifier, "constant", module, name, statement))
            else:
                for field in ("body", "orelse", "finalbody"):
                    self._block(module, getattr(statement, field, []))
                for handler in getattr(statement, "handlers", []):
                    self._block(module, handler.body)

    def _class(self, module: str, node: ast.ClassDef, within: str) -> str:
        qualified = f"{within}{node.name}"
        identifier = f"{module}:{qualified}"
        self._define(Definition(identifier, "class", module, qualified, node))
        methods, fields = self.members.setdefault(identifier, {}), self.fields.setdefault(identifier, {})
        for each in node.body:
            if isinstance(each, FUNCTIONS):
                methods[each.name] = method = f"{identifier}.{each.name}"
                self._define(Definition(method, "function", module, f"{qualified}.{each.name}", each, identifier))
            elif isinstance(each, ast.ClassDef):
                self._class(module, each, f"{qualified}.")
            elif isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
                fields[each.target.id] = each.annotation
        return identifier

    def _bases_of(self, definition: Definition) -> list[str]:
        assert isinstance(definition.node, ast.ClassDef)
        found = [self.resolve(definition.module, base) for base in definition.node.bases]
        return [each for each in found if each in self.definitions and self.definitions[each].kind == "class"]

    def resolve(self, module: str, node: ast.AST) -> str:
        """What an expression of names and dots means: a definition's identifier, a module's name, or ""."""
        if isinstance(node, ast.Subscript):
            return self.resolve(module, node.value)
        if isinstance(node, ast.Name):
            return self.meaning(module, node.id)
        if isinstance(node, ast.Attribute):
            return self.attribute(self.resolve(module, node.value), node.attr)
        return ""

    def meaning(self, module: str, name: str) -> str:
        """What a name of a module means: a definition's identifier, a module's name, "" for what is not here."""
        found = self.names.get(module, {}).get(name, "")
        return self.imported(found) if isinstance(found, Imported) else found

    def imported(self, what: Imported) -> str:
        return self.attribute(what.module, what.name) if what.name else what.module if what.module in self.trees else ""

    def attribute(self, base: str, name: str) -> str:
        """What `base.name` means where `base` is a module or a class."""
        if base in self.trees:
            if found := self.meaning(base, name):
                return found
            places = [f"{each}.{name}" for each in (base, *SOME_PROCESSOR.get(base, ()))]
            return next((each for each in places if each in self.trees), "")
        if base not in self.members:
            return ""
        return next((self.members[each][name] for each in self.family(base) if name in self.members[each]), "")

    def ancestors(self, of: str) -> list[str]:
        """A class and those that it is derived from."""
        return [of, *(each for base in self.bases[of] for each in self.ancestors(base))] if of in self.bases else []

    def family(self, of: str) -> list[str]:
        """A class, those that it is derived from, and those derived from it."""
        return self.ancestors(of) + self.descendants(of)[1:]

    def descendants(self, of: str) -> list[str]:
        """A class and those that are derived from it."""
        return [of, *(each for child in sorted(self.derived.get(of, ())) for each in self.descendants(child))]

    def is_protocol(self, of: str) -> bool:
        node = self.definitions[of].node
        return isinstance(node, ast.ClassDef) and any(
            isinstance(base.value if isinstance(base, ast.Subscript) else base, ast.Name)
            and (base.value if isinstance(base, ast.Subscript) else base).id == "Protocol"
            for base in node.bases
        )


def _files(root: Path, package: str) -> list[tuple[str, Path]]:
    found = []
    for path in sorted(root.rglob("*.py")):
        name = ".".join((package, *path.relative_to(root).with_suffix("").parts))
        found.append((name.removesuffix(".__init__"), path))
    return found


def imported_names(statement: ast.Import | ast.ImportFrom, modules: dict[str, ast.Module]) -> dict[str, Imported]:
    """What an import binds; what is not of the package is bound to nothing, but bound."""
    if isinstance(statement, ast.ImportFrom):
        names = {(each.asname or each.name): each.name for each in statement.names}
        return {bound: Imported(str(statement.module), name) for bound, name in names.items()}
    return {
        each.asname or each.name.partition(".")[0]: Imported(each.name if each.asname else each.name.partition(".")[0])
        for each in statement.names
    }


def constant_name(statement: ast.stmt) -> str:
    """The name that a statement of a module gives a value, "" if it does anything else."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        target = statement.target
    else:
        return ""
    return target.id if isinstance(target, ast.Name) else ""


def is_for_types(statement: ast.stmt) -> bool:
    """`if TYPE_CHECKING:`, whose body never runs."""
    return (
        isinstance(statement, ast.If) and isinstance(statement.test, ast.Name) and statement.test.id == "TYPE_CHECKING"
    )
