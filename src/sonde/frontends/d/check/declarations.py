"""C declarations -> types: the words before a declarator, and the declarator read from its end to its name."""

from __future__ import annotations

from sonde.frontends.d import syntax
from sonde.frontends.d.check.layout import UnplacedMember, lay_out, object_size
from sonde.frontends.d.check.scope import Scope
from sonde.frontends.d.errors import DError
from sonde.model.errors import Position
from sonde.model.kinds import is_integer, is_void, spell
from sonde.model.ranges import wrap
from sonde.model.types import (
    BOOL,
    CHAR,
    DCOMPLEX,
    DOUBLE,
    FCOMPLEX,
    FLOAT,
    INT,
    INT128,
    LDCOMPLEX,
    LDOUBLE,
    LLONG,
    LONG,
    SCHAR,
    SHORT,
    STRING,
    UCHAR,
    UINT,
    UINT128,
    ULLONG,
    ULONG,
    USHORT,
    VOID,
    Array,
    Enum,
    Function,
    Pointer,
    String,
    Struct,
    Type,
    resolve,
    size_of,
)
from sonde.typed import NamedTuple

_ARRAY_LIMIT = (1 << 31) - 1
_SIZE_LIMIT = (1 << 63) - 1

_BASE: dict[tuple[str, ...], Type] = {
    (): INT,
    ("char",): CHAR, ("char", "signed"): SCHAR, ("char", "unsigned"): UCHAR,
    ("short",): SHORT, ("short", "unsigned"): USHORT,
    ("int",): INT, ("unsigned",): UINT,
    ("long",): LONG, ("long", "unsigned"): ULONG,
    ("long", "long"): LLONG, ("long", "long", "unsigned"): ULLONG,
    ("float",): FLOAT, ("double",): DOUBLE, ("double", "long"): LDOUBLE,
    ("_Complex",): DCOMPLEX, ("_Complex", "float"): FCOMPLEX, ("_Complex", "double"): DCOMPLEX,
    ("_Complex", "double", "long"): LDCOMPLEX, ("__int128",): INT128, ("__int128", "unsigned"): UINT128,
    ("_Bool",): BOOL, ("void",): VOID, ("string",): STRING,
}  # fmt: skip
"""Base types by the words that name them, sorted; `int` and `signed` are left out where they change nothing."""

_ATTRIBUTES = ("signed", "unsigned", "short", "long")


class Declared(NamedTuple):
    """`keys` are the types of an associative array's tuple, else None; `parameters` the names beside them."""

    type: Type
    keys: tuple[Type, ...] | None = None
    parameters: tuple[str | None, ...] = ()


def type_name(node: syntax.TypeName, scope: Scope) -> Type:
    """The type of a cast, sizeof, offsetof or xlate. An associative array is none: raises DError."""
    return object_type(node.specifiers, node.declarator, scope)


def object_type(specifiers: syntax.Specifiers, declarator: syntax.Declarator, scope: Scope) -> Type:
    """The type that a declarator gives its name where that cannot be an associative array. Raises DError."""
    found = declared(specifiers, declarator, scope)
    if found.keys is not None:
        raise DError("D_DECL_DYNOBJ", "cannot declare type with dynamic parts", declarator.position)
    return found.type


def declared(specifiers: syntax.Specifiers, declarator: syntax.Declarator, scope: Scope) -> Declared:
    """The type that a declarator gives its name."""
    return derive(base_type(specifiers, scope), declarator, scope)


def derive(base: Type, declarator: syntax.Declarator, scope: Scope) -> Declared:
    kind = base
    keys: tuple[Type, ...] | None = None
    names: tuple[str | None, ...] = ()
    for part in reversed(declarator.parts):
        if keys is not None:
            whole = "array of associative arrays" if isinstance(part, syntax.ArrayPart) else "type with dynamic parts"
            raise DError("D_DECL_DYNOBJ", f"cannot declare {whole}", part.position)
        if isinstance(part, syntax.PointerPart):
            kind = Pointer(kind)
        elif isinstance(part, syntax.FunctionPart):
            parameters = prototype("function", part.parameters, part.variadic, scope, part.position)
            kind = Function(kind, parameters, part.variadic)
        elif part.keys is not None or part.variadic:
            keys = prototype("array", part.keys or (), part.variadic, scope, part.position)
            names = tuple(p.declarator.name for p in part.keys or ())
        else:
            if isinstance(resolve(kind), String):
                text = "arrays of strings have keys, string name[int]; a dimension is not supported"
                raise DError("D_UNKNOWN", text, part.position)
            if is_void(kind):
                raise DError("D_DECL_VOIDOBJ", "cannot declare array of void", part.position)
            kind = Array(kind, _dimension(part, declarator, scope))
            if object_size(kind, scope.strsize) > _SIZE_LIMIT:
                raise DError("D_DECL_ARRBIG", "array dimension too big", part.position)
    return Declared(kind, keys, names)


