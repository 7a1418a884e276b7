"""Statements that are carried out where the record is read: cat(), time(), warnf(), errorf()."""

from __future__ import annotations

from sonde.frontends.bpftrace.check.conversions import literal_text
from sonde.frontends.bpftrace.check.formats import formatted
from sonde.frontends.bpftrace.check.scope import BtScope
from sonde.frontends.bpftrace.check.value_call import Action
from sonde.frontends.bpftrace.errors import SourceSpan, spelled_place
from sonde.frontends.bpftrace.syntax import nodes
from sonde.model import program as tree
from sonde.model.conversions import Conversion
from sonde.model.program import Statement

_DAYTIME = "%H:%M:%S\n"


def cat(call: nodes.Call, scope: BtScope) -> Statement:
    """cat(format, ...): the content of a file."""
    pieces, values = formatted(call, scope)
    return tree.FormattedCommand(scope.at(call.at), call.name, pieces, values)


def time(call: nodes.Call, scope: BtScope) -> Statement:
    """time([format]): the time at which it is shown."""
    text = _DAYTIME
    if call.arguments:
        if len(call.arguments) > 1:
            raise scope.mistake(f"time() takes up to one argument ({len(call.arguments)} provided)", call.at)
        text = literal_text(call.arguments[0], scope, "time()", call.at).decode(errors="surrogateescape")
    return tree.FormattedCommand(scope.at(call.at), call.name, (Conversion(text),), ())


def complaint(call: nodes.Call, scope: BtScope) -> Statement:
    """warnf() and errorf(): a message with the call's place."""
    pieces, values = formatted(call, scope)
    kind = "WARNING" if call.name == "warnf" else "ERROR"
    place = f"{place_of(call.at, scope)}: {kind}: "
    first, *rest = pieces or (Conversion(""),)
    whole = (first._replace(text=place + first.text), *rest)
    return tree.FormattedCommand(scope.at(call.at), call.name, whole, values)


def place_of(span: SourceSpan, scope: BtScope) -> str:
    """How messages of running programs call a place."""
    return f"{scope.file or 'stdin'}:{spelled_place(span)}"


ACTIONS: dict[str, Action] = {"cat": cat, "time": time, "warnf": complaint, "errorf": complaint}
