"""Expressions: each node of the syntax tree to its rule."""

from __future__ import annotations

from collections.abc import Callable

from sonde.frontends.d import syntax
from sonde.frontends.d.check import (
    access,
    alike,
    assignments,
    calls,
    described,
    inlines,
    operators,
    probe_variables,
    translators,
    type_operators,
)
from sonde.frontends.d.check import arguments as check_arguments
from sonde.frontends.d.check.builtins import ARRAYS
from sonde.frontends.d.check.builtins import NAMES as BUILTINS
from sonde.frontends.d.check.conversions import constant
from sonde.frontends.d.check.doubtful import DOUBTFUL, note_operator
from sonde.frontends.d.check.identifiers import (
    enumerator_of,
    identifier,
    kernel_object,
    of_scope,
    scalar,
    scoped,
    undefined,
)
from sonde.frontends.d.check.operands import (
    AGGREGATION,
    AggregationUse,
    Operand,
    TranslatorValue,
    require_aggregating,
    value_of,
)
from sonde.frontends.d.check.prototypes import NAMES as FUNCTIONS
from sonde.frontends.d.check.scope import Scope
from sonde.frontends.d.check.stability import require_attributes
from sonde.frontends.d.check.variables import element, local_array, new_array, new_scalar, undeclared
from sonde.frontends.d.errors import DError
from sonde.model.errors import Position
from sonde.model.kinds import spell
from sonde.model.program import Const, Element, StringConst, Var
from sonde.model.types import BUILTIN_TYPEDEFS, STRING, Enum, Type, resolve
from sonde.typed import Any, TypeAlias, cast

PROBE_SCOPES = ("args", "locals", "globals")
"""Behind `->` these are followed by the names of the probed program's variables."""

NamedPlace: TypeAlias = tuple[str, str]
"""Where a variable is looked for: `global`, `self` or `this`, and its name."""


def expression(node: syntax.Expr, scope: Scope) -> Operand:
    """Check an expression; see `operands` for what may come back."""
    rule = _RULES.get(type(node))
    if rule is not None:
        return rule(node, scope)
    found: Operand = cast("syntax.Foreign", node).checked(scope)
    return found


# Constants and names


def _integer(node: syntax.Integer, _scope: Scope) -> Operand:
    return constant(node.value, node.position, node.type)


def _string(node: syntax.StringLiteral, _scope: Scope) -> Operand:
    return StringConst(STRING, node.position, node.value)


def _identifier(node: syntax.Identifier, scope: Scope) -> Operand:
    if node.name in scope.attributes:
        require_attributes(node.name, scope.attributes[node.name], scope.amin, node.position)
    if node.module is not None:
        return kernel_object(node.name, node.module, scope, node.position)
    inline = None if node.name in scope.bindings else scope.find_inline(node.name)
    if inline is not None:
        return inlines.expand(node.name, inline, scope, node.position)
    return identifier(node.name, scope, node.position)


def _scoped_variable(node: syntax.ScopedVariable, scope: Scope) -> Operand:
    return scoped(node.scope, node.name, scope, node.position)


def _aggregation(node: syntax.Aggregation, scope: Scope) -> Operand:
    if node.keys is None and node.name not in scope.aggregations:
        text = f"failed to resolve @{node.name}: Unknown variable name"
        known = tuple(scope.aggregations)
        raise DError("D_IDENT_UNDEF", text, node.position, alike.hint(node.name, known), alike.alike(node.name, known))
    return aggregation_use(node)


def aggregation_use(node: syntax.Aggregation) -> AggregationUse:
    """The aggregation, which need not be there yet."""
    return AggregationUse(AGGREGATION, node.position, node.name, node.keys, node.title)


# Operators


def _unary(node: syntax.Unary, scope: Scope) -> Operand:
    operand = _operand(node.operand, scope)
    if node.op == "&":
        return access.address_of(operand, node.position)
    if node.op != "*":
        return operators.unary(node.op, operand, node.position)
    if isinstance(operand, TranslatorValue):
        return translators.dereference(operand, node.position)
    return access.dereference(operand, node.position)


