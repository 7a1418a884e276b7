"""The C definitions of a program, read as a whole."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.frontends.bpftrace.check.definitions.declarations import Declarations
from sonde.frontends.bpftrace.check.definitions.preprocessor import Headers, Preprocessor
from sonde.frontends.bpftrace.check.definitions.tokens import PROGRAM, CTextError, CToken, DefinitionError
from sonde.frontends.bpftrace.check.known_types import KnownTypes
from sonde.frontends.bpftrace.errors import SourceSpan
from sonde.frontends.bpftrace.syntax.nodes import CDefinition

_FIRST_LINE = 2
"""The line that the first definition is in, as bpftrace counts, which has an #include before it."""

_PREDEFINED = {
    "__STDC__": "1", "__STDC_VERSION__": "201710L", "__GNUC__": "4", "__GNUC_MINOR__": "2", "__linux__": "1",
    "__LP64__": "1", "_LP64": "1", "__CHAR_BIT__": "8", "__SIZEOF_LONG__": "8", "__SIZEOF_INT__": "4",
    "__SIZEOF_POINTER__": "8", "__INT_MAX__": "2147483647", "__LONG_MAX__": "9223372036854775807L",
    "__SIZE_TYPE__": "unsigned long", "__PTRDIFF_TYPE__": "long", "__WCHAR_TYPE__": "int",
    "__ORDER_LITTLE_ENDIAN__": "1234", "__ORDER_BIG_ENDIAN__": "4321", "__BYTE_ORDER__": "1234",
}  # fmt: skip
"""Macros of compilers that headers look at (GCC manual, 3.7.2), for 64 bits and little-endian numbers."""
_WITH_BTF = {"BPFTRACE_HAVE_BTF": "1", "_LINUX_TYPES_H": "1"}
"""The kernel's basic types are known then, so its headers are not to define them."""


def read_definitions(
    definitions: Sequence[CDefinition], headers: Headers, included: Sequence[str], machine: str, known: KnownTypes
) -> None:
    """Make known what they define; `included` are files of the command line, `machine` is the processor as uname(2)
    names it. Raises DefinitionError."""
    has_btf = known.catalog.tagged_type("struct", "task_struct") is not None
    predefined = _PREDEFINED | {f"__{machine}__": "1"} | (_WITH_BTF if has_btf else {})

    def included_file(name: str, is_quoted: bool, includer: str) -> tuple[str, str] | None:
        known.has_headers = True
        return headers(name, is_quoted, includer)

    preprocessor = Preprocessor(included_file, predefined)
    try:
        for name in included:
            preprocessor.include(name)
        preprocessor.read("\n".join(each.text for each in definitions), PROGRAM, _FIRST_LINE)
        Declarations(preprocessor.found, known).read()
    except CTextError as error:
        raise _mistake(error, definitions) from None

    def macro(name: str) -> str | None:
        found = preprocessor.expansion.macros.get(name)
        if found is None or found.parameters is not None or name in predefined or not found.body:
            return None
        # As its name in a text is: where it stands in its own body again it stays (6.10.3.4).
        named = CToken("name", name, found.body[0].file, found.body[0].line, found.body[0].column)
        try:
            return " ".join(each.text for each in preprocessor.expansion.expanded([named]))
        except CTextError as error:
            raise _mistake(error, definitions) from None

    known.macro = macro


def _mistake(error: CTextError, definitions: Sequence[CDefinition]) -> DefinitionError:
    return DefinitionError(error.kind, error.text, error.token, _span(definitions, error.token))


def _span(definitions: Sequence[CDefinition], token: CToken) -> SourceSpan:
    """Where in the program a token is, or what has included it, as far as that is known."""
    if not definitions:
        return SourceSpan(1, 1, 1, 2)
    line = _FIRST_LINE
    for each in definitions:
        count = each.text.count("\n") + 1
        if token.file == PROGRAM and line <= token.line < line + count:
            behind = token.line - line
            column = token.column + (each.at.column - 1 if not behind else 0)
            return SourceSpan(each.at.line + behind, column, each.at.line + behind, column + max(len(token.text), 1))
        line += count
    return definitions[0].at
