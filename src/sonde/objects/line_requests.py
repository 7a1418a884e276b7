"""What a probe line asks for: where its program is attached, and with which variables."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.bpf import programs
from sonde.bpf.btf import Btf
from sonde.objects import system_call_lines, user_lines
from sonde.objects.arguments import Arrival, arrival, asked_layout
from sonde.objects.fetching import VariableLayout
from sonde.objects.lines import ProbeLine, is_system_call
from sonde.objects.paths import FoundVariable
from sonde.objects.sections import SectionRequest
from sonde.objects.traceable_code import TraceableCode
from sonde.providers import kernel_types
from sonde.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from sonde.objects.kernel_lines import KernelLines


class Attached(NamedTuple):
    """A copy of a program: what fires it, and of a probe line where its variables are: those that it asks for, and, if
    it has parameters for them, those that it gets before."""

    request: SectionRequest
    asked: VariableLayout | None = None
    arrival: Arrival | None = None


def of_line(
    line: ProbeLine, function: str, types: Btf | None, traceable: TraceableCode, takes: bool,
    kernel: KernelLines | None = None,
) -> list[Attached]:  # fmt: skip
    """A copy for each place of the line where its variables are elsewhere; the function `takes` them as parameters, or
    asks for them. `kernel` knows what a line about that names. Raises ObjectError."""

    def attached(request: SectionRequest, found: Sequence[FoundVariable], is_user: bool) -> Attached:
        asked = asked_layout(function, found, is_user)
        return Attached(request, asked, arrival(function, found, types, is_user) if takes and found else None)

    if is_system_call(line):
        # The kernel's types of structures.

        call = system_call_lines.system_call_place(line, kernel_types.KernelTypes().lookup)
        return [attached(SectionRequest(programs.PROBE, firings=(call.firing,), shown=line.text), call.variables, True)]
    if kernel is None:
        # Debug information, which lines about the kernel do without.

        copies: dict[tuple[VariableLayout | None, Arrival | None], Attached] = {}
        for firings, found in user_lines.user_line(line, traceable):
            request = SectionRequest(programs.KPROBE, programs.TRACE_UPROBE_MULTI, firings=firings, shown=line.text)
            made = attached(request, found, True)
            known = copies.get(made[1:])
            if known is not None:
                made = known._replace(request=request._replace(firings=known.request.firings + firings))
            copies[made[1:]] = made
        return list(copies.values())
    return [
        attached(SectionRequest(programs.KPROBE, firings=(each.firing,), shown=line.text), each.variables, False)
        for each in kernel.places(line, traceable)
    ]
