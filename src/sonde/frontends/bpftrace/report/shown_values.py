"""What values of a program are shown as: made when the first record or map is shown, which many programs never do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from sonde.consume.options import Options
from sonde.frontends.bpftrace.report import json_objects, number_forms, objects
from sonde.frontends.bpftrace.report.maps import MapText
from sonde.frontends.bpftrace.report.records import Escapings, Formatter, compile_actions
from sonde.frontends.bpftrace.report.typed_values import LanguageTypes, value_text
from sonde.model.records import Action
from sonde.model.spec import TracingSpec
from sonde.report.escaping import Escaping, escaping_for, mappings
from sonde.report.piece import environment
from sonde.report.stack import Addresses
from sonde.report.symbolizer import Symbolizer
from sonde.typed import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from sonde.frontends.bpftrace.report.objects import ObjectText
    from sonde.frontends.bpftrace.series import Series


def _form(name: str, number: int) -> bytes:
    return number_forms.form_of_number(name, number)


def _buffer(form: str, data: bytes) -> bytes:
    return objects.buffer_text(data, form)


class Look(NamedTuple):
    """How values are shown: in objects, one a line, if `is_json`; for people at a terminal or not, which messages are
    for if `tells_terminal`. Strings of `longest` characters have been cut, and have `trailer` behind them.
    `is_recorded`: the program comes from outside, as its data do."""

    is_json: bool
    is_terminal: bool
    tells_terminal: bool
    longest: int
    trailer: bytes
    is_recorded: bool = False


class ShownValues:
    """Texts of records and maps."""

    def __init__(self, spec: TracingSpec, options: Options, symbolizer: Symbolizer, look: Look) -> None:
        self._spec = spec
        self._look = look
        self._symbolizer = symbolizer
        self._escapings = Escapings(
            escaping_for(look.is_terminal, options.rawbytes, look.is_recorded),
            escaping_for(look.tells_terminal, False, look.is_recorded),
        )
        self._objects: ObjectText | None = None
        self._formatters: dict[tuple[Any, ...], Formatter] = {}
        self.addresses = Addresses(symbolizer, options)
        self.addresses.suit(look.is_terminal and not look.is_json)
        # Objects escape by themselves what they quote.
        self.types = self._types(None if look.is_json else self._escapings.shown)
        self._environment: dict[str, Any] = {
            **environment(self.addresses), "typed": self._typed, "number_text": _form, "whole": self.types.whole,
            "object_text": self._object_text, "buffer_text": _buffer,
        }  # fmt: skip
        if look.is_json:
            self._environment |= self._json_lines()

    def _types(self, escaping: Escaping | None) -> LanguageTypes:
        """Types whose values are text from outside as it may be shown, or as it is."""
        escaped = mappings()[escaping.rows].__getitem__ if escaping is not None and escaping.rows else bytes
        return LanguageTypes(self._spec.types, self._object_text, self._look.longest, self._look.trailer, escaped)

    def _json_lines(self) -> dict[str, Callable[..., bytes]]:
        value = partial(json_objects.value_line, self.types)
        return {
            "text_line": json_objects.text_line,
            "shown_text_line": json_objects.shown_text_line,
            "value_line": value,
        }

    def formatter(self, actions: Sequence[Action], stride: int) -> Formatter:
        """What formats a run of records with these actions, `stride` bytes each."""
        identity = actions, stride
        found = self._formatters.get(identity)
        if found is None:
            found = self._formatters[identity] = compile_actions(
                actions, stride, self._spec.strings, self._escapings, self._environment, self._look.is_json,
                self._look.longest,
            )  # fmt: skip
        return found

    def _typed(self, number: int, data: bytes) -> bytes:
        return value_text(self.types, number, data)

    def _object_text(self, keyword: str, data: bytes) -> bytes:
        if self._objects is None:
            self._objects = objects.ObjectText(self.addresses, self._symbolizer)
        return self._objects.text(keyword, data)

    def maps(self, functions: Mapping[str, str], series: Mapping[str, Series]) -> MapText:
        """What shows maps; of the parameters see there."""
        return MapText(self.types, functions, series)

    def labels(self) -> MapText:
        """What shows keys in one line each, wherever the report goes to."""
        return MapText(self._types(escaping_for(False, False, False)), {}, {})
