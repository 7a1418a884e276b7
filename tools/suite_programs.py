"""What a test of DTrace's suite asks for: the D programs in it, what they name, and how it runs them.

Programs are read by sonde's own parser as far as it understands them (tests of syntax errors are not D all the way, and
those for the preprocessor only behind it); the rest of their text is searched for words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from sonde.frontends.d import syntax
from sonde.frontends.d.parser import Parser
from sonde.frontends.d.source import Macros, ProgramSource, command_line_source
from sonde.model.errors import SourceError

MACROS = Macros(arguments=("test", *["1"] * 9), defaultargs=True)


class Names(NamedTuple):
    """What a program names: fields of probe descriptions, identifiers, called functions, structures and types that it
    does not declare itself, and names with a backquote that are not its own."""

    probes: frozenset[tuple[str, str, str, str]] = frozenset()
    identifiers: frozenset[str] = frozenset()
    functions: frozenset[str] = frozenset()
    types: frozenset[str] = frozenset()
    symbols: frozenset[str] = frozenset()

    def __or__(self, other: Names) -> Names:  # type: ignore[override]
        return Names(*(mine | theirs for mine, theirs in zip(self, other, strict=True)))


_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_SHELL_COMMENT = re.compile(r"^\s*#(?!pragma|!).*$", re.MULTILINE)
_HERE = re.compile(
    r"^(?P<command>(?:.*\\\n)*.*?)<<-?\s*(?P<quote>['\"\\]?)(?P<end>\w+)['\"]?.*\n(?P<text>(?:.*\n)*?)\s*(?P=end)\s*$",
    re.MULTILINE,
)
_FOR_DTRACE = re.compile(r"dtrace|\.d\b")
_ARGUMENT = re.compile(
    r"""(?:^|\s)-[a-zA-Z]*([nPmf])\s*('[^']*'|"(?:[^"\\]|\\.)*"|[^\s'"]+)""",
    re.MULTILINE,
)
_KINDS = {"n": "name", "P": "provider", "m": "module", "f": "function"}
_DESCRIPTION = re.compile(
    r"(?:^|[,;}])\s*([a-zA-Z*?][-\w*?$]*(?::[-\w*?.`$]*){1,3}|BEGIN|END|ERROR|(?:tick|profile)-\w+)", re.MULTILINE
)
_TAG = re.compile(r"\b(?:struct|union|enum)\s+(\w+)(\s*\{)?")
_SYMBOL = re.compile(r"(\w*)`(\w+)")
_WORD = re.compile(r"\w+")
_TYPE_WORD = re.compile(r"\w+_t")


def programs(name: str, text: str) -> list[ProgramSource]:
    """The D programs in a test: its whole text, or those that a shell script gives to the command."""
    if not name.endswith(".sh"):
        return [ProgramSource(text)]
    found = [
        ProgramSource(_unescaped(match["text"], match["quote"]))
        for match in _HERE.finditer(text)
        if _FOR_DTRACE.search(match["command"])
    ]
    rest = _HERE.sub(lambda match: match["command"], text)
    for match in _ARGUMENT.finditer(_SHELL_COMMENT.sub("", rest)):
        given = match[2]
        words = _unescaped(given.strip("'\""), "'" if given.startswith("'") else "")
        found.append(command_line_source(words, _KINDS[match[1]]))
    return found


def _unescaped(text: str, quote: str) -> str:
    """What the shell makes of a text: without quotes a backslash goes before `$` and quotes."""
    return text if quote else re.sub(r'\\([$`"\\])', r"\1", text)


def names_of(source: ProgramSource) -> Names:
    """What one program names."""
    # The first line may be for the shell.
    text = re.sub(r"\A#!.*", "", source.text)
    parser = Parser(source._replace(text=text), MACROS, lambda name: _TYPE_WORD.fullmatch(name) is not None)
    items: list[syntax.Item] = []
    try:
        items.extend(parser.items())
        return _of_items(items)
    except (SourceError, RecursionError):
        return _of_items(items) | _of_text(text)


def _nodes(value: object) -> Iterator[object]:
    """A tree's nodes, the outer before the inner."""
    pending = [value]
    while pending:
        node = pending.pop()
        if isinstance(node, tuple | list):
            if hasattr(node, "_fields"):
                yield node
            pending.extend(node)


def _of_items(items: list[syntax.Item]) -> Names:
    nodes = list(_nodes(items))
    declared = {node.tag for node in nodes if isinstance(node, syntax.StructSpecifier) and node.members is not None}
    declared |= {node.tag for node in nodes if isinstance(node, syntax.EnumSpecifier) and node.enumerators is not None}
    declared |= {
        declarator.name
        for node in nodes
        if isinstance(node, syntax.Declaration) and any(word.text == "typedef" for word in node.specifiers.storage)
        for declarator in node.declarators
    }
    used = {
        node.name if isinstance(node, syntax.TypedefName) else node.tag
        for node in nodes
        if isinstance(node, syntax.TypedefName | syntax.StructSpecifier | syntax.EnumSpecifier)
    }
    identifiers = [node for node in nodes if isinstance(node, syntax.Identifier)]
    return Names(
        frozenset(node.fields for node in nodes if isinstance(node, syntax.ProbeDescription)),
        frozenset(node.name for node in identifiers if node.module is None),
        frozenset(
            node.function.name
            for node in nodes
            if isinstance(node, syntax.Call) and isinstance(node.function, syntax.Identifier)
        ),
        frozenset(used - declared - {""}),
        frozenset(f"{node.module}`{node.name}" for node in identifiers if node.module not in (None, "C", "D")),
    )


def _of_text(text: str) -> Names:
    bare = _STRING.sub('""', _COMMENT.sub(" ", text))
    found = {match[1] for match in _DESCRIPTION.finditer(bare)}
    tags = [(match[1], bool(match[2])) for match in _TAG.finditer(bare)]
    words = frozenset(_WORD.findall(bare))
    return Names(
        frozenset(_fields(each) for each in found),
        words,
        frozenset(re.findall(r"(\w+)\s*\(", bare)),
        frozenset(tag for tag, _ in tags) - {tag for tag, declared in tags if declared},
        frozenset(match[0] for match in _SYMBOL.finditer(bare) if match[1] not in ("C", "D")),
    )


def _fields(description: str) -> tuple[str, str, str, str]:
    parts = description.split(":")
    provider, module, function, name = [""] * (4 - len(parts)) + parts
    return provider, module, function, name
