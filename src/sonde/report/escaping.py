"""Which text the report escapes: what comes from outside, by where it is shown (docs/reference.md, "What is escaped").

Names of mappings that compiled formatters have: `text[...]`, or nothing where text is shown as it is.
"""

from __future__ import annotations

from sonde.consume.generated import GeneratedExpression, code
from sonde.typed import NamedTuple
from sonde.visible import Remembered, single_line_bytes, visible_bytes, visible_lines_bytes

_VISIBLE, _LINES, _ROW = "visible", "visible_lines", "single_line"
_NAMED = {_VISIBLE: code("visible"), _LINES: code("visible_lines"), _ROW: code("single_line")}


class Escaping(NamedTuple):
    """What to do to `values` where the program's own formats show them, to values in `rows` whose form is the report's,
    to the `program`'s own text, and to `names` of probes, addresses and threads."""

    values: str
    rows: str
    program: str
    names: str


def escaping_for(is_terminal: bool, shows_raw: bool, is_recorded: bool) -> Escaping:
    """For the output of a report. The program of a recording comes from outside like its data: it keeps its lines."""
    if shows_raw:
        return Escaping("", "", "", _VISIBLE if is_terminal else _ROW)
    if is_terminal:
        return Escaping(_VISIBLE, _VISIBLE, _LINES if is_recorded else "", _VISIBLE)
    return Escaping("", _ROW, "", _ROW)


def escaped_by(mapping: str, source: GeneratedExpression) -> GeneratedExpression:
    """The expression for what `mapping` makes of the bytes that `source` gives."""
    return code("{}[{}]", _NAMED[mapping], source) if mapping else source


def keeping_lines(mapping: str) -> str:
    """The mapping for text in a form of the report's own, of one or more lines, where `mapping` is that of values."""
    return _LINES if mapping == _VISIBLE else ""


def mapping_named(mapping: str) -> GeneratedExpression:
    """The expression of the mapping itself, None if there is none."""
    return _NAMED[mapping] if mapping else code("None")


def mappings() -> dict[str, Remembered]:
    """The mappings by their names."""
    return {
        _VISIBLE: Remembered(visible_bytes),
        _LINES: Remembered(visible_lines_bytes),
        _ROW: Remembered(single_line_bytes),
    }
