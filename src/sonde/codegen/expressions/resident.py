"""Reads of a process's memory. Helpers read what is resident, since most programs may not wait for a page; a uprobe's
may, where the kernel has sleepable ones, so there a read that fails is tried again when the pages have been touched."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.bpf import programs
from sonde.codegen.basis import firing_records, outputs
from sonde.codegen.basis.faults import ABSENT, BAD_ADDRESS, fault_or_go_on
from sonde.codegen.basis.generation import Generation
from sonde.codegen.basis.places import Memory
from sonde.codegen.intermediate.ir import Imm, Operand, Reg, SlotAddress
from sonde.model import firing_record
from sonde.model import program as tree
from sonde.model.program import Clause
from sonde.model.walk import nodes

FEATURE = "uprobe_sleep"


def may_sleep(g: Generation, clauses: Sequence[Clause]) -> bool:
    """Whether the program of these clauses can be a sleepable one.

    What replaces an aggregation's map waits for all programs that saw the old one but for sleepable ones
    (maybe_wait_bpf_programs, kernel/bpf/syscall.c). And while one waits, probes of the kernel's functions on its CPU
    would take it for one that runs. It can have no map of perf events either (check_map_prog_compatibility,
    kernel/bpf/verifier.c).
    """
    if g.shared.has_functions or outputs.is_perf(g):
        return False
    if g.context.kind != programs.KPROBE or not g.context.is_user or FEATURE not in g.shared.target.features:
        return False
    used = {node.aggregation for clause in clauses for node in nodes(clause) if isinstance(node, tree.Aggregate)}
    return not used & g.shared.replaceable


def read_user(
    g: Generation, helper: str, memory: Memory, size: Operand, address: Operand, is_asked: bool = True
) -> Reg:
    """Call probe_read_user or probe_read_user_str; its result. Where the program has not asked for it, no recording
    says of memory that was not there that it could not be read: it may be there when the call returns."""
    result = g.call(helper, g.argument_of(memory.base, memory.offset), size, address)
    if g.may_sleep:
        g.sleeps = True
        with g.b.when("slt", result, Imm(0)):
            _touch(g, address)
            # One page further at most: longer objects are rare, and the code would grow with each.
            _touch(g, g.b.alu("sub", g.b.alu("add", address, size), Imm(1)))
            g.b.move(result, g.call(helper, g.argument_of(memory.base, memory.offset), size, address))
    if g.firing_record is not None:
        kind = firing_record.USER_STRING if helper == "probe_read_user_str" else firing_record.USER
        end = g.b.label()
        if not is_asked:
            g.b.branch("slt", result, Imm(0), end)
        firing_records.read(g, kind, address, size, result, memory)
        g.b.place(end)
    return result


def missing(g: Generation) -> int:
    """The code of the fault where `read_user` has failed."""
    return BAD_ADDRESS if g.deferral is None or g.resumed is not None else BAD_ADDRESS | ABSENT


def require_read(g: Generation, result: Operand, address: Operand) -> None:
    """That fault, if `read_user` has failed."""
    with g.b.when("slt", result, Imm(0)):
        fault_or_go_on(g, missing(g), address)


def _touch(g: Generation, address: Operand) -> None:
    """Have the kernel bring in the page, if there is one."""
    slot = g.b.slot(8)
    g.call("copy_from_user", SlotAddress(slot), Imm(1), address)
    g.b.release(slot)