def _binary(node: syntax.Binary, scope: Scope) -> Operand:
    if isinstance(node.right, syntax.Call):
        # `tick-1()` calls the 1: say so rather than that there is no `tick`.
        _function_name(node.right)
    left = expression(node.left, scope)
    right = _enumerator(left, node.right) or expression(node.right, scope)
    result = operators.binary(node.op, left, right, node.position, scope.strsize)
    if node.op in DOUBTFUL:
        note_operator(node, left, right, result, scope)
    return result


def _enumerator(left: Operand, node: syntax.Expr) -> Operand | None:
    """A bare name beside a value of an enumeration may be one of its enumerators."""
    kind = resolve(left.type)
    if isinstance(kind, Enum) and isinstance(node, syntax.Identifier) and node.module is None:
        return enumerator_of(kind, node.name, node.position)
    return None


def _conditional(node: syntax.Conditional, scope: Scope) -> Operand:
    test = expression(node.test, scope)
    if isinstance(test, Const) and operators.is_scalar_test(test):
        return expression(node.then if test.value else node.otherwise, scope)
    return operators.conditional(test, expression(node.then, scope), expression(node.otherwise, scope), node.position)


def chosen(node: syntax.Expr, scope: Scope) -> syntax.Expr:
    """What a `?:` with a constant test stands for: one of its branches, which may then be whatever may stand in its
    place. The other one is not checked, and need not mean anything here."""
    while isinstance(node, syntax.Conditional):
        test = expression(node.test, scope)
        if not isinstance(test, Const) or not operators.is_scalar_test(test):
            break
        node = node.then if test.value else node.otherwise
    return node


def _comma(node: syntax.Comma, scope: Scope) -> Operand:
    return operators.comma(expression(node.left, scope), expression(node.right, scope), node.position)


def _of_types(node: syntax.Expr, scope: Scope) -> Operand:
    return type_operators.operation(node, scope, _operand)


# Objects


def _is_own(name: str, scope: Scope) -> bool:
    """Whether the D program has a variable of that name."""
    return name in scope.bindings or ("global", name) in scope.variables


def _member(node: syntax.Member, scope: Scope) -> Operand:
    name = node.object.name if isinstance(node.object, syntax.Identifier) and not node.object.module else ""
    if name in PROBE_SCOPES and node.arrow and scope.find_inline(name) is None and not _is_own(name, scope):
        return probe_variables.probe_variable(name, node.name, scope, node.position)
    operand = expression(node.object, scope)
    if isinstance(operand, TranslatorValue):
        return translators.member(operand, node.name, node.arrow, scope, node.position)
    return access.member(operand, node.name, node.arrow, node.position)


def _place(node: syntax.Expr, scope: Scope) -> NamedPlace | None:
    """Where the variable that `node` names belongs; None if it cannot be the name of a variable."""
    if isinstance(node, syntax.ScopedVariable):
        return node.scope, node.name
    if not isinstance(node, syntax.Identifier) or node.module is not None or node.name in scope.bindings:
        return None
    if node.name in ("self", "this"):
        raise of_scope(node.name, node.position)
    return "global", node.name


def _index(node: syntax.Index, scope: Scope) -> Operand:
    if isinstance(node.object, syntax.Aggregation):
        return _keyed(node.object, node, scope)
    if _new_place(node.object, scope) is not None:
        raise _no_array(node.object, node.object.position, scope)
    subscripts = tuple(expression(s, scope) for s in node.subscripts)
    place = _place(node.object, scope)
    found = None if place is None else _named_element(place, subscripts, scope, node.position)
    if found is not None:
        return found
    operand = expression(node.object, scope)
    if len(subscripts) != 1:
        operators.binary("+", operand, subscripts[0], node.position, scope.strsize)

        text = f"cannot access {described.described(node.object, operand, scope)} as an associative array"
        raise DError("D_ARR_BADREF", text, node.position)
    return access.index(operand, subscripts[0], node.position, scope.strsize)


def _keyed(aggregation: syntax.Aggregation, node: syntax.Index, scope: Scope) -> Operand:
    """`(@name)[keys]`: an aggregation takes keys once."""
    if aggregation.keys is None:
        return expression(aggregation._replace(keys=node.subscripts), scope)
    text = f"improper attempt to reference @{aggregation.name} as a multi-dimensional array"
    raise DError("D_AGG_MDIM", text, node.position)


