"""By which of the kernel's ways a program is attached to functions of the kernel.

A few functions get a program each, by fentry or fexit, which cost least when they fire but take tens of milliseconds
each to be detached; they have no registers, so clauses with variables that registers lead to get kprobes. Many are
attached to in one link where the kernel has kprobe_multi. Whatever neither takes gets kprobes, one by one.
"""

from __future__ import annotations

from collections.abc import Sequence

from sonde.arch import convention
from sonde.codegen.basis.generation import Context
from sonde.codegen.basis.uses import locates, typed_arguments
from sonde.codegen.firings.function import FunctionContext, KprobeContext, Signature
from sonde.model.probe import KernelFunction, Probe
from sonde.model.program import Clause
from sonde.model.target import Target

FEW = 4
"""So many functions with the same clauses get a program each."""


def contexts(probes: Sequence[Probe], clauses: Sequence[Clause], signature: Signature, target: Target) -> list[Context]:
    """A context for each program that is needed, in the order of the probes."""
    found: list[Context] = []
    rest: dict[tuple[convention.ParameterPlace, ...], list[Probe]] = {}
    typed = typed_arguments(clauses)
    direct = by_entry(probes) if "fentry" in target.features and not locates(clauses) else ()
    for probe in probes:
        kind = signature(probe) if typed or probe in direct else None
        is_refused = isinstance(probe.firing, KernelFunction) and probe.firing.name in target.refused_functions
        if kind is not None and probe in direct and convention.is_simple(kind) and not is_refused:
            found.append(FunctionContext(probe, kind))
        else:
            places = convention.parameters(kind.parameters)[:typed] if kind else ()
            rest.setdefault(places, []).append(probe)
    for places, together in rest.items():
        found.append(KprobeContext(tuple(together), places, target.features))
    return found


def by_entry(probes: Sequence[Probe]) -> tuple[Probe, ...]:
    """Those of a set of clauses that are to have a program each: if they are a few, and the kernel finds the function
    by its name alone, as it does for fentry."""
    if len(probes) > FEW:
        return ()
    return tuple(
        probe
        for probe in probes
        if isinstance(probe.firing, KernelFunction) and probe.firing.is_unique and not probe.firing.is_raw
    )
