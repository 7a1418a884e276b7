"""Names of types in a program, and the types that they mean."""

from __future__ import annotations

from sonde.frontends.bpftrace.check import types_of_programs
from sonde.frontends.bpftrace.check.aggregating import NAMES as AGGREGATING
from sonde.frontends.bpftrace.check.scope import BtScope
from sonde.frontends.bpftrace.check.types import INTEGERS, fixed, structure_of
from sonde.frontends.bpftrace.syntax import nodes
from sonde.frontends.bpftrace.syntax.types import KERNEL_INTEGERS
from sonde.model.program import Expr
from sonde.model.types import BASE_TYPES, BOOL, BUILTIN_TYPEDEFS, CHAR, STRING, VOID, Array, Pointer, Type

_SIGNED = {"char": "int8", "short": "int16", "int": "int32", "long": "int64"}
_NAMED: dict[str, Type] = {
    **INTEGERS, **{name: INTEGERS[of] for name, of in KERNEL_INTEGERS.items()},
    "bool": BOOL, "_Bool": BOOL, "void": VOID, "string": STRING, **{each.name: each for each in BASE_TYPES},
}  # fmt: skip
_OF_FUNCTIONS = tuple(f"{name}_t" for name in AGGREGATING)
"""Types of what maps alone hold."""
_QUALIFIERS = ("const", "volatile", "__user", "__kernel")


def type_named(node: nodes.TypeName, scope: BtScope) -> Type:
    """The type that a name stands for; mistakes are told at the name."""
    if node.of is not None:
        of = type_of(node.of, scope)
    else:
        of = _base(node, scope)
    for suffix in node.suffixes:
        if of == STRING and not isinstance(suffix, str):
            # So many characters, not so many strings.
            of = Array(CHAR, suffix) if suffix > 0 else STRING
            continue
        of = Pointer(of) if isinstance(suffix, str) else Array(of, None if suffix < 0 else suffix)
    return of


def type_of(node: nodes.Expr | nodes.TypeName, scope: BtScope) -> Type:
    """The type that a name stands for, which may be one that only C knows, or that of an expression."""
    if isinstance(node, nodes.TypeName):
        return type_named(node, scope)
    if isinstance(node, nodes.MapName) and node.keys is None and (use := scope.map(node.name, node.at)).keys:
        # That of its keys.
        keys = tuple(Array(CHAR, size) if size else kind for kind, size in zip(use.key_types, use.sizes, strict=True))
        names = tuple(str(number) for number in range(len(keys)))
        return use.key_types[0] if len(keys) == 1 else structure_of("tuple", names, keys)
    known = scope.types.type_named(node.name) if isinstance(node, nodes.Name) else None
    return known or fixed(unevaluated(node, scope).type)


def unevaluated(node: nodes.Expr, scope: BtScope) -> Expr:
    """An expression of which only the type is wanted: what it has for statements is not run."""
    scope.before.append([])
    scope.unevaluated += 1
    made = scope.expression(node, scope)
    scope.unevaluated -= 1
    scope.before.pop()
    return made


def _base(node: nodes.TypeName, scope: BtScope) -> Type:
    words = [word for word in node.words.split() if word not in _QUALIFIERS]
    if len(words) == 2 and words[0] in ("struct", "union", "enum"):
        found = scope.types.tagged_type(words[0], words[1])
        if found is None:
            found = types_of_programs.tagged_type(words[0], words[1], node.at, scope)
        if found is None:
            raise scope.mistake(f'Cannot resolve unknown type "{" ".join(words)}"', node.at)
        return found
    name = _c_name(words)
    found = scope.types.named.get(name) or _NAMED.get(name) or BUILTIN_TYPEDEFS.get(name)
    found = found or scope.types.type_named(name)
    if found is None and name in _OF_FUNCTIONS:
        raise scope.mistake(f"Invalid variable declaration type: {name}", node.at)
    if found is None:
        raise scope.mistake(f'Cannot resolve unknown type "{name}"', node.at)
    return found


def _c_name(words: list[str]) -> str:
    """C's integers in any order of their words."""
    if not set(words) <= {"unsigned", "signed", "char", "short", "int", "long"}:
        return " ".join(words)
    size = "char" if "char" in words else "short" if "short" in words else "long" if "long" in words else "int"
    return ("u" if "unsigned" in words else "") + _SIGNED[size]
