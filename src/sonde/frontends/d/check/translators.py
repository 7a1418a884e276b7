"""Translators: their declaration, the choice of one, and the members of what they yield.

Nothing is ever translated as a whole: each use of a member is replaced by its expression, the input in its place.
"""

from __future__ import annotations

from sonde.frontends.d import syntax
from sonde.frontends.d.check import alike, untranslated
from sonde.frontends.d.check.assignments import stored
from sonde.frontends.d.check.compatibility import accepts
from sonde.frontends.d.check.conversions import convert
from sonde.frontends.d.check.declarations import object_type, type_name
from sonde.frontends.d.check.operands import (
    TRANSLATED,
    TRANSLATED_POINTER,
    DeclaredTranslator,
    Operand,
    TranslatorValue,
    value_of,
)
from sonde.frontends.d.check.scope import Scope
from sonde.frontends.d.errors import DError
from sonde.model.errors import Position
from sonde.model.kinds import ARRAY_AS_STRING, compatible, is_integer, is_pointer, is_string, spell
from sonde.model.program import Const, Deref, MemberOf
from sonde.model.types import Array, Pointer, Struct, Type, resolve


def declare_translator(node: syntax.Translator, scope: Scope, trusted: bool, end: Position) -> None:
    """Add a translator; the members of a `trusted` (library) one are first checked where they are used.

    `end` is where messages about the translator as a whole point to.
    """
    kind = type_name(node.output, scope)
    output = resolve(kind)
    if not isinstance(output, Struct):
        raise DError("D_XLATE_SOU", "translator output type must be a struct or union", end)
    if not output.complete:
        raise DError("D_XLATE_SOU", f"incomplete struct/union/enum {spell(output)}", end)
    source = object_type(node.input.specifiers, node.input.declarator, scope)
    if any(t.output is output and compatible(t.input, source) for t in scope.translators):
        text = f"translator from {spell(source)} to {spell(kind)} has already been declared"
        raise DError("D_XLATE_REDECL", text, end)
    parameter = node.input.declarator.name or ""
    members = {m.name: m for m in node.members}
    translator = DeclaredTranslator(output, spell(kind), source, parameter, members)
    if not trusted:
        _check_members(node, translator, scope)
    scope.translators.append(translator)


def _check_members(node: syntax.Translator, translator: DeclaredTranslator, scope: Scope) -> None:
    sample = TranslatorValue(
        TRANSLATED, node.position, translator.output, translator, _sample(translator, node.position)
    )
    for member in node.members:
        if translator.output.find(member.name) is None:
            text = f"translator member {member.name} is not a member of {translator.output_name}"
            raise DError("D_XLATE_MEMB", text, member.position)
        _expand(sample, member, scope, sample.position)


def _sample(translator: DeclaredTranslator, position: Position) -> Operand:
    """Something of the input's type to check the members with before there is an input."""
    pointer = Const(Pointer(translator.input), position, 0)
    return Deref(translator.input, position, pointer)


def find_translator(output: Type, operand: Operand, scope: Scope) -> DeclaredTranslator | None:
    """The translator to `output` (or what it points to) that takes `operand`; one of its very type goes first."""
    target = resolve(output)
    if isinstance(target, Pointer):
        target = resolve(target.to)
    candidates = [t for t in scope.translators if compatible(t.output, target)]
    for candidate in candidates:
        if compatible(candidate.input, operand.type):
            return candidate
    return next((c for c in candidates if accepts(c.input, operand)), None)


def translate(translator: DeclaredTranslator, operand: Operand, output: Type, position: Position) -> TranslatorValue:
    """The operand translated; a pointer to that if `output` is a pointer."""
    if is_integer(translator.input):
        operand = convert(value_of(operand), translator.input)
    kind = TRANSLATED_POINTER if is_pointer(output) else TRANSLATED
    return TranslatorValue(kind, position, translator.output, translator, operand)


def xlate(output: Type, operand: Operand, scope: Scope, position: Position) -> TranslatorValue:
    """`xlate <output> operand`."""
    translator = find_translator(output, operand, scope)
    if translator is None:
        text = f'cannot translate from "{spell(operand.type)}" to "{spell(output)}"'
        raise DError("D_XLATE_NONE", text, position)
    return translate(translator, operand, output, position)


def dereference(value: TranslatorValue, position: Position) -> TranslatorValue:
    if value.type != TRANSLATED_POINTER:
        raise DError("D_DEREF_NONPTR", "cannot dereference non-pointer type", position)
    return value._replace(type=TRANSLATED, position=position)


def member(value: TranslatorValue, name: str, arrow: bool, scope: Scope, position: Position) -> Operand:
    """A member of translated data."""
    known = value.translator.members
    definition = known.get(name)
    if definition is None:
        text = f"translator does not define conversion for member: {name}"
        is_member = value.output.find(name) is not None
        near = () if is_member else alike.likely(name, known)

        hint = untranslated.reason(name) if is_member else alike.hint(name, known)
        raise DError("D_XLATE_NOCONV", text, position, hint, near)
    _check_operator(value, arrow, position)
    return _expand(value, definition, scope, position)


def _check_operator(value: TranslatorValue, arrow: bool, position: Position) -> None:
    is_pointer_value = value.type == TRANSLATED_POINTER
    if arrow and not is_pointer_value:
        raise DError("D_OP_PTR", "operator -> must be applied to a pointer", position)
    if is_pointer_value and not arrow:
        kind = f"{value.translator.output_name} *"
        text = f'operator . cannot be applied to type "{kind}"; must be applied to a struct or union'
        raise DError("D_OP_SOU", text, position)


def _expand(value: TranslatorValue, definition: syntax.TranslatorMember, scope: Scope, position: Position) -> Operand:
    translator = value.translator
    found = translator.output.find(definition.name)
    assert found is not None
    result = scope.expand("", definition.value, {translator.parameter: value.input}, position)
    if isinstance(result, TranslatorValue):
        return result
    if not accepts(found.type, result):
        text = (
            f"translator member {definition.name} definition uses incompatible types: "
            f'"{spell(found.type)}" = "{spell(result.type)}"'
        )
        raise DError("D_XLATE_INCOMPAT", text, definition.position)
    expression = value_of(result)
    if isinstance(expression, MemberOf):
        # A mistake that is found later is that of whoever uses it, and has not written the library.
        expression = expression._replace(position=position)
    if not is_string(expression.type):
        return stored(expression, found.type)
    return expression._replace(type=ARRAY_AS_STRING) if isinstance(resolve(found.type), Array) else expression
