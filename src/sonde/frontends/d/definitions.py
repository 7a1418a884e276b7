"""Inline definitions, translators and provider definitions; each leaves its last token the current one."""

from __future__ import annotations

from sonde.frontends.d.declarations import (
    STORAGE_WORDS,
    declaration_of,
    declarator,
    is_function,
    parameter,
    parameters,
    specifiers,
    type_name,
)
from sonde.frontends.d.errors import DError
from sonde.frontends.d.expressions import assignment
from sonde.frontends.d.lexer import NAME
from sonde.frontends.d.stream import TokenStream
from sonde.frontends.d.syntax import (
    Declaration,
    InlineDefinition,
    ProviderDefinition,
    ProviderProbe,
    Translator,
    TranslatorMember,
)


def definition(stream: TokenStream) -> InlineDefinition | Declaration | Translator | ProviderDefinition:
    """What the word `inline`, `translator` or `provider` begins."""
    if stream.at("inline"):
        return inline_definition(stream)
    return translator(stream) if stream.at("translator") else provider_definition(stream)


def inline_definition(stream: TokenStream) -> InlineDefinition | Declaration:
    """An inline definition of D, or an inline function of C."""
    position = stream.token.position
    first = stream.word()
    head = specifiers(stream, STORAGE_WORDS)
    named = declarator(stream)
    if is_function(named):
        return declaration_of(stream, position, head._replace(storage=(first, *head.storage)), [named])
    if head.storage:
        raise DError("D_SYNTAX", f'syntax error near "{head.storage[0].text}"', head.storage[0].position)
    stream.expect("=")
    value = assignment(stream)
    stream.expect_last(";")
    return InlineDefinition(position, head, named, value)


def translator(stream: TokenStream) -> Translator:
    position = stream.expect("translator").position
    output = type_name(stream)
    stream.expect("<")
    source = parameter(stream)
    stream.expect(">")
    stream.expect("{")
    members: list[TranslatorMember] = []
    while not stream.accept("}"):
        members.append(_translator_member(stream))
    stream.expect_last(";")
    return Translator(position, output, source, tuple(members))


def _translator_member(stream: TokenStream) -> TranslatorMember:
    position = stream.token.position
    name = stream.expect_member_name()
    stream.expect("=")
    value = assignment(stream)
    stream.expect(";")
    return TranslatorMember(position, name, value)


def provider_definition(stream: TokenStream) -> ProviderDefinition:
    position = stream.expect("provider").position
    name = stream.expect(NAME).text
    stream.expect("{")
    probes: list[ProviderProbe] = []
    while not stream.accept("}"):
        probes.append(_provider_probe(stream))
    stream.expect_last(";")
    return ProviderDefinition(position, name, tuple(probes))


def _provider_probe(stream: TokenStream) -> ProviderProbe:
    position = stream.expect("probe").position
    name = stream.expect_member_name()
    native = parameters(stream)
    translated = parameters(stream) if stream.accept(":") else None
    stream.expect(";")
    return ProviderProbe(position, name, native, translated)
