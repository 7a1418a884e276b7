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
_PIECE = re.compile(r"""\s+|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|.""", re.DOTALL)
_LONGEST = 40
"""Lines that the arguments of a call may be spread over."""


def named_layouts(parts: Parts, sources: Sources) -> Iterator[RecordLayout]:
    """The layouts of a clause's records, in order; of those that end with a packet with the names of its values."""
    for part in parts:
        if isinstance(part, Branching):
            yield from named_layouts(part.then, sources)
            yield from named_layouts(part.otherwise, sources)
        elif isinstance(part, Looping):
            yield from named_layouts(part.body, sources)
            yield from named_layouts(part.step, sources)
        elif isinstance(part, Straight) and part.record is not None:
            layout = part.record.layout
            yield layout if part.record.packet is None else layout._replace(names=tuple(_names(part, sources)))


def _names(part: Straight, sources: Sources) -> Iterator[str]:
    """One for each value before the packet, "" where the source does not say."""
    for statement in part.statements:
        if isinstance(statement, tree.Act) and statement.name in ("capture", "pcap"):
            return
        if isinstance(statement, (tree.Trace, tree.Print, tree.Tracemem)):
            yield next(arguments(statement.position, sources), "")
        elif isinstance(statement, tree.Printf):
            found = [*arguments(statement.position, sources)][1:]
            wanted = len(statement.values)
            yield from found if len(found) == wanted else [""] * wanted


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
