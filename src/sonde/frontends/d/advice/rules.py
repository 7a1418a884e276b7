"""Which rules look at a mistake, in which order, and what is told where none of their changes compiles."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from sonde.frontends.d.advice import (
    aggregations,
    calls,
    computed,
    descriptions,
    foreign,
    idioms,
    names,
    operators,
    signs,
    statements,
    texts,
    values,
)
from sonde.frontends.d.advice.finding import Case, Label, Remedy

Rule = Callable[[Case], Iterator[Remedy]]

_KNOWN: tuple[Rule, ...] = (
    aggregations.left_out, texts.methods, texts.formatted, texts.characters, texts.puts_in_words, texts.is_in,
    computed.arithmetic, computed.values, computed.conversions, computed.elements, computed.missing_values,
    idioms.directives, idioms.walks, idioms.colons, idioms.empty_operands, idioms.numbers_with_members, idioms.limits,
)  # fmt: skip
"""Rules that know the cause by the form of the mistake: nothing is guessed behind them."""

_DESCRIPTIONS: tuple[Rule, ...] = (
    descriptions.timer, statements.heads, signs.opening_slash, statements.braces, descriptions.foreign_words,
    descriptions.process, descriptions.one_field, descriptions.fields_left_out, descriptions.field_words,
    descriptions.spelling,
)  # fmt: skip
_SYNTAX: tuple[Rule, ...] = (
    signs.foreign_signs, statements.lists, signs.foreign_operators, operators.comparison, signs.comments, signs.quotes,
    signs.torn, signs.brackets, signs.superfluous, names.variables, aggregations.keys,
    statements.loops, statements.variables, statements.types, statements.heads, statements.braces, statements.leaving,
    statements.calls_without_brackets, values.numbers, values.slices, values.conditional, signs.missing,
    signs.opening_slash,
)  # fmt: skip
_NAMES: tuple[Rule, ...] = (
    names.undeclared, names.own, names.variables, names.functions, names.members, names.spelling, names.quoted,
)  # fmt: skip
_REST: tuple[Rule, ...] = (
    operators.comparison, operators.member_operator, operators.quotes, operators.strings, aggregations.keys,
    aggregations.maps, aggregations.functions, aggregations.uses, calls.formats, calls.counts, calls.strings,
    calls.bare_functions, calls.forms, aggregations.set_values,
)  # fmt: skip

_BY_TAG: tuple[tuple[tuple[str, ...], tuple[Rule, ...]], ...] = (
    (("D_PDESC_", "D_PROC_"), _DESCRIPTIONS),
    (("D_SYNTAX", "D_STR_", "D_CHR_", "D_PRAG", "D_INT_", "D_MACRO_"), (*_SYNTAX, calls.conversions, names.macros)),
    (("D_IDENT_UNDEF", "D_FUNC_UNDEF", "D_VAR_UNDEF", "D_TYPE_MEMBER"), (*_NAMES, *_REST)),
)


def remedies(case: Case) -> Iterator[Remedy]:
    """Changes that may help, the likeliest first. None has been tried."""
    rules = next((rules for tags, rules in _BY_TAG if case.error.tag.startswith(tags)), (*_REST, *_NAMES))
    for rule in (*_KNOWN, *rules):
        yield from rule(case)


_OF_A_PROGRAM = re.compile(r"failed to resolve (args|locals|globals)->")
"""Variables of the probed program, which no clause sets."""


def advice(case: Case) -> tuple[str, tuple[Label, ...], str]:
    """A label for the place, other parts that belong to it, and words of help, each of which may be missing."""
    word = case.word
    first = case.layout.word(case.part.start)
    for each in (word, first):
        if each is not None and each.text in foreign.NOTHING_LIKE_IT:
            return "", (), foreign.NOTHING_LIKE_IT[each.text]
    if (
        case.error.tag == "D_IDENT_UNDEF"
        and not aggregations.is_undefined(case)
        and not case.error.hint
        and not case.error.names
        and not _OF_A_PROGRAM.match(case.error.text)
    ):
        return names.unset_label(case), (), names.UNSET
    if case.error.tag == "D_SYNTAX":
        return signs.unclosed_label(case)
    if case.error.tag == "D_ALLOCA_SIZE":
        return "more than scratchsize", (), calls.SCRATCH
    if case.error.tag.startswith("D_PROC_") or "valid pid" in case.error.text:
        return descriptions.process_advice(case)
    return "", (), ""
