"""`args[n]` and `uregs[n]`: built-in arrays whose elements differ from probe to probe or from register to register."""

from __future__ import annotations

from sonde.arch import languages
from sonde.frontends.d.check import derived
from sonde.frontends.d.check.builtins import UREGS_TYPE
from sonde.frontends.d.check.casts import stringof
from sonde.frontends.d.check.folding import constant_value
from sonde.frontends.d.check.located import located
from sonde.frontends.d.check.operands import Operand
from sonde.frontends.d.check.scope import Enabling, Scope
from sonde.frontends.d.check.translators import find_translator, translate
from sonde.frontends.d.errors import DError
from sonde.model.catalog import TypedArgument
from sonde.model.errors import Position
from sonde.model.kinds import compatible, is_string, spell
from sonde.model.program import Argument, Builtin, Const, Expr, Index
from sonde.model.types import LONG, Array, Pointer, Struct, Type, Typedef


def _constant_index(array: str, index: Operand, position: Position) -> int:
    value = constant_value(index)
    if value is None:
        text = f"{array}[ ] argument #1 is incompatible with prototype:\n\tprototype: integer constant\n"
        raise DError("D_PROTO_ARG", f"{text}\t argument: {spell(index.type)}", position)
    return value


def register(index: Operand, position: Position) -> Operand:
    number = _constant_index("uregs", index, position)
    if not 0 <= number < languages.INDEXES:
        if number < 0:
            raise DError("D_REGS_IDX", f"index {number} is out of range for array uregs", position)
        raise DError("D_UNKNOWN", f"uregs[]: index out of bounds ({number})", position)
    registers = Builtin(Array(UREGS_TYPE, languages.INDEXES), position, "uregs")
    return Index(UREGS_TYPE, position, registers, Const(LONG, position, number))


def probe_argument(index: Operand, scope: Scope, position: Position) -> Operand:
    return typed_argument(_constant_index("args", index, position), scope, position)


def typed_argument(number: int, scope: Scope, position: Position) -> Operand:
    """`args[number]` of the clause's probes, as D shows it."""
    if scope.enabling is None:
        raise DError("D_ARGS_NONE", "args[ ] may not be referenced outside of a probe clause", position)
    if not scope.enabling.probes:
        raise _unstable(scope.enabling, position)
    if any(scope.catalog.has_variables(probe) for probe in scope.enabling.probes):
        return located("args", number, scope, position)
    found = _common_argument(number, scope, scope.enabling, position)
    shown = _in_scope(found.shown, scope)
    found = found._replace(native=_in_scope(found.native, scope))
    native = _native(found, scope.enabling, scope, position)
    if compatible(found.native, shown):
        return native._replace(type=shown)
    if is_string(shown):
        return stringof(native, position)
    translator = find_translator(shown, native, scope)
    if translator is None:
        text = f"translator for args[{number}] from {spell(found.native)} to {spell(shown)} is not defined"
        raise DError("D_ARGS_XLATOR", text, position)
    return translate(translator, native, shown, position)


def _native(found: TypedArgument, enabling: Enabling, scope: Scope, position: Position) -> Expr:
    if enabling.derivation is not None:
        return derived.argument(found.source, found.native, enabling.derivation, scope, position)
    return Argument(found.native, position, found.source)


def _in_scope(kind: Type, scope: Scope) -> Type:
    """The program's own type where a provider can only name it: `psinfo_t *` and the like come from libraries."""
    if isinstance(kind, Pointer):
        return kind._replace(to=_in_scope(kind.to, scope))
    if isinstance(kind, Typedef):
        return scope.find_type(kind.name) or kind
    if isinstance(kind, Struct) and not kind.complete:
        return scope.find_struct(kind.keyword, kind.name)
    return kind


def _common_argument(number: int, scope: Scope, enabling: Enabling, position: Position) -> TypedArgument:
    """The argument that all probes of the clause have in common."""
    common: TypedArgument | None = None
    for probe in enabling.probes:
        arguments = scope.catalog.arguments(probe) or ()
        if not 0 <= number < len(arguments):
            if common is not None:
                raise _unstable(enabling, position)
            derived.require_known(number, f"args[{number}]", scope, position)
            raise DError("D_ARGS_IDX", f"index {number} is out of range for {enabling.text} args[ ]", position)
        candidate = arguments[number]
        if common is not None and not _same(common, candidate, enabling.derivation is not None):
            raise _unstable(enabling, position)
        common = candidate if common is None or probe == enabling.derived else common
    assert common is not None
    return common


def _same(left: TypedArgument, right: TypedArgument, shown_alone: bool) -> bool:
    """Derived probes have a clause each: what they are made from may differ as long as they show the same, by name."""
    if shown_alone:
        return spell(left.shown) == spell(right.shown)
    return left.source == right.source and compatible(left.native, right.native) and compatible(left.shown, right.shown)


def _unstable(enabling: Enabling, position: Position) -> DError:
    text = f"args[ ] may not be referenced because probe description {enabling.text} matches an unstable set of probes"
    return DError("D_ARGS_MULTI", text, position)
