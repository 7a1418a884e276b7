"""Records as text: for each layout one function that formats a run of them at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from sonde.consume.decode import RecordColumns, columns, compile_comprehension
from sonde.consume.generated import GeneratedExpression, code, constant
from sonde.formats.bpf_ring import RING_HEADER
from sonde.frontends.bpftrace.report.printf import as_shown, printf_pieces
from sonde.model.records import LITERAL, Action, CommandAction, Field, PrintAction, PrintfAction
from sonde.report.escaping import Escaping, escaping_for
from sonde.report.piece import FormatPiece, field_argument, formatting
from sonde.typed import Any

Formatter = Callable[[memoryview], list[bytes]]

_AS_IT_IS = escaping_for(is_terminal=False, shows_raw=True, is_recorded=False)


def _fields(action: Action) -> tuple[Field, ...]:
    match action:
        case PrintAction(_, shown, _):
            return (shown,)
        case PrintfAction(conversions, fields) | CommandAction(_, conversions, fields):
            return as_shown(conversions, fields)
        case _:
            return ()


def _whole(field: Field, source: GeneratedExpression, longest: int) -> GeneratedExpression:
    """A string, with a mark behind one that may have been cut."""
    is_full = field.kind == "long_string" or (field.kind == "string" and field.size > longest)
    return code("whole({})", source) if longest and is_full and field.detail != LITERAL else source


def _pieces(action: Action, layout: RecordColumns, escaping: Escaping, longest: int) -> Iterable[FormatPiece]:
    sources = layout.expressions
    match action:
        case PrintAction(number, shown, _, label):
            line = b"%s\n" if not label else label.encode() + b": %s\n"
            if shown.kind in ("string", "long_string", "interned"):
                return (FormatPiece(line, (_whole(shown, sources[shown], longest),)),)
            return (FormatPiece(line, (code("typed({}, {})", constant(number), sources[shown]),)),)
        case PrintfAction(conversions, fields) | CommandAction(_, conversions, fields):
            arguments = iter(
                [field_argument(each, _whole(each, sources[each], longest)) for each in as_shown(conversions, fields)]
            )
            # What a command is made of is not shown.
            return printf_pieces(conversions, arguments, escaping if isinstance(action, PrintfAction) else _AS_IT_IS)
        case _:
            return ()


def _object(action: Action, layout: RecordColumns, longest: int) -> FormatPiece:
    """The same as a line of JSON."""
    if isinstance(action, PrintAction):
        shown, label = action.object, constant(action.label)
        if shown.kind in ("string", "long_string", "interned"):
            text = _whole(shown, layout.expressions[shown], longest)
            return FormatPiece(b"%s", (code("shown_text_line({}, {})", label, text),))
        value = code("value_line({}, {}, {})", label, constant(action.type), layout.expressions[shown])
        return FormatPiece(b"%s", (value,))
    text = formatting(_pieces(action, layout, _AS_IT_IS, longest))
    return FormatPiece(b"%s", (code("text_line('printf', {})", text),))


def compile_actions(
    actions: Sequence[Action],
    stride: int,
    strings: Sequence[bytes],
    escaping: Escaping,
    environment: dict[str, Any],
    is_json: bool,
    longest: int,
) -> Formatter:
    """The function that formats these actions of records of `stride` bytes each; one bytes object a record. Strings of
    `longest` characters have been cut."""
    layout = columns([field for action in actions for field in _fields(action)], strings, RING_HEADER, stride)
    if is_json and not any(isinstance(each, CommandAction) for each in actions):
        pieces = [
            _object(action, layout, longest)
            for action in actions
            if _fields(action) or isinstance(action, PrintfAction)
        ]
        return compile_comprehension(formatting(pieces), layout, stride, environment)
    pieces = [piece for action in actions for piece in _pieces(action, layout, escaping, longest)]
    return compile_comprehension(formatting(pieces), layout, stride, environment)
