"""Which of its probes a program was fired for, where the attachment says so."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.codegen.basis.generation import Generation, ProbeIndex
from sonde.codegen.basis.identity import process
from sonde.codegen.intermediate.ir import Imm, Operand
from sonde.model.probe import Probe


def numbered(probes: Sequence[Probe]) -> ProbeIndex:
    """Probes in their order, each attached on its own with its number as the cookie."""
    attachments = tuple((probe, number) for number, probe in enumerate(probes))
    return ProbeIndex(padded(len(probes)), tuple(range(len(probes))), attachments)


def index_by_cookie(g: Generation, count: int, feature: str, helper: str = "get_attach_cookie") -> Operand:
    """The attach cookie, as `helper` tells it, or a constant stamped in at loading where `feature` is lacking, the
    firing's cookie.

    The verifier is shown by an AND that the table of probes has such a row: a program that never asks which of its
    probes has fired has no trace of the question.
    """
    if count == 1:
        return Imm(0)
    if feature in g.shared.target.features:
        index: Operand = g.call(helper, g.ctx, pure="cookie")
    else:
        index = g.b.stamp("cookie")
    return g.b.alu("and", index, Imm(padded(count) - 1))


def padded(count: int) -> int:
    """The rows of a table that an index cut by an AND is always in: a power of two."""
    return 1 << (count - 1).bit_length()


def index_in_process(g: Generation, count: int, pid: int) -> Operand:
    """That of a uprobe, which belongs to process `pid` or, where that is 0, to whoever comes by: a child between vfork
    and exec runs in its parent's memory, and is another process."""
    if pid:
        g.b.branch("ne", process(g), Imm(pid), g.leave)
    return index_by_cookie(g, count, "uprobe_cookie")
