"""Elements that are not there when they are asked for, told where the option -k wants that."""

from __future__ import annotations

from sonde.frontends.bpftrace.check.scope import BtScope
from sonde.frontends.bpftrace.errors import SourceSpan, placed
from sonde.model import program as tree
from sonde.model.conversions import Conversion
from sonde.model.types import BOOL, INT

COMMAND = "helper_error"
"""The name of the record that tells of one."""

LOOKUP, DELETE = ("lookup", "map_lookup_elem"), ("delete", "map_delete_elem")
"""What is done with an element, and what bpftrace calls the kernel's function for it."""


def told(element: tree.Element, what: tuple[str, str], span: SourceSpan, scope: BtScope) -> None:
    """Before the statement that uses an element: say so if there is none."""
    if scope.source is None or not scope.before or not element.keys:
        return
    verb, helper = what
    code = 0 if what == LOOKUP else -_NO_ENTRY
    text = f"Can't {verb} map element because it does not exist.\nAdditional Info - helper: {helper}, retcode: {code}"
    at = scope.at(span)
    whole = placed("WARNING", text, span, scope.source)
    said = tree.FormattedCommand(at, COMMAND, (Conversion(whole),), ())
    is_there = tree.Holds(BOOL, at, element)
    scope.before[-1].append(tree.If(at, tree.Unary(INT, at, "!", is_there), (said,), ()))


_NO_ENTRY = 2