def _dimension(part: syntax.ArrayPart, declarator: syntax.Declarator, scope: Scope) -> int | None:
    if part.size is None:
        return None
    value = scope.constant(part.size)
    # Headers of C end structures with such arrays; D has none of 0 elements.
    least = 0 if part.position.line_directive else 1
    if value is None or value < least:
        raise DError(
            "D_DECL_ARRSUB",
            "positive integral constant expression or tuple signature expected as array declaration subscript",
            part.position,
        )
    if value > _ARRAY_LIMIT:
        raise DError("D_DECL_ARRBIG", "array dimension too big", part.position)
    return value


def require_bounds(kind: Type, name: str, position: Position) -> None:
    """An object that is an array must say how many elements it has."""
    base = resolve(kind)
    if isinstance(base, Array) and base.length is None:
        text = f"array declaration requires array dimension or tuple signature: {name}"
        raise DError("D_DECL_ARRNULL", text, position)


# Prototypes


def prototype(
    what: str,
    parameters: tuple[syntax.Parameter, ...],
    variadic: bool,
    scope: Scope,
    position: Position,
) -> tuple[Type, ...]:
    """The types of the parameters of a function, or of the keys of an array; a sole void stands for none."""
    if variadic and what != "function":
        text = f"{what} prototype may not use a variable-length argument list"
        raise DError("D_DECL_PROTO_VARARGS", text, position)
    kinds = tuple(_parameter(what, p, number, scope) for number, p in enumerate(parameters, 1))
    # A probe may show an argument several times.
    if what != "probe output":
        _refuse_repeated_names(what, parameters)
    for number, (node, kind) in enumerate(zip(parameters, kinds, strict=True), 1):
        if is_void(kind):
            _check_void_parameter(what, node, number)
    if any(is_void(kind) for kind in kinds):
        if len(kinds) > 1:
            raise DError("D_DECL_PROTO_VOID", "void must be sole parameter", position)
        return ()
    return kinds


def _refuse_repeated_names(what: str, parameters: tuple[syntax.Parameter, ...]) -> None:
    seen: set[str] = set()
    for number, node in enumerate(parameters, 1):
        name = node.declarator.name
        if name in seen:
            text = f"parameter is already declared in {what} prototype: {name}, parameter #{number}"
            raise DError("D_DECL_PROTO_FORM", text, node.position)
        seen |= {name} if name else set()


def _parameter(what: str, node: syntax.Parameter, number: int, scope: Scope) -> Type:
    if node.specifiers.storage:
        text = "inappropriate storage class for function or associative array parameter"
        raise DError("D_DECL_PARMCLASS", text, node.position)
    kind, keys, _ = declared(node.specifiers, node.declarator, scope)
    if keys is not None:
        raise _unusable(what, "dynamic variable", node, number)
    base = resolve(kind)
    if isinstance(base, Array):
        return Pointer(base.of)
    return Pointer(kind) if isinstance(base, Function) else kind


def _check_void_parameter(what: str, node: syntax.Parameter, number: int) -> None:
    name = node.declarator.name
    if what == "array":
        raise _unusable(what, "void", node, number)
    if name is not None:
        raise DError("D_DECL_PROTO_NAME", f"void parameter may not have a name: {name}", node.position)


def _unusable(what: str, kind: str, node: syntax.Parameter, number: int) -> DError:
    name = node.declarator.name or "(anonymous)"
    text = f"{what} prototype may not use parameter of type {kind}: {name}, parameter #{number}"
    return DError("D_DECL_PROTO_TYPE", text, node.position)


# The words before a declarator


def base_type(specifiers: syntax.Specifiers, scope: Scope) -> Type:
    """The type that the words name. Qualifiers mean nothing to D and are dropped."""
    words = [w for w in specifiers.types if isinstance(w, syntax.TypeWord)]
    others = [w for w in specifiers.types if not isinstance(w, syntax.TypeWord)]
    _check_combination(words, others, specifiers.position)
    if not others:
        return _named_by_words(words, specifiers.position)
    other = others[0]
    if isinstance(other, syntax.TypedefName):
        return _typedef(other, words, scope)
    if isinstance(other, syntax.EnumSpecifier):
        return enumeration(other, scope)
    return structure(other, scope)


