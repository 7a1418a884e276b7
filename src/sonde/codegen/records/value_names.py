"""What the source of a program calls the values that a captured packet has with it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from sonde.codegen.records.parts import Branching, Looping, Parts, Straight
from sonde.model import program as tree
from sonde.model.errors import Position
from sonde.model.spec import RecordLayout

Sources = Mapping["str | None", Sequence[str]]
"""The lines of each file."""

_CALL = re.compile(r"(?:trace|printf|print|tracemem)\s*\(")
_WHOLE = re.compile(r"\w+\s*\([^()]*\)")
_PIECE = re.compile(r"""\s+|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|.""", re.DOTALL)
_LONGEST = 40
"""Lines that the arguments of a call may be spread over."""


def named_layouts(parts: Parts, sources: Sources, all_named: bool = False) -> Iterator[RecordLayout]:
    """The layouts of a clause's records, in order; of all, or of those that end with a packet, with the names of its
    values."""
    for part in parts:
        if isinstance(part, Branching):
            yield from named_layouts(part.then, sources, all_named)
            yield from named_layouts(part.otherwise, sources, all_named)
        elif isinstance(part, Looping):
            yield from named_layouts(part.body, sources, all_named)
            yield from named_layouts(part.step, sources, all_named)
        elif isinstance(part, Straight) and part.record is not None:
            layout = part.record.layout
            is_named = all_named or part.record.packet is not None
            yield layout._replace(names=tuple(_names(part, sources))) if is_named else layout


def _names(part: Straight, sources: Sources) -> Iterator[str]:
    """One for each value before the packet, "" where the source does not say."""
    for statement in part.statements:
        if isinstance(statement, tree.Act) and statement.name in ("capture", "pcap"):
            return
        if isinstance(statement, (tree.Trace, tree.Print, tree.Tracemem)):
            yield next(arguments(statement.position, sources), "") or _whole(statement.position, sources)
        elif isinstance(statement, tree.Printf):
            found = [*arguments(statement.position, sources)][1:]
            wanted = len(statement.values)
            yield from found if len(found) == wanted else [""] * wanted


def _whole(position: Position, sources: Sources) -> str:
    """The call itself, as that of stack(), which records what it gives."""
    lines = sources.get(position.file, ())[position.line - 1 : position.line]
    found = _WHOLE.match(lines[0], position.column - 1) if lines and not position.line_directive else None
    return found[0] if found else ""


def arguments(position: Position, sources: Sources) -> Iterator[str]:
    """The arguments of the call of an action that records, as they are written, but for spaces."""
    lines = sources.get(position.file, ())[position.line - 1 : position.line - 1 + _LONGEST]
    text = "\n".join(lines)[position.column - 1 :]
    call = _CALL.match(text)
    if call is None or position.line_directive:
        return
    depth, argument = 1, ""
    for piece in _PIECE.findall(text, call.end()):
        depth += (piece in "([{") - (piece in ")]}")
        if not depth or (depth == 1 and piece == ","):
            yield argument.strip()
            argument = ""
        else:
            argument += " " if piece.isspace() else piece
        if not depth:
            return
