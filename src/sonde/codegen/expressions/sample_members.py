"""`args[0]->MEMBER` where an overflow of a perf event fires: what the program's context has, and what the kernel keeps
behind that (`model/sample_members.py`).

What the program is given as struct bpf_perf_event_data is struct bpf_perf_event_data_kern, whose member `data` leads to
the kernel's struct perf_sample_data. The verifier lets a program's loads see nothing of that, but a helper read it.
"""

from __future__ import annotations

from collections.abc import Iterable

from sonde.arch import registers
from sonde.codegen.basis.generation import Generation
from sonde.codegen.basis.places import Remote
from sonde.codegen.expressions.structures import member_offset, read_member
from sonde.model import program as tree
from sonde.model import sample_members as known
from sonde.model.errors import UNSUPPORTED, SourceError

_CONTEXT = registers.SIZE + 16
"""Bytes of struct bpf_perf_event_data; what sample.d declares behind them is looked for in the kernel's structure."""


def of_sample(e: tree.Expr) -> str:
    """The name of the member of the sample that this denotes, "" for anything else."""
    if not isinstance(e, tree.MemberOf) or not isinstance(e.object, tree.Deref):
        return ""
    return e.member.name if isinstance(e.object.pointer, tree.Argument) else ""


def is_behind_context(e: tree.MemberOf) -> bool:
    """Whether it is a member of the kernel's structure, and not of the context."""
    return e.member.offset >= 8 * _CONTEXT and bool(of_sample(e))


def place(g: Generation, e: tree.MemberOf) -> Remote:
    """Where it is. Raises SourceError for what cannot be read."""
    name = e.member.name
    for probe in g.context.probes:
        if why := known.refusal(name, probe.firing):
            raise SourceError(UNSUPPORTED, f"{probe} has no {name}: {why}", e.position)
    if "interpreted" in g.shared.target.features:
        text = f"the embedded engine's samples have no {name}: period, addr, ip and the registers are there"
        raise SourceError(UNSUPPORTED, text, e.position, "the kernel engine has it (root, or CAP_BPF and CAP_PERFMON)")
    data = member_offset(g, "bpf_perf_event_data_kern", "data")
    offset = member_offset(g, known.STRUCTURE, *known.MEMBERS[name].path)
    if data is None or offset is None or member_offset(g, known.STRUCTURE, known.PREPARED) is None:
        text = f"args[0]->{name} is the kernel's own, and is not to be had here: it needs Linux {known.SINCE} with BTF"
        raise SourceError(UNSUPPORTED, text, e.position)
    return Remote(read_member(g, g.ctx, data, 8), offset)


def asked_for(found: Iterable[tree.Expr]) -> int:
    """The bits of attr.sample_type for the members among these expressions."""
    asks = 0
    for each in found:
        if name := of_sample(each):
            asks |= known.MEMBERS[name].asks if name in known.MEMBERS else 0
    return asks
