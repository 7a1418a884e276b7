"""What a probe line asks for: where its program is attached, and with which variables."""

from __future__ import annotations

from sonde.bpf import programs
from sonde.bpf.btf import Btf
from sonde.objects.arguments import Arrival, arrival
from sonde.objects.kernel_functions import one_function
from sonde.objects.kernel_variables import kernel_variables
from sonde.objects.lines import ProbeLine
from sonde.objects.sections import SectionRequest
from sonde.objects.traceable_code import TraceableCode
from sonde.typed import NamedTuple


class Attached(NamedTuple):
    """A copy of a program; `arrival` is None where it takes no variables, `is_user` tells whose memory they are in."""

    request: SectionRequest
    arrival: Arrival | None = None
    is_user: bool = False


def of_line(line: ProbeLine, function: str, types: Btf | None, traceable: TraceableCode) -> list[Attached]:
    """A copy for each place of the line where its variables are elsewhere. Raises ObjectError."""
    if line.path:
        # Debug information, which lines about the kernel do without.
        from sonde.objects.user_variables import user_line

        by_arrival: dict[Arrival | None, list[SectionRequest]] = {}
        for firings, found in user_line(line, traceable):
            here = arrival(function, found, types) if found else None
            by_arrival.setdefault(here, []).append(SectionRequest(programs.KPROBE, firings=firings, shown=line.text))
        return [
            Attached(asked[0]._replace(firings=tuple(firing for each in asked for firing in each.firings)), here, True)
            for here, asked in by_arrival.items()
        ]
    # The kernel's types, likewise.
    from sonde.providers.kernel_types import KernelTypes

    text = line.function + (f"+{line.offset}" if line.offset else "")
    firing = one_function(text, line.text, line.is_return, traceable)
    if line.module:
        firing = firing._replace(module=line.module)
    found = kernel_variables(line, KernelTypes().function)
    here = arrival(function, found, types) if found else None
    return [Attached(SectionRequest(programs.KPROBE, firings=(firing,), shown=line.text), here)]
