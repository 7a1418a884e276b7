"""Records as text: for each layout one function, compiled from the formats and decoders of all its actions.

A run of records is formatted by a single list comprehension that unpacks each record and puts its values into one
bytes format: no Python call for a plain record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from sonde.consume.decode import RecordColumns, columns, compile_comprehension
from sonde.consume.generated import code, constant
from sonde.formats.bpf_ring import RING_HEADER
from sonde.frontends.d.report import printf
from sonde.frontends.d.report.trace import shown_field, trace_piece
from sonde.model.conversions import MOST_COLUMNS
from sonde.model.records import (
    CPU_AT,
    PROBE_AT,
    Action,
    CaptureAction,
    CommandAction,
    Field,
    PrintAction,
    PrintfAction,
    TraceAction,
    TracememAction,
)
from sonde.report.escaping import Escaping, escaping_for
from sonde.report.piece import FormatPiece, field_argument, formatting
from sonde.typed import Any, NamedTuple

Formatter = Callable[[memoryview], list[bytes]]

_AS_IT_IS = escaping_for(is_terminal=False, shows_raw=True, is_recorded=False)

HEADER_WORDS = ((RING_HEADER + PROBE_AT, code("probe")), (RING_HEADER + CPU_AT, code("cpu")))
"""Where a record has its probe and CPU, and what the header's expressions call them."""


class Style(NamedTuple):
    """What options decide about the text: `string_memory` is the bytes of a string that trace() shows as memory, 0
    where it shows characters."""

    quiet: bool
    string_memory: int
    escaping: Escaping


def _action_fields(action: Action, style: Style) -> tuple[Field, ...]:
    match action:
        case TraceAction(field):
            return (shown_field(field),)
        case CaptureAction():
            return (action.data,)
        case PrintAction(_, shown, address):
            return (shown,) if address is None else (shown, address)
        case TracememAction(field, dynamic):
            return (field._replace(kind="bytes"),) if dynamic is None else (field._replace(kind="bytes"), dynamic)
        case PrintfAction(_, fields) | CommandAction(_, _, fields):
            return fields
        case _:
            return ()


def _action_pieces(action: Action, layout: RecordColumns, style: Style) -> Iterable[FormatPiece]:
    sources = layout.expressions
    match action:
        case TraceAction(field):
            shown = shown_field(field)
            return (trace_piece(shown, sources[shown], style.escaping, style.quiet, style.string_memory),)
        case PrintAction(number, shown, address):
            where = constant(None) if address is None else sources[address]
            return (FormatPiece(b"%s", (code("typed({}, {}, {})", constant(number), sources[shown], where),)),)
        case CaptureAction():
            return (FormatPiece(b"%s", (code("dump({})", sources[action.data]),)),)
        case TracememAction(_, dynamic):
            memory = sources[_action_fields(action, style)[0]]
            if dynamic is None:
                return (FormatPiece(b"%s", (code("dump({})", memory),)),)
            return (FormatPiece(b"%s", (code("limited({}, {})", memory, sources[dynamic]),)),)
        case PrintfAction(conversions, fields) | CommandAction(_, conversions, fields):
            arguments = iter([field_argument(field, sources[field]) for field in fields])

            # What a command or a path is made of is not shown.
            escaping = style.escaping if isinstance(action, PrintfAction) else _AS_IT_IS
            return printf.printf_pieces(conversions, arguments, escaping)
        case _:
            return ()


def compile_actions(
    actions: Sequence[Action],
    stride: int,
    strings: Sequence[bytes],
    style: Style,
    environment: dict[str, Any],
    around: tuple[FormatPiece, FormatPiece] | None = None,
    sets_apart: bool = False,
) -> Formatter:
    """The function that formats these actions of records of `stride` bytes each; one bytes object a record.

    `around` is what stands before and behind the actions' text; its expressions may use `probe` and `cpu`.
    `sets_apart`: between what trace() shows and its neighbours there is a space.
    """
    fields = [field for action in actions for field in _action_fields(action, style)]
    layout = columns(fields, strings, RING_HEADER, stride, HEADER_WORDS if around else ())
    pieces = list(_pieces(actions, layout, style, sets_apart))
    if around:
        pieces = [around[0], *pieces, around[1]]
    return compile_comprehension(formatting(pieces), layout, stride, environment)


def widest(actions: Sequence[Action]) -> int:
    """Columns that the widths and precisions of a record's formats can ask for; at least 1."""
    formats = [each.conversions for each in actions if isinstance(each, PrintfAction)]
    sizes = [size for conversions in formats for each in conversions for size in (each.width, each.precision) if size]
    return sum(MOST_COLUMNS if isinstance(size, str) else abs(size) for size in sizes) or 1


def _pieces(actions: Sequence[Action], layout: RecordColumns, style: Style, sets_apart: bool) -> Iterator[FormatPiece]:
    for number, action in enumerate(actions):
        if sets_apart and number and any(isinstance(one, TraceAction) for one in actions[number - 1 : number + 1]):
            yield FormatPiece(b" ")
        yield from _action_pieces(action, layout, style)