def _no_array(node: syntax.Expr, position: Position, scope: Scope) -> DError:
    """Keys behind the name of a variable that is not there."""
    place = _place(node, scope)
    assert place is not None
    where, name = place
    if where == "this":
        return local_array(name, position)
    return undefined(name, position, scope, where.replace("global", ""), is_array=True)


def _named_element(
    place: NamedPlace, subscripts: tuple[Operand, ...], scope: Scope, position: Position
) -> Operand | None:
    """An element of a D array, built-in array or inline array; None if the name means something else."""
    variable = scope.variables.get(place)
    if variable is not None:
        return element(variable, subscripts, position) if variable.keys is not None else None
    where, name = place
    inline = scope.find_inline(name) if where == "global" else None
    if inline is not None:
        return None if inline.parameters is None else inlines.expand_array(name, inline, subscripts, scope, position)
    if where == "global" and name in ARRAYS:
        if len(subscripts) != 1:
            text = f"{name}[ ] prototype mismatch: {len(subscripts)} args passed, 1 expected"
            raise DError("D_PROTO_LEN", text, position)

        return (
            check_arguments.probe_argument(subscripts[0], scope, position)
            if name == "args"
            else check_arguments.register(subscripts[0], position)
        )
    return None


def _function_name(node: syntax.Call) -> str:
    if isinstance(node.function, syntax.Aggregation) and node.function.keys is None:
        raise DError("D_FUNC_UNDEF", f"undefined function name: @{node.function.name}", node.position)
    if not isinstance(node.function, syntax.Identifier):
        raise DError("D_FUNC_IDENT", "function designator is not of function type", node.position)
    return node.function.name


def _call(node: syntax.Call, scope: Scope) -> Operand:
    name = _function_name(node)
    if name not in FUNCTIONS:
        raise _not_a_function(name, scope, node.position)
    arguments = tuple(expression(a, scope) for a in node.arguments)
    result = calls.call(name, arguments, scope, node.position)
    if name == "getf" or (name == "__open_file" and not scope.catalog.offers("helper", "open_file")):
        return _open_file(arguments, scope, node.position)
    return result


def _open_file(arguments: tuple[Operand, ...], scope: Scope, position: Position) -> Operand:
    """getf(): the thread's open file, which the library knows how to find."""
    inline = scope.find_inline("thread_file")
    if inline is None:
        raise DError("D_FUNC_UNDEF", "getf( ) needs the library io.d, which -xnolibs leaves out", position)

    return inlines.expand_array("thread_file", inline, arguments, scope, position)


def _not_a_function(name: str, scope: Scope, position: Position) -> DError:
    is_there = name in BUILTINS or name in scope.functions or scope.find_inline(name) is not None
    if is_there or ("global", name) in scope.variables:
        kind = described.kind_of_name(syntax.Identifier(position, name), scope)
        return DError("D_FUNC_IDKIND", f"{kind} '{name}' may not be referenced as a function", position)
    text = f"undefined function name: {name}"
    return DError("D_FUNC_UNDEF", text, position, alike.hint(name, FUNCTIONS), alike.alike(name, FUNCTIONS))


# Assignments


def _assign(node: syntax.Assign, scope: Scope) -> Operand:
    assigned = expression(node.value, scope)
    if isinstance(node.target, syntax.Aggregation):
        return _aggregated(node.op, node.target, assigned, node.position)
    if node.op != "=":
        target = _known_target(node.target, scope)
        return assignments.compound(node.op[:-1], target, assigned, scope.strsize, node.position)
    target = _target(node.target, assigned, scope)
    return assignments.assign(target, assigned, scope, node.position)


def _aggregated(op: str, target: syntax.Aggregation, assigned: Operand, position: Position) -> Operand:
    """An aggregation that is assigned to inside an expression, where it is refused as any aggregation is."""
    if op != "=":
        raise undeclared(f"@{target.name}", position)
    require_aggregating(target.name, assigned, position)
    return aggregation_use(target)


