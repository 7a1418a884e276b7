"""Declarations outside clauses: variables, typedefs, functions and bare types."""

from __future__ import annotations

from sonde.frontends.d import syntax
from sonde.frontends.d.check.declarations import base_type, derive, require_bounds
from sonde.frontends.d.check.redefinition import redeclared, refuse_variable, repeats
from sonde.frontends.d.check.scope import Scope
from sonde.frontends.d.declarations import is_function as is_function_declarator
from sonde.frontends.d.errors import DError
from sonde.model.errors import Position
from sonde.model.kinds import compatible, is_function, is_struct, is_void, spell
from sonde.model.types import Array, Struct, Type, Typedef, resolve

_BAD_CLASSES = ("auto", "register", "static")


def declare_variables(node: syntax.Declaration, scope: Scope) -> None:
    """Everything one declaration declares."""
    where = _storage(node)
    base = base_type(node.specifiers, scope)
    if not node.declarators and not _declares_type(node.specifiers):
        raise DError("D_DECL_USELESS", "useless declaration", node.position)
    for declarator in node.declarators:
        name = declarator.name or ""
        if "`" in name:
            text = f"D scoping operator may not be used in a declaration name ({name})"
            raise DError("D_DECL_SCOPE", text, declarator.position)
        kind, keys, _ = derive(base, declarator, scope)
        if where == "typedef":
            _typedef(name, kind, keys, scope, declarator.position)
        elif is_function(kind):
            _function(name, kind, scope, declarator.position)
        else:
            _variable(where, name, kind, keys, scope, declarator.position)


def _storage(node: syntax.Declaration) -> str:
    """`typedef`, `extern`, `global`, `self` or `this`."""
    classes = [word for word in node.specifiers.storage if word.text != "inline"]
    if len(classes) > 1:
        raise DError("D_DECL_CLASS", "only one storage class allowed in a declaration", classes[1].position)
    is_inline = len(classes) < len(node.specifiers.storage)
    if is_inline and not all(is_function_declarator(each) for each in node.declarators):
        raise DError("D_DECL_BADCLASS", "specified storage class not appropriate in D", node.position)
    if not classes:
        return "global"
    if classes[0].text in _BAD_CLASSES and not is_inline:
        raise DError("D_DECL_BADCLASS", "specified storage class not appropriate in D", classes[0].position)
    return classes[0].text


def _declares_type(specifiers: syntax.Specifiers) -> bool:
    """A declaration without names makes sense only for a structure or an enumeration."""
    return any(isinstance(t, (syntax.StructSpecifier, syntax.EnumSpecifier)) for t in specifiers.types)


def _typedef(name: str, kind: Type, keys: tuple[Type, ...] | None, scope: Scope, position: Position) -> None:
    known = scope.typedefs.get(name)
    if keys is not None:
        text = "positive integral constant expression or tuple signature expected as array declaration subscript"
        raise DError("D_DECL_ARRSUB", text, position)
    if ("global", name) in scope.variables:
        raise DError("D_DECL_IDRED", f"global variable identifier redeclared: {name}", position)
    if known is not None and (_is_repeated(name, scope, position) or not compatible(known, kind)):
        raise DError("D_DECL_IDRED", f"typedef redeclared: {name}", position)
    scope.typedefs[name] = Typedef(name, kind)
    scope.typedef_places[name] = position


def _is_repeated(name: str, scope: Scope, position: Position) -> bool:
    """Whether one file declares a type twice. C11 allows it, and its headers do so, but D does not; what a library has
    declared as well is not a program's affair."""
    first = scope.typedef_places.get(name)
    return first is not None and first.file == position.file and not position.line_directive


def _function(name: str, kind: Type, scope: Scope, position: Position) -> None:
    """Functions of C have names of their own kind: D's functions may be called the same."""
    known = scope.functions.get(name)
    if known is not None and not compatible(known, kind):
        raise redeclared(name, spell(kind), spell(known), position)
    scope.functions[name] = kind


def _variable(
    where: str, name: str, kind: Type, keys: tuple[Type, ...] | None, scope: Scope, position: Position
) -> None:
    if where == "extern":
        return
    if keys is not None and where == "this":
        text = f"associative arrays may not be declared as local variables: {name}"
        raise DError("D_DECL_LOCASSC", text, position)
    require_bounds(kind, name, position)
    if is_void(kind):
        text = f"cannot have void object: {name}" if keys is None else "cannot declare array of void"
        raise DError("D_DECL_VOIDOBJ", text, position)
    if not repeats(name, where, kind, keys, scope, position):
        if where == "global":
            refuse_variable(name, kind, scope, position)
        _require_size(kind, name, position)
        scope.declare(where, name, kind, keys)


def _require_size(kind: Type, name: str, position: Position) -> None:
    base = resolve(kind)
    while isinstance(base, Array):
        base = resolve(base.of)
    if isinstance(base, Struct) and is_struct(base) and not base.complete:
        text = f"incomplete struct/union/enum {spell(base)}: {name}"
        raise DError("D_DECL_INCOMPLETE", text, position)
