"""What the source of a program calls the values that a captured packet has with it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from sonde.codegen.records.parts import Parts, Straight, straight
from sonde.model import program as tree
from sonde.model.errors import Position
from sonde.model.records import AggregationSpec, ArraySpec, RecordLayout
from sonde.model.walk import nodes

Sources = Mapping["str | None", Sequence[str]]
"""The lines of each file."""

_CALL = re.compile(r"(?:trace|printf|print|tracemem)\s*\(")
_KEY = re.compile(r"@\w*\s*\[")
_WHOLE = re.compile(r"\w+\s*\([^()]*\)")
_PIECE = re.compile(r"""\s+|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|.""", re.DOTALL)
_LONGEST = 40
"""Lines that the arguments of a call may be spread over."""


def named_layouts(parts: Parts, sources: Sources, all_named: bool = False) -> Iterator[RecordLayout]:
    """The layouts of a clause's records, in order; of all, or of those that end with a packet, with the names of its
    values."""
    for part in straight(parts):
        if part.record is not None:
            layout = part.record.layout
            is_named = all_named or part.record.packet is not None
            yield layout._replace(names=tuple(_names(part, sources))) if is_named else layout


def _names(part: Straight, sources: Sources) -> Iterator[str]:
    """One for each value before the packet, "" where the source does not say."""
    for statement in part.statements:
        if isinstance(statement, tree.Act) and statement.name in ("capture", "pcap"):
            return
        if isinstance(statement, (tree.Trace, tree.Print, tree.Tracemem, tree.Printf)) and statement.names:
            yield from statement.names
        elif isinstance(statement, (tree.Trace, tree.Print, tree.Tracemem)):
            yield next(arguments(statement.position, sources), "") or _whole(statement.position, sources)
        elif isinstance(statement, tree.Printf):
            found, wanted = [*arguments(statement.position, sources)], len(statement.values)
            # trace() of a floating-point number is a printf() without a format.
            yield from found[len(found) - wanted :] if len(found) in (wanted, wanted + 1) else [""] * wanted


def _whole(position: Position, sources: Sources) -> str:
    """The call itself, as that of stack(), which records what it gives."""
    lines = sources.get(position.file, ())[position.line - 1 : position.line]
    found = _WHOLE.match(lines[0], position.column - 1) if lines and not position.line_directive else None
    return found[0] if found else ""


def named_keys(
    aggregations: Sequence[tree.Aggregation], specs: Sequence[AggregationSpec], clauses: Iterable[tree.Clause],
    sources: Sources,
) -> tuple[AggregationSpec, ...]:  # fmt: skip
    """The same with the names of the parts of their keys, where each is first counted in."""
    found: dict[tree.Aggregation, tuple[str, ...]] = {}
    for clause in clauses:
        for node in nodes(clause):
            if isinstance(node, tree.Aggregate) and node.aggregation not in found:
                names = node.names or tuple(_keys(node.position, sources))
                found[node.aggregation] = names if len(names) == len(node.keys) else ()
    return tuple(spec._replace(key_names=found.get(each, ())) for each, spec in zip(aggregations, specs, strict=True))


def named_elements(specs: Sequence[ArraySpec], sources: Sources) -> tuple[ArraySpec, ...]:
    """Arrays with the names of the parts of their keys, where the source first has an element of each."""
    return tuple(spec._replace(key_names=_of_element(spec, sources)) if spec.keys else spec for spec in specs)


def _of_element(spec: ArraySpec, sources: Sources) -> tuple[str, ...]:
    element = re.compile(rf"@{re.escape(spec.name.removeprefix('_') if spec.name == '_' else spec.name)}\s*\[")
    for lines in sources.values():
        text = "\n".join(lines)
        found = element.search(text)
        if found is not None:
            names = tuple(_apart(text[found.start() :], element))
            return names if len(names) == len(spec.keys) else ()
    return ()


def _keys(position: Position, sources: Sources) -> Iterator[str]:
    """The parts of the key before the aggregating function at that place."""
    lines = sources.get(position.file, ())[max(position.line - _LONGEST, 0) : position.line]
    if lines and not position.line_directive:
        before = "\n".join([*lines[:-1], lines[-1][: position.column - 1]])
        yield from _apart(before[max(before.rfind("@"), 0) :], _KEY)


def arguments(position: Position, sources: Sources) -> Iterator[str]:
    """The arguments of the call of an action that records, as they are written, but for spaces."""
    lines = sources.get(position.file, ())[position.line - 1 : position.line - 1 + _LONGEST]
    if not position.line_directive:
        yield from _apart("\n".join(lines)[position.column - 1 :], _CALL)


def _apart(text: str, begin: re.Pattern[str]) -> Iterator[str]:
    """What stands between commas behind `begin`, up to the bracket that closes it."""
    call = begin.match(text)
    if call is None:
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
