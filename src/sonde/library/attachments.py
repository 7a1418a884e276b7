"""How probes of kernel functions are attached, in words: what -v tells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sonde.bpf import programs
from sonde.model.probe import KernelFunction, Probe
from sonde.model.spec import ProgramSpec, TracingSpec


def attachments(spec: TracingSpec) -> Iterator[str]:
    """A sentence for each program that is fired by functions of the kernel."""
    for program in spec.programs:
        probes = [served.probe for served in program.probes]
        if probes and isinstance(probes[0].firing, KernelFunction):
            yield f"{_which(probes)} attached {_way(program)}"


def _which(probes: Sequence[Probe]) -> str:
    if len(probes) == 1:
        return str(probes[0])
    return f"{len(probes)} probes from {probes[0]} to {probes[-1]}"


def _way(program: ProgramSpec) -> str:
    if program.attach_type == programs.TRACE_FENTRY:
        return "by fentry"
    if program.attach_type == programs.TRACE_FEXIT:
        return "by fexit"
    if program.attach_type == programs.TRACE_KPROBE_MULTI:
        return "in one kprobe_multi link"
    firing = program.probes[0].probe.firing
    kind = "kretprobe" if isinstance(firing, KernelFunction) and firing.is_return else "kprobe"
    return f"by a {kind} each" if len(program.probes) > 1 else f"by a {kind}"
