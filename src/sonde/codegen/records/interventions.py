"""inject() and delay(): calls of helpers of the embedded engine, which act on the thread that fires."""

from __future__ import annotations

from sonde.codegen.basis.faults import ILLEGAL_OPERATION, fault_if
from sonde.codegen.basis.generation import Generation
from sonde.codegen.intermediate.ir import Imm
from sonde.model import program as tree
from sonde.model.errors import UNSUPPORTED, SourceError
from sonde.model.probe import Syscall


def act(g: Generation, s: tree.Act) -> None:
    """A thread that cannot be acted on, since it is not held, is a fault. Raises SourceError."""
    if s.name == "delay":
        result = g.call("delay_task", g.value(s.arguments[0]))
    else:
        assert g.clause is not None
        for probe in g.clause.probes:
            if not isinstance(probe.firing, Syscall):
                text = f"inject() gives a system call another result, and {probe} is none"
                raise SourceError(
                    UNSUPPORTED, text, s.position, "use it at entries and returns of the provider syscall"
                )
        _, *value = map(g.value, s.arguments)
        result = g.call("inject_result", value[0] if value else g.b.negate(g.value(s.arguments[0])))
    fault_if(g, "ne", result, Imm(0), ILLEGAL_OPERATION, Imm(0))