def _target(node: syntax.Expr, assigned: Operand, scope: Scope) -> Operand:
    """What is assigned to, created if it is a variable not seen before."""
    if isinstance(node, syntax.Index):
        place = _new_place(node.object, scope)
        if place is None:
            return expression(node, scope)
        keys = tuple(expression(k, scope) for k in node.subscripts)
        kind = assignments.declared_type(value_of(assigned))
        return element(new_array(scope, *place, keys, kind, node.position), keys, node.position)
    place = _new_place(node, scope)
    if place is None:
        _refuse_array(node, assigned, scope)
        return expression(node, scope)
    return new_scalar(scope, *place, assigned, node.position)


def _refuse_array(node: syntax.Expr, assigned: Operand, scope: Scope) -> None:
    """An associative array of a thread is not assigned to as a whole."""
    if isinstance(node, syntax.ScopedVariable):
        variable = scope.variables[node.scope, node.name]
        if variable.keys is not None:
            text = f'operands have incompatible types: "associative array" = "{spell(assigned.type)}"'
            raise DError("D_OP_INCOMPAT", text, node.position)


def _new_place(node: syntax.Expr, scope: Scope) -> NamedPlace | None:
    """The place of a variable that does not exist yet; None where `node` is anything else."""
    place = _place(node, scope)
    if place is None or place in scope.variables or (place[0] == "global" and _is_taken(place[1], scope)):
        return None
    return place


def _is_taken(name: str, scope: Scope) -> bool:
    return (
        scope.find_inline(name) is not None
        or name in scope.enumerators
        or name in FUNCTIONS
        or name in BUILTINS
        or name == "NULL"
        or name in scope.functions
    )


def _known_target(node: syntax.Expr, scope: Scope) -> Operand:
    """The target of a compound assignment, which does not bring a variable into being."""
    named = node.object if isinstance(node, syntax.Index) else node
    place = _new_place(named, scope)
    if place is not None:
        raise undeclared(place[1], node.position, place[0])
    return expression(node, scope)


def _increment(node: syntax.Increment, scope: Scope) -> Operand:
    target = _incremented(node.target, scope)
    return assignments.increment(node.op, target, node.is_prefix, scope, node.position)


def _incremented(node: syntax.Expr, scope: Scope) -> Operand:
    """The target of `++` or `--`, which may bring any variable into being."""
    return brought_into_being(node, scope) or expression(node, scope)


def _operand(node: syntax.Expr, scope: Scope) -> Operand:
    """The operand of a unary operator: it may bring any variable into being but a global scalar."""
    can = isinstance(node, (syntax.ScopedVariable, syntax.Index))
    found = brought_into_being(node, scope) if can else None
    if isinstance(found, (Element, Var)):
        scope.asked.add(found.variable.id)
    return found or expression(node, scope)


def brought_into_being(node: syntax.Expr, scope: Scope) -> Operand | None:
    """The variable that `node` names, if it names one not seen before: then it is a 64-bit integer."""
    named = node.object if isinstance(node, syntax.Index) else node
    place = _new_place(named, scope)
    if place is None:
        return None
    kind: Type = BUILTIN_TYPEDEFS["int64_t"]
    if isinstance(node, syntax.Index):
        keys = tuple(expression(k, scope) for k in node.subscripts)
        return element(new_array(scope, *place, keys, kind, node.position), keys, node.position)
    return scalar(scope.bring(*place, kind, node.position), node.position)


_RULES: dict[type, Callable[[Any, Scope], Operand]] = {
    syntax.Integer: _integer,
    syntax.StringLiteral: _string,
    syntax.Identifier: _identifier,
    syntax.ScopedVariable: _scoped_variable,
    syntax.Aggregation: _aggregation,
    syntax.Unary: _unary,
    syntax.Increment: _increment,
    syntax.Binary: _binary,
    syntax.Assign: _assign,
    syntax.Conditional: _conditional,
    syntax.Comma: _comma,
    syntax.Cast: _of_types,
    syntax.SizeofExpr: _of_types,
    syntax.SizeofType: _of_types,
    syntax.Offsetof: _of_types,
    syntax.Stringof: _of_types,
    syntax.Xlate: _of_types,
    syntax.Member: _member,
    syntax.Index: _index,
    syntax.Call: _call,
}
