"""`vtimestamp`: the CPU time of the current thread, which a hidden clause adds up whenever a CPU changes threads.

An engine that can tell it at any moment is asked for it where the program wants it."""

from __future__ import annotations

from sonde.frontends.d.check.derived import evaluate
from sonde.frontends.d.check.scope import Scope
from sonde.model.errors import Position
from sonde.model.program import Call, Expr
from sonde.model.types import BUILTIN_TYPEDEFS

_RECORDED, _PLAIN = "cpu", "curthread->thread_info.cpu"
"""The CPU: of the D library, as recordings have it; without the library by the kernel's structures."""

_SINCE = "(__since[CPU] ? __since[CPU] : __begin)"
"""When the CPU took up the current thread, or when tracing began if it has had it since before."""

_ACCOUNT = f"""
self uint64_t __cpu_time;
uint64_t __since[unsigned int];
uint64_t __begin;
BEGIN {{ __begin = timestamp; }}
rawtp:sched::sched_switch
{{
    self->__cpu_time += timestamp - {_SINCE};
    __since[CPU] = timestamp;
}}
"""


def cpu_time(scope: Scope, position: Position) -> Expr:
    """ns that the current thread has run while the program traced."""
    if scope.catalog.offers("helper", "cpu_time"):
        return Call(BUILTIN_TYPEDEFS["uint64_t"], position, "__cpu_time", ())
    cpu = _RECORDED if scope.find_inline(_RECORDED) else _PLAIN
    scope.require(_ACCOUNT.replace("CPU", cpu))
    return evaluate(f"self->__cpu_time + (timestamp - {_SINCE})".replace("CPU", cpu), None, scope, position)
