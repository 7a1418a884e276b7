"""What a name means: a variable, a built-in, an inline definition, an enumerator or kernel data."""

from __future__ import annotations

from sonde.frontends.d.check import alike, cpu_time, derived
from sonde.frontends.d.check.builtins import ARRAYS, NAMES, OF_PACKETS, builtin_type
from sonde.frontends.d.check.conversions import constant
from sonde.frontends.d.check.operands import Operand
from sonde.frontends.d.check.prototypes import NAMES as FUNCTIONS
from sonde.frontends.d.check.prototypes import kind_of
from sonde.frontends.d.check.scope import USER_MODULES, Scope
from sonde.frontends.d.check.variables import check_keys
from sonde.frontends.d.errors import DError
from sonde.model.errors import Position
from sonde.model.program import Builtin, Const, KernelObject, Var, Variable
from sonde.model.types import INT, Type

_NO_SYMBOL = "/proc/kallsyms has no such name; kernels built without CONFIG_KALLSYMS_ALL name no data there"
_NO_TYPE = "the kernel's BTF has the types of functions and per-CPU variables; few kernels have others"


def undefined(name: str, position: Position, scope: Scope, prefix: str = "", is_array: bool = False) -> DError:
    """The error for a variable nobody has set; `prefix` is `self` or `this` for those of that scope. One that has keys
    behind it is there for DTrace, but without a value."""
    hint, names = _what_helps(name, scope, prefix), _alike(name, scope, prefix)
    if prefix or is_array:
        text = f"{prefix}{'->' if prefix else ''}{name} has not yet been declared or assigned"
        return DError("D_VAR_UNDEF", text, position, hint, names)
    return DError("D_IDENT_UNDEF", f"failed to resolve {name}: Unknown variable name", position, hint, names)


def _alike(name: str, scope: Scope, prefix: str) -> list[str]:
    """Names that may have been meant."""
    return alike.alike(name, _known(scope, prefix))


def _known(scope: Scope, prefix: str) -> set[str]:
    there = {known for in_scope, known in scope.variables if in_scope == (prefix or "global")}
    return there if prefix else there | NAMES | set(scope.inlines)


def _what_helps(name: str, scope: Scope, prefix: str) -> str:
    if not prefix and name in OF_PACKETS:
        return "it is a variable of packet probes: a clause for nothing but these has it"
    if prefix:
        return alike.hint(name, _known(scope, prefix))
    if any(known == name for _, known in scope.variables):
        return f"there is {' and '.join(sorted(f'{s}->{n}' for s, n in scope.variables if n == name))}"
    return alike.hint(name, _known(scope, prefix))


def bad_reference(what: str, name: str, use: str, position: Position) -> DError:
    return DError("D_IDENT_BADREF", f"{what} '{name}' may not be referenced as {use}", position)


def of_scope(name: str, position: Position) -> DError:
    """`self` or `this` without a variable behind it."""
    error = bad_reference("pointer", name, "scalar", position)
    error.hint = f"a variable of that scope is written {name}->NAME"
    return error


def identifier(name: str, scope: Scope, position: Position) -> Operand:
    """The object or value of a bare name; inline definitions are expanded by who asks."""
    bound = scope.bindings.get(name)
    if bound is not None:
        return bound
    variable = scope.variables.get(("global", name))
    if variable is not None:
        return scalar(variable, position)
    kind = builtin_type(name, scope)
    if kind is not None:
        scope.require_offered("variable", name, position)
        if name == "vtimestamp":
            return cpu_time.cpu_time(scope, position)
        return derived.builtin(name, kind, scope, position) or Builtin(kind, position, name)
    if name in ARRAYS:
        raise bad_reference("associative array", name, "scalar", position)
    if name == "NULL":
        return Const(INT, position, 0)
    if name in FUNCTIONS or name in scope.functions:
        raise bad_reference(kind_of(name) if name in FUNCTIONS else "function", name, "scalar", position)
    enumerator = scope.enumerators.get(name) or scope.catalog.enumerator(name)
    if enumerator is not None:
        return constant(enumerator[1], position, enumerator[0])
    if name in ("self", "this"):
        raise of_scope(name, position)
    raise undefined(name, position, scope)


def scalar(variable: Variable, position: Position) -> Var:
    if variable.keys is not None:
        raise bad_reference("associative array", variable.name, "scalar", position)
    return Var(variable.type, position, variable)


def scoped(scope_name: str, name: str, scope: Scope, position: Position) -> Var:
    """`self->name` or `this->name`."""
    variable = scope.variables.get((scope_name, name))
    if variable is None:
        raise undefined(name, position, scope, scope_name)
    if variable.keys is not None:
        check_keys(f"{name}[ ]", variable.keys, (), position)
    return scalar(variable, position)


def kernel_object(name: str, module: str, scope: Scope, position: Position) -> Operand:
    """A name with a backquote: kernel data, or the program's own variable by the module C or D."""
    if module in USER_MODULES and module and ("global", name) in scope.variables:
        return scalar(scope.variables["global", name], position)
    scope.require_offered("data", f"{module}`{name}", position)
    symbol = scope.catalog.symbol(name, module or None)
    spelled = f"{module}`{name}"
    if symbol is None:
        text = f"failed to resolve {spelled}: Unknown symbol name"
        raise DError("D_IDENT_UNDEF", text, position, hint=_NO_SYMBOL)
    if symbol.type is None:
        text = f"no symbolic type information is available for {spelled}"
        raise DError("D_SYM_NOTYPES", text, position, hint=_NO_TYPE)
    return KernelObject(symbol.type, position, f"{symbol.module}`{symbol.name}")


def enumerator_of(kind: Type, name: str, position: Position) -> Const | None:
    """The enumerator `name` of the enumeration `kind`, as comparisons with a value of that type find it."""
    for candidate, value in getattr(kind, "values", ()):
        if candidate == name:
            return constant(value, position, kind)
    return None
