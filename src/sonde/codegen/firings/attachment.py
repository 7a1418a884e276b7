"""By which of the kernel's ways a program is attached to functions of the kernel.

A few functions get a program each, by fentry or fexit, which cost least when they fire but take tens of milliseconds
each to be detached; they have no registers, so clauses with variables that registers lead to get kprobes. Many are
attached to in one link where the kernel has kprobe_multi. Whatever neither takes gets kprobes, one by one.

What a function was called with is known at its return by fexit alone, so clauses that ask for it have a program for
each function, however many. What returns in the place of a function does so by a kprobe of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from sonde.arch import convention
from sonde.codegen.basis.generation import Context
from sonde.codegen.basis.uses import arguments_from, arguments_used, locates, overrides, typed_arguments
from sonde.codegen.firings.function import FunctionContext, KprobeContext, Signature, is_loaded
from sonde.model.errors import UNSUPPORTED, Position, SourceError
from sonde.model.probe import KernelFunction, Probe
from sonde.model.program import ENTERED, Clause
from sonde.model.target import Target
from sonde.model.types import Function

FEW = 4
"""So many functions with the same clauses get a program each."""


def contexts(probes: Sequence[Probe], clauses: Sequence[Clause], signature: Signature, target: Target) -> list[Context]:
    """A context for each program that is needed, in the order of the probes."""
    found: list[Context] = []
    rest: dict[tuple[convention.ParameterPlace, ...], list[Probe]] = {}
    typed = typed_arguments(clauses)
    features = target.features
    if overrides(clauses):
        features = features - {"fentry", "kprobe_multi"}
    direct = by_entry(probes, clauses) if "fentry" in features and not locates(clauses) else ()
    entered = looks_back(probes, clauses)
    used = arguments_used(clauses) if direct else frozenset[int]()
    for probe in probes:
        kind = signature(probe) if typed or probe in direct else None
        is_refused = isinstance(probe.firing, KernelFunction) and probe.firing.name in target.refused_functions
        is_direct = kind is not None and probe in direct and convention.is_simple(kind) and not is_refused
        if kind is not None and is_direct and (entered is not None or _are_loaded(probe, kind, used)):
            found.append(FunctionContext(probe, kind))
        elif entered is not None:
            raise SourceError(UNSUPPORTED, _without_parameters(probe, target), entered, _WITHOUT_HINT)
        else:
            places = convention.parameters(kind.parameters)[:typed] if kind else ()
            rest.setdefault(places, []).append(probe)
    for places, together in rest.items():
        found.append(KprobeContext(tuple(together), places, features))
    return found


def by_entry(probes: Sequence[Probe], clauses: Sequence[Clause]) -> tuple[Probe, ...]:
    """Those of a set of clauses that are to have a program each: if they are a few, or the clauses need it, and the
    kernel finds the function by its name alone, as it does for fentry."""
    if len(probes) > FEW and looks_back(probes, clauses) is None:
        return ()
    return tuple(
        probe
        for probe in probes
        if isinstance(probe.firing, KernelFunction) and probe.firing.is_unique and not probe.firing.is_raw
    )


def _are_loaded(probe: Probe, kind: Function, used: frozenset[int]) -> bool:
    """Whether the verifier lets a program of the function load the arguments that the clauses look at."""
    assert isinstance(probe.firing, KernelFunction)
    if probe.firing.is_return:
        return 1 not in used or is_loaded(kind.returns)
    return all(is_loaded(each) for number, each in enumerate(kind.parameters) if number in used)


def looks_back(probes: Sequence[Probe], clauses: Sequence[Clause]) -> Position | None:
    """Where clauses of returns ask for what the functions were called with, None if they do not."""
    if not any(isinstance(each.firing, KernelFunction) and each.firing.is_return for each in probes):
        return None
    return arguments_from(ENTERED, clauses)


def _without_parameters(probe: Probe, target: Target) -> str:
    """Why the parameters of a function are not known at its return."""
    if "fentry" not in target.features:
        return f"what {probe.function} was called with is not known at its return: this kernel has no fexit"
    return f"what {probe.function} was called with is not known at its return: the kernel takes no fexit there"


_WITHOUT_HINT = "keep the argument at the entry, in a map with tid as its key"
