"""Records as text: for each layout one function that formats a run of them at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from sonde.consume.decode import RecordColumns, columns, compile_comprehension
from sonde.consume.generated import GeneratedExpression, code, constant
from sonde.formats.bpf_ring import RING_HEADER
from sonde.frontends.bpftrace.report.printf import as_shown, printf_pieces
from sonde.model.records import LITERAL, Action, CommandAction, Field, PrintAction, PrintfAction
from sonde.report.escaping import Escaping, escaped_by, escaping_for, mappings
from sonde.report.piece import FormatPiece, field_argument, formatting
from sonde.typed import Any, NamedTuple

Formatter = Callable[[memoryview], list[bytes]]

_AS_IT_IS = escaping_for(is_terminal=False, shows_raw=True, is_recorded=False)
_TOLD = ("errorf", "warnf")
"""Commands whose texts are messages."""


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


class Escapings(NamedTuple):
    """How text from outside is escaped: where it is `shown`, and in messages that are `told`."""

    shown: Escaping
    told: Escaping

    def of(self, action: Action) -> Escaping:
        """For a format."""
        if isinstance(action, PrintfAction):
            return self.shown
        # What a command is made of is not shown, but what it says is: a message or, of join(), a row.
        name = action.name if isinstance(action, CommandAction) else ""
        row = self.told.rows if name in _TOLD else self.shown.rows if name == "join" else ""
        return _AS_IT_IS._replace(values=row)


_UNESCAPED = Escapings(_AS_IT_IS, _AS_IT_IS)


def _pieces(action: Action, layout: RecordColumns, escapings: Escapings, longest: int) -> Iterable[FormatPiece]:
    sources = layout.expressions
    match action:
        case PrintAction(number, shown, _, label):
            name = _name(label, escapings.shown.rows) if label else FormatPiece(b"")
            if shown.kind in ("string", "long_string", "interned"):
                mapping = escapings.shown.program if shown.detail == LITERAL else escapings.shown.rows
                source = escaped_by(mapping, _whole(shown, sources[shown], longest))
            else:
                source = code("typed({}, {})", constant(number), sources[shown])
            return (name, FormatPiece(b"%s\n", (source,)))
        case PrintfAction(conversions, fields) | CommandAction(_, conversions, fields):
            arguments = iter(
                [field_argument(each, _whole(each, sources[each], longest)) for each in as_shown(conversions, fields)]
            )
            return printf_pieces(conversions, arguments, escapings.of(action))
        case _:
            return ()


def _name(label: str, mapping: str) -> FormatPiece:
    """What a map is called, before its value."""
    name = label.encode(errors="surrogateescape")
    shown = mappings()[mapping][name] if mapping else name
    return FormatPiece(shown.replace(b"%", b"%%") + b": ")


def _object(action: Action, layout: RecordColumns, longest: int) -> FormatPiece:
    """The same as a line of JSON."""
    if isinstance(action, PrintAction):
        shown, label = action.object, constant(action.label)
        if shown.kind in ("string", "long_string", "interned"):
            text = _whole(shown, layout.expressions[shown], longest)
            return FormatPiece(b"%s", (code("shown_text_line({}, {})", label, text),))
        value = code("value_line({}, {}, {})", label, constant(action.type), layout.expressions[shown])
        return FormatPiece(b"%s", (value,))
    text = formatting(_pieces(action, layout, _UNESCAPED, longest))
    return FormatPiece(b"%s", (code("text_line('printf', {})", text),))


def compile_actions(
    actions: Sequence[Action],
    stride: int,
    strings: Sequence[bytes],
    escapings: Escapings,
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
    used = _UNESCAPED if is_json else escapings
    pieces = [piece for action in actions for piece in _pieces(action, layout, used, longest)]
    return compile_comprehension(formatting(pieces), layout, stride, environment)
