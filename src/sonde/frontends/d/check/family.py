"""`progenyof($target)`: the process of -c or -p and all that descend from it, however long their parents have ended.

Who starts a thread hands on whether it belongs to the family, so it need not be found out from ancestors, which
processes lose when their parents end. Those that were there before are told by whoever runs the program.
"""

from __future__ import annotations

from sonde.frontends.d.check.folding import constant_value
from sonde.frontends.d.check.scope import Scope
from sonde.model.errors import Position
from sonde.model.program import Binary, Builtin, Call, Const, Expr, Unary
from sonde.model.types import INT

_HAND_ON = """
rawtp:sched::sched_process_fork
/pid == $target || __in_family()/
{
    __adopt(args[1]);
}
"""
"""It fires before the new thread runs, for processes and for further threads of one."""


def progeny(call: Call, scope: Scope, position: Position) -> Expr:
    """What stands for a call of progenyof(). Every process descends from process 0, which `$target` is without -c and
    -p; of other processes than `$target` only the ancestors are known that they have at the time."""
    wanted = call.arguments[0]
    number = constant_value(wanted)
    if number == 0:
        return Const(INT, position, 1)
    if _is_late(wanted):
        # Compiled to be run elsewhere: there may be no process then.
        nobody = Unary(INT, position, "!", wanted)
        return Binary(INT, position, "||", nobody, _in_family(wanted, scope, position))
    if number is not None and number == scope.options.process:
        return _in_family(wanted, scope, position)
    return call


def _is_late(e: Expr) -> bool:
    return isinstance(e, Builtin) and e.name == "$target"


def _in_family(process: Expr, scope: Scope, position: Position) -> Expr:
    scope.require(_HAND_ON)
    is_target = Binary(INT, position, "==", Builtin(process.type, position, "pid"), process)
    return Binary(INT, position, "||", is_target, Call(INT, position, "__in_family", ()))