def _check_combination(
    words: list[syntax.TypeWord],
    others: list[syntax.TypedefName | syntax.EnumSpecifier | syntax.StructSpecifier],
    position: Position,
) -> None:
    names = [w.text for w in words if w.text not in (*_ATTRIBUTES, "_Complex")]
    attributes = {w.text for w in words if w.text in _ATTRIBUTES}
    if len(names) + len(others) > 1 or attributes >= {"signed", "unsigned"}:
        where = others[1].position if len(others) > 1 else position
        raise DError("D_DECL_COMBO", "invalid type combination", where)
    name = names[0] if names else ""
    integral = name in ("char", "int", "__int128") or not (names or others)
    # DTrace has read the tag when it notices, and perhaps the line after it.
    position = others[0].position if others else position
    if name == "void" and attributes:
        raise DError("D_DECL_VOIDATTR", "invalid type declaration: attributes may not be used with void type", position)
    if name == "char" and attributes & {"short", "long"}:
        text = "invalid type declaration: short and long may not be used with char type"
        raise DError("D_DECL_CHARATTR", text, position)
    if attributes & {"signed", "unsigned"} and not integral:
        text = "invalid type declaration: signed and unsigned may only be used with integer type"
        raise DError("D_DECL_SIGNINT", text, position)
    if attributes & {"short", "long"} and not integral and name not in ("float", "double"):
        text = "invalid type declaration: long and long long may only be used with integer or floating-point type"
        raise DError("D_DECL_LONGINT", text, position)


def _named_by_words(words: list[syntax.TypeWord], position: Position) -> Type:
    texts = [w.text for w in words]
    attributed = any(t in ("short", "long", "unsigned", "signed") for t in texts)
    key = [t for t in texts if not (t == "int" and attributed) and not (t == "signed" and "char" not in texts)]
    kind = _BASE.get(tuple(sorted(key)))
    if kind is None:
        named = " ".join(texts) + ("" if texts[-1] in ("float", "double") else " ")
        text = f"failed to resolve type {named}: Unknown type name"
        raise DError("D_UNKNOWN", text, position)
    return kind


def _typedef(node: syntax.TypedefName, words: list[syntax.TypeWord], scope: Scope) -> Type:
    kind = scope.find_type(node.name, node.module)
    if kind is None:
        name = node.name if node.module is None else f"{node.module}`{node.name}"
        raise DError("D_UNKNOWN", f"failed to resolve type {name}: Unknown type name", node.position)
    return kind


# Structures, unions and enumerations


def structure(node: syntax.StructSpecifier, scope: Scope) -> Struct:
    if node.members is None:
        return scope.find_struct(node.keyword, node.tag, node.module)
    if node.module is not None:
        text = f"D scoping operator may not be used in a type tag ({node.module}`{node.tag})"
        raise DError("D_DECL_SCOPE", text, node.position)
    own = _declare_struct(node, scope)
    as_in_c = node.position.line_directive
    size, members = lay_out(node.keyword, _fields(node, scope), scope.strsize, node.packed, as_in_c)
    if size > _SIZE_LIMIT:
        raise DError("D_UNKNOWN", f"{spell(own)} is too large", node.position)
    own.define(size, members, node.packed)
    return own


def _declare_struct(node: syntax.StructSpecifier, scope: Scope) -> Struct:
    if not node.tag:
        return Struct(node.keyword, "", 0)
    own = scope.structs.get((node.keyword, node.tag))
    if own is not None and own.complete:
        raise DError("D_DECL_TYPERED", f"type redeclared: {node.keyword} {node.tag}", node.position)
    if own is None:
        own = scope.structs[node.keyword, node.tag] = Struct(node.keyword, node.tag, 0)
    return own


def _fields(node: syntax.StructSpecifier, scope: Scope) -> tuple[UnplacedMember, ...]:
    fields: list[UnplacedMember] = []
    names: set[str] = set()
    for declaration in node.members or ():
        if declaration.specifiers.storage:
            raise DError("D_DECL_BADCLASS", "specified storage class not appropriate in D", declaration.position)
        base = base_type(declaration.specifiers, scope)
        if not declaration.declarators:
            fields.append(_anonymous(base, declaration.position))
        for each in declaration.declarators:
            fields.append(_field(base, each.declarator, each.bits, scope))
            _refuse_duplicate(fields[-1].name, names, each.declarator.position)
            names |= {fields[-1].name} - {""}
    return tuple(fields)


