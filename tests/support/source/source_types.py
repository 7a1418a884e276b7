"""Of which classes of the package an expression's value may be, by annotations; mypy holds that these are true."""

import ast

from support.source.source_definitions import FUNCTIONS, Sources
from support.source.source_scopes import FOREIGN, Classes, Local, Scope, resolved, scope_of

_PLAIN = {
    "int", "str", "bytes", "bool", "float", "list", "dict", "set", "tuple", "frozenset", "bytearray", "memoryview",
    "Sequence", "Mapping", "Iterable", "Iterator", "Callable", "MutableMapping", "Path", "BinaryIO", "TextIO",
}  # fmt: skip
"""What has none of the package's methods."""


class Types:
    """What is found out of one package's expressions."""

    def __init__(self, sources: Sources) -> None:
        self.sources = sources
        self._fields: dict[tuple[str, str], Classes] = {}

    def of_annotation(self, module: str, node: ast.AST | None, owner: str = "") -> Classes:
        """What a value with this annotation may be."""
        if isinstance(node, ast.Constant):
            if not isinstance(node.value, str):
                return FOREIGN
            return self.of_annotation(module, ast.parse(node.value, mode="eval").body, owner)
        if isinstance(node, ast.BinOp):
            return _both(self.of_annotation(module, node.left, owner), self.of_annotation(module, node.right, owner))
        if isinstance(node, ast.Name) and node.id == "Self" and owner:
            return frozenset({owner})
        found = self.sources.resolve(module, node) if node is not None else ""
        if found not in self.sources.definitions:
            base = node.value if isinstance(node, ast.Subscript) else node
            return FOREIGN if isinstance(base, ast.Name) and base.id in _PLAIN else None
        definition = self.sources.definitions[found]
        if definition.kind == "class":
            family = self.sources.ancestors(found)
            return None if any(self.sources.is_protocol(each) for each in family) else frozenset({found})
        if definition.kind == "constant" and isinstance(definition.node, ast.Assign | ast.AnnAssign):
            return self.of_annotation(definition.module, definition.node.value)
        return None

    def of_field(self, owner: str, name: str) -> Classes:
        """What the attribute of a class's objects may be."""
        if (owner, name) not in self._fields:
            self._fields[owner, name] = None
            self._fields[owner, name] = self._field(owner, name)
        return self._fields[owner, name]

    def _field(self, owner: str, name: str) -> Classes:
        for each in self.sources.family(owner):
            definition = self.sources.definitions[each]
            if name in self.sources.fields[each]:
                return self.of_annotation(definition.module, self.sources.fields[each][name], each)
            if method := self.sources.members[each].get(name):
                node = self.sources.definitions[method].node
                is_value = any(
                    isinstance(d, ast.Name) and d.id in ("property", "cached_property") for d in node.decorator_list
                )
                return self.of_annotation(definition.module, node.returns, each) if is_value else None
        found: Classes = FOREIGN
        was_seen = False
        for each in self.sources.family(owner):
            for method in self.sources.members[each].values():
                for value, annotation, scope in _assigned(self, method, name):
                    was_seen = True
                    module = self.sources.definitions[each].module
                    if annotation is not None:
                        return self.of_annotation(module, annotation, each)
                    found = _both(found, self.of(value, module, [scope], each))
        return found if was_seen else None

    def of(self, node: ast.expr | None, module: str, scopes: list[Scope], owner: str) -> Classes:
        """What an expression in these scopes may be; `owner` is the class of the method around it."""
        match node:
            case ast.Constant() | ast.JoinedStr() | ast.List() | ast.Dict() | ast.Tuple() | ast.Set() | ast.ListComp():
                return FOREIGN
            case ast.Name():
                return self._of_name(node, module, scopes, owner)
            case ast.Attribute():
                return self._each(self.of(node.value, module, scopes, owner), node.attr, self.of_field)
            case ast.Call():
                return self._of_call(node, module, scopes, owner)
            case ast.IfExp():
                first, second = node.body, node.orelse
                return _both(self.of(first, module, scopes, owner), self.of(second, module, scopes, owner))
            case _:
                return None

    def _of_name(self, node: ast.Name, module: str, scopes: list[Scope], owner: str) -> Classes:
        for scope in reversed(scopes):
            local = scope.get(node.id)
            if isinstance(local, Local):
                if not local.is_known:
                    local.is_known = True
                    local.classes = self._of_local(local, module, scopes, owner)
                return local.classes
            if local is not None:
                return None
        found = self.sources.definitions.get(self.sources.meaning(module, node.id))
        if found is None or found.kind != "constant":
            return None
        if isinstance(found.node, ast.AnnAssign):
            return self.of_annotation(found.module, found.node.annotation)
        assert isinstance(found.node, ast.Assign)
        return self.of(found.node.value, found.module, [], "")

    def _of_local(self, local: Local, module: str, scopes: list[Scope], owner: str) -> Classes:
        if local.annotation is not None:
            return self.of_annotation(module, local.annotation, owner)
        found: Classes = local.classes if not local.values else FOREIGN
        for value in local.values:
            found = _both(found, self.of(value, module, scopes, owner))
        return found

    def _of_call(self, node: ast.Call, module: str, scopes: list[Scope], owner: str) -> Classes:
        target = resolved(self.sources, node.func, module, scopes)
        definition = self.sources.definitions.get(target)
        if definition is not None and definition.kind == "class":
            return frozenset({target})
        if definition is not None and isinstance(definition.node, FUNCTIONS):
            return self.of_annotation(definition.module, definition.node.returns, definition.owner)
        if isinstance(node.func, ast.Attribute):
            return self._each(self.of(node.func.value, module, scopes, owner), node.func.attr, self._returned)
        return None

    def _returned(self, owner: str, name: str) -> Classes:
        for each in self.sources.family(owner):
            if method := self.sources.members[each].get(name):
                definition = self.sources.definitions[method]
                assert isinstance(definition.node, FUNCTIONS)
                return self.of_annotation(definition.module, definition.node.returns, each)
        return frozenset({owner}) if name == "_replace" else None

    def _each(self, classes: Classes, name: str, of) -> Classes:
        if not classes:
            return None
        found: Classes = FOREIGN
        for each in sorted(classes):
            found = _both(found, of(each, name))
        return found


def _both(first: Classes, second: Classes) -> Classes:
    return None if first is None or second is None else first | second


def _assigned(types: Types, method: str, name: str):
    """Values and annotations that a method gives `self.name`, with the scope to understand them in."""
    node = types.sources.definitions[method].node
    for each in ast.walk(node):
        targets = (
            each.targets if isinstance(each, ast.Assign) else [each.target] if isinstance(each, ast.AnnAssign) else []
        )
        for target in targets:
            pairs = [(target, each.value)]
            if isinstance(target, ast.Tuple):
                values = each.value.elts if isinstance(each.value, ast.Tuple) else [None] * len(target.elts)
                pairs = list(zip(target.elts, values, strict=False))
            for part, value in pairs:
                is_own = (
                    isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id == "self"
                )
                if is_own and part.attr == name:
                    annotation = each.annotation if isinstance(each, ast.AnnAssign) else None
                    yield value, annotation, scope_of(types.sources, types.sources.definitions[method])
