"""What messages call an expression that is used as something it is not."""

from __future__ import annotations

from sonde.frontends.d import syntax
from sonde.frontends.d.check.builtins import ARRAYS
from sonde.frontends.d.check.operands import Operand
from sonde.frontends.d.check.prototypes import NAMES as FUNCTIONS
from sonde.frontends.d.check.prototypes import kind_of
from sonde.frontends.d.check.scope import Scope
from sonde.model.program import Const, KernelObject, StringConst

_WORD = (1 << 64) - 1


def described(node: syntax.Expr, operand: Operand, scope: Scope) -> str:
    """`scalar x`, `operator +`, `integer constant 0x1` ...: `node` as written, `operand` what it is."""
    if isinstance(operand, Const):
        return f"integer constant 0x{operand.value & _WORD:x}"
    if isinstance(operand, StringConst):
        return f'string constant "{operand.value.decode(errors="replace")}"'
    if isinstance(operand, KernelObject):
        return f"symbol {operand.name}"
    if isinstance(node, syntax.Call) and isinstance(node.function, syntax.Identifier):
        return f"{kind_of(node.function.name)} {node.function.name}( )"
    if isinstance(node, (syntax.Identifier, syntax.ScopedVariable)):
        return f"{kind_of_name(node, scope)} {node.name}"
    if isinstance(node, syntax.Index):
        return _element(node, scope)
    return f"operator {_operator(node)}"


def _element(node: syntax.Index, scope: Scope) -> str:
    """An element of a D array is known by its array, any other as what `*` yields."""
    named = node.object
    if isinstance(named, (syntax.Identifier, syntax.ScopedVariable)):
        kind = kind_of_name(named, scope)
        if kind == "associative array":
            return f"{kind} {named.name}"
    return "operator *"


def kind_of_name(node: syntax.Identifier | syntax.ScopedVariable, scope: Scope) -> str:
    """`scalar`, `associative array` or what kind of function."""
    place = node.scope if isinstance(node, syntax.ScopedVariable) else "global"
    variable = scope.variables.get((place, node.name))
    if variable is not None:
        return "scalar" if variable.keys is None else "associative array"
    if place == "global" and node.name in FUNCTIONS:
        return kind_of(node.name)
    inline = scope.find_inline(node.name) if place == "global" else None
    is_array = node.name in ARRAYS or (inline is not None and inline.parameters is not None)
    return "associative array" if is_array else "scalar"


def _operator(node: syntax.Expr) -> str:
    if isinstance(node, (syntax.Unary, syntax.Increment, syntax.Binary, syntax.Assign)):
        return node.op
    if isinstance(node, syntax.Member):
        return "->" if node.arrow else "."
    words: dict[type, str] = {
        syntax.Conditional: "?:", syntax.Comma: ",", syntax.Cast: "(", syntax.Stringof: "stringof",
        syntax.Xlate: "xlate",
    }  # fmt: skip
    return words.get(type(node), "sizeof")
