"""D as syntax trees: programs, and types that are a whole text."""

from typing import NamedTuple

from sonde.frontends.d.declarations import type_name
from sonde.frontends.d.expressions import constant
from sonde.frontends.d.lexer import END, Lexer
from sonde.frontends.d.parser import NO_MACROS, Parser, no_type_names
from sonde.frontends.d.source import ProgramSource
from sonde.frontends.d.stream import TokenStream


class ParsedProgram(NamedTuple):
    """The items in the order of the source; `used_arguments` are the numbers of the `$n` that it names."""

    items: tuple
    used_arguments: frozenset[int]


def parse_program(source, macros=NO_MACROS, is_type_name=no_type_names):
    """The whole program."""
    parser = Parser(source, macros, is_type_name)
    return ParsedProgram(tuple(parser.items()), parser.used_arguments)


def parse_type(text, is_type_name=no_type_names):
    """A type that is the whole text, as in a cast."""
    stream = TokenStream(Lexer(ProgramSource(text), NO_MACROS), is_type_name, constant)
    stream.advance()
    result = type_name(stream)
    stream.expect_last(END)
    return result
