"""flagstr() and memstr(): numbers and memory that are shown as text."""

from __future__ import annotations

from difflib import get_close_matches

from sonde.frontends.d.check.folding import constant_value
from sonde.frontends.d.check.scope import Scope
from sonde.frontends.d.errors import DError
from sonde.model.errors import Position
from sonde.model.program import Call, Const, Expr, StringConst
from sonde.model.readings import BUFFERS, ELEMENTS, MOST_ROOM, POINTERS, Reading
from sonde.model.types import LONG
from sonde.notation.forms import FORMS
from sonde.notation.numbers import names

_WITH_COUNT = (ELEMENTS, BUFFERS)


def of_number(call: Call) -> Call:
    """flagstr(table, number). Raises DError."""
    _name("flagstr", call.arguments[0], names(), "table", call.position)
    return call


def of_memory(call: Call, scope: Scope) -> Call:
    """memstr(form, address [, count [, most]]), its arguments as `codegen/expressions/notations.py` wants them: the
    form with its sizes, the address, the count, the limit in bytes, how the memory is read. Raises DError."""
    form, address, *rest = call.arguments
    name = _name("memstr", form, list(FORMS), "form", call.position)
    reading = FORMS[name].reading
    if name == "path":
        reading = reading._replace(most=scope.strsize)
    count: Expr = rest[0] if rest else _number(1 if reading.kind in _WITH_COUNT else 0, call)
    limit: Expr = _number((1 << 63) - 1, call)
    if len(rest) > 1 and reading.kind == BUFFERS:
        limit = rest[1]
    elif len(rest) > 1:
        reading = _wanted(reading, name, rest[1])
    detail = StringConst(form.type, form.position, f"{name} {reading.detail}".encode())
    kind = StringConst(form.type, form.position, reading.kind.encode())
    return Call(call.type, call.position, call.name, (detail, address, count, limit, kind))


def _name(function: str, argument: Expr, known: list[str], what: str, position: Position) -> str:
    """The constant name. Raises DError with those that are like it."""
    if not isinstance(argument, StringConst):
        raise DError("D_PROTO_ARG", f"{function}( ) argument #1 must be a string constant: the {what}'s name", position)
    name = argument.value.decode(errors="replace")
    if name not in known:
        like = get_close_matches(name, known, 3, 0.5) or known
        text = f'{function}( ) argument #1 is no {what}: "{name}"; there are {", ".join(like)}'
        raise DError("D_PROTO_ARG", text, position)
    return name


def _wanted(reading: Reading, name: str, argument: Expr) -> Reading:
    """With as many characters of each string, or elements, as the program wants to see. Raises DError."""
    most = constant_value(argument)
    if most is None or most < 1:
        text = "memstr( ) argument #4 must be a positive integer constant: how much is shown"
        raise DError("D_PROTO_ARG", text, argument.position)
    changed = reading._replace(size=most) if reading.kind == POINTERS else reading._replace(most=most)
    if changed.room > MOST_ROOM:
        text = f"memstr( ) argument #4: {most} of the form {name} take more than {MOST_ROOM} bytes of a record"
        raise DError("D_PROTO_ARG", text, argument.position)
    return changed


def _number(value: int, call: Call) -> Const:
    return Const(LONG, call.position, value)
