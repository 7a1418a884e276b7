"""inject() and delay(): what becomes of the system call of the thread that fires a probe, and when it goes on."""

from __future__ import annotations

from sonde.frontends.d.check.conversions import convert
from sonde.frontends.d.check.folding import constant_value
from sonde.frontends.d.check.operands import ActionCall, value_of
from sonde.frontends.d.check.scope import Scope
from sonde.frontends.d.errors import DError
from sonde.model.program import Act
from sonde.model.types import LONG, ULONG
from sonde.model.units import SECOND
from sonde.notation.numbers import LARGEST_ERRNO

_HELPERS = {"inject": "inject_result", "delay": "delay_task"}
_LONGEST = 3600 * SECOND


def intervention(call: ActionCall, scope: Scope) -> Act:
    """The statement; of inject() with the errno, then the value if there is one. Raises DError."""
    if not scope.catalog.offers("helper", _HELPERS[call.name]):
        text = f"{call.name}( ) acts on threads that sonde holds, which the kernel engine does not do"
        raise DError("D_UNAVAIL", text, call.position, "run it with --engine embedded, and -c or -p")
    values = [value_of(argument) for argument in call.arguments]
    first = constant_value(values[0])
    if call.name == "delay":
        if first is not None and not 0 <= first <= _LONGEST:
            raise DError("D_PROTO_ARG", "delay( ) argument #1 must be ns, an hour of them at most", call.position)
        return Act(call.position, "delay", (convert(values[0], ULONG),))
    if len(values) == 1 and first is not None and not 0 < first <= LARGEST_ERRNO:
        text = f"inject( ) argument #1 must be an error number from 1 to {LARGEST_ERRNO}; inject(0, n) has n returned"
        raise DError("D_PROTO_ARG", text, call.position)
    if len(values) == 2 and first != 0:
        raise DError("D_PROTO_ARG", "inject( ) argument #1 must be 0 where a value is given", call.position)
    return Act(call.position, "inject", tuple(convert(each, LONG) for each in values))