def _anonymous(kind: Type, position: Position) -> UnplacedMember:
    base = resolve(kind)
    if not isinstance(base, Struct):
        raise DError("D_DECL_MNAME", "member declaration requires a name", position)
    _require_complete(kind, "", position)
    return UnplacedMember("", kind)


def _field(base: Type, declarator: syntax.Declarator, bits: syntax.Expr | None, scope: Scope) -> UnplacedMember:
    name = declarator.name or ""
    if "`" in name:
        text = f"D scoping operator may not be used in a declaration name ({name})"
        raise DError("D_DECL_SCOPE", text, declarator.position)
    kind, keys, _ = derive(base, declarator, scope)
    if keys is not None:
        raise DError("D_DECL_DYNOBJ", f"cannot have dynamic member: {name}", declarator.position)
    if bits is not None:
        return UnplacedMember(name, kind, _bit_width(kind, name, bits, scope))
    if not name:
        raise DError("D_DECL_MNAME", "member declaration requires a name", declarator.position)
    _require_complete(kind, name, declarator.position)
    if object_size(kind, scope.strsize) == 0 and not _is_open_array(kind) and not isinstance(resolve(kind), Struct):
        raise DError("D_DECL_VOIDOBJ", f"cannot have void member: {name}", declarator.position)
    return UnplacedMember(name, kind)


def _is_open_array(kind: Type) -> bool:
    """A flexible array member, or GNU C's array without elements."""
    base = resolve(kind)
    return isinstance(base, Array) and not base.length


def _require_complete(kind: Type, name: str, position: Position) -> None:
    base = resolve(kind)
    while isinstance(base, Array):
        base = resolve(base.of)
    if isinstance(base, Struct) and not base.complete:
        text = f"incomplete struct/union/enum {spell(base)}: {name}"
        raise DError("D_DECL_INCOMPLETE", text, position)


def _bit_width(kind: Type, name: str, bits: syntax.Expr, scope: Scope) -> int:
    value = scope.constant(bits)
    if value is None or value < 0 or (value == 0 and name):
        text = "positive integral constant expression expected as bit-field size"
        raise DError("D_DECL_BFCONST", text, bits.position)
    if not is_integer(kind):
        raise DError("D_DECL_BFTYPE", f"invalid type for bit-field: {name}", bits.position)
    if value > 8 * size_of(kind):
        raise DError("D_DECL_BFSIZE", f"bit-field too big for type: {name}", bits.position)
    return value


def _refuse_duplicate(name: str, names: set[str], position: Position) -> None:
    if name in names:
        text = f"failed to define member '{name}': Duplicate member or variable name"
        raise DError("D_UNKNOWN", text, position)


def enumeration(node: syntax.EnumSpecifier, scope: Scope) -> Enum:
    if node.enumerators is None:
        known = scope.find_enum(node.tag, node.module)
        return known if known is not None else Enum(node.tag, 4, True, ())
    if node.module is not None:
        text = f"D scoping operator may not be used in a type tag ({node.module}`{node.tag})"
        raise DError("D_DECL_SCOPE", text, node.position)
    if node.tag and node.tag in scope.enums:
        raise DError("D_DECL_TYPERED", f"type redeclared: enum {node.tag}", node.position)
    values: dict[str, int] = {}
    last = -1
    for enumerator in node.enumerators:
        last = values[enumerator.name] = _enumerator(enumerator, last, values, scope)
    kind = Enum(node.tag, 4, True, tuple(values.items()))
    for name, value in values.items():
        scope.enumerators[name] = (kind, value)
    if node.tag:
        scope.enums[node.tag] = kind
    return kind


def _enumerator(node: syntax.Enumerator, last: int, values: dict[str, int], scope: Scope) -> int:
    """The value of an enumerator; `last` is that of the one before, `values` are all those before."""
    value: int | None = last + 1
    if node.value is not None:
        value = scope.constant(node.value)
    if value is None:
        text = f"enumerator '{node.name}' must be assigned to an integral constant expression"
        raise DError("D_DECL_ENCONST", text, node.position)
    if wrap(value, INT) != value:
        text = f"enumerator '{node.name}' value overflows INT_MAX ({_ARRAY_LIMIT})"
        raise DError("D_DECL_ENOFLOW", text, node.position)
    if node.name in scope.enumerators or node.name in values:
        text = f"failed to define enumerator '{node.name}': Duplicate member or variable name"
        raise DError("D_UNKNOWN", text, node.position)
    scope.enumerators[node.name] = (INT, value)
    return value
