"""The text report of a program: each language has its own layouts."""

from __future__ import annotations

from importlib import import_module

from sonde.formats import damage
from sonde.frontends.languages import LAYOUTS
from sonde.report.output import Showing
from sonde.typed import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from sonde.consume.options import Options
    from sonde.consume.sink import Report
    from sonde.model.spec import TracingSpec


class TextLayouts(Protocol):
    """A module that shows programs of a language as text."""

    @staticmethod
    def text_report(spec: TracingSpec, options: Options, showing: Showing) -> Report:
        """The report. Raises DamagedError where the spec has what no program of the language has."""


def text_report(spec: TracingSpec, options: Options, showing: Showing) -> Report:
    """The report in the layouts of the program's language. Raises DamagedError where there is no such language."""
    if spec.language not in LAYOUTS:
        raise damage.DamagedError(f"it is of a language that this sonde does not know: {spec.language[:40]!r}")
    layouts: TextLayouts = import_module(LAYOUTS[spec.language])  # type: ignore[assignment]
    return layouts.text_report(spec, options, showing)
