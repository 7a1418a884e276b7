"""Statements: expressions for their effect, and actions, whose values are generated into the record."""

from __future__ import annotations

from sonde.bpf import maps as kinds
from sonde.codegen.basis.faults import ILLEGAL_OPERATION, fault_if
from sonde.codegen.basis.generation import Generation, Unsupported
from sonde.codegen.basis.kernels import require_loops
from sonde.codegen.basis.places import Memory, Remote, Trusted
from sonde.codegen.expressions import assignments
from sonde.codegen.expressions.access import address_of, fetch, fetch_available, store, zero
from sonde.codegen.expressions.integers import pointer_place, source_of
from sonde.codegen.expressions.layout import write_field
from sonde.codegen.intermediate.ir import Imm
from sonde.codegen.records import (
    aggregations,
    captured_packets,
    captures,
    interventions,
    kernel_log,
    speculations,
    writing,
)
from sonde.codegen.records.plan import CONSUMER_ACTIONS
from sonde.codegen.routines import waiting
from sonde.model import program as tree
from sonde.model.errors import UNSUPPORTED, SourceError
from sonde.model.named_maps import DRAINING, STATE_ACTIVITY, STATE_STATUS
from sonde.model.records import Field
from sonde.model.spec import MapSpec
from sonde.model.types import Array, String, Struct, Void, resolve

_REFUSED = {
    "breakpoint": "no eBPF program can enter the kernel's debugger; raise(5) sends the process SIGTRAP",
    "panic": "no eBPF program can crash the kernel; exit() ends tracing, stop() stops the process",
}

_SIGSTOP = 19
"""include/uapi/asm-generic/signal.h"""


def evaluate(g: Generation, s: tree.Statement) -> None:
    assert isinstance(s, tree.Evaluate)
    _effect(g, s.expression)


def _effect(g: Generation, e: tree.Expr) -> None:
    base = resolve(e.type)
    if isinstance(e, tree.Assign):
        if isinstance(base, (String, Struct, Array)):
            assignments.assign_object(g, e)
        else:
            assignments.assign(g, e)
    elif isinstance(e, tree.Increment):
        assignments.increment(g, e)
    elif isinstance(e, tree.Comma):
        _effect(g, e.left)
        _effect(g, e.right)
    elif isinstance(e, tree.Cast):
        _effect(g, e.operand)
    elif isinstance(base, String):
        size = g.shared.settings.string_capacity
        g.string_into(e, g.temporary(size), size)
    elif isinstance(base, (Struct, Array)):
        g.place(e)
    elif isinstance(base, Void) and not isinstance(e, tree.Call):
        raise Unsupported("this expression", e.position)
    else:
        g.value(e)


def aggregate(g: Generation, s: tree.Statement) -> None:
    assert isinstance(s, tree.Aggregate)

    aggregations.aggregate(g, s)


def _record(g: Generation, *values: tree.Expr | None) -> None:
    for value in values:
        if value is not None:
            write_field(g, value, writing.next_field(g), writing.memory(g))


def trace(g: Generation, s: tree.Statement) -> None:
    assert isinstance(s, tree.Trace)
    _record(g, s.value)


def formatted(g: Generation, s: tree.Statement) -> None:
    assert isinstance(s, (tree.Printf, tree.FormattedCommand))
    _record(g, *s.values)


def printa(g: Generation, s: tree.Statement) -> None:
    """Nothing to record: the consumer has the aggregations."""


def show(g: Generation, s: tree.Statement) -> None:
    assert isinstance(s, tree.Show)
    _record(g, s.top, s.divisor)


def tracemem(g: Generation, s: tree.Statement) -> None:
    assert isinstance(s, tree.Tracemem)
    _record_block(g, pointer_place(g, s.address), s.size)
    _record(g, s.dynamic)


def print_(g: Generation, s: tree.Statement) -> None:
    """The value itself, or an address and the object there."""
    assert isinstance(s, tree.Print)
    if not s.by_address:
        _record(g, s.value)
        return
    place = pointer_place(g, s.value)
    store(g, _slot(g, writing.next_field(g)), 8, address_of(g, place))
    _record_block(g, place, g.fields[0].size)


def _slot(g: Generation, field: Field) -> Memory:
    target = writing.memory(g)
    return Memory(target.base, target.offset + field.offset)


def _record_block(g: Generation, place: Remote | Trusted | Memory, size: int) -> None:
    """Memory that a pointer leads to, into the next field."""
    block = _slot(g, writing.next_field(g))
    source = place if isinstance(place, Remote) else Remote(source_of(g, place), 0, False)
    if source.scratch:
        fetch_available(g, source, block, size)
    elif size:
        fetch(g, source, block, size)
    else:
        zero(g, block, 0)


def exit_(g: Generation, s: tree.Statement) -> None:
    """The status, also where the record is lost, and no probe fires any more but END."""
    assert isinstance(s, tree.Exit)
    field = g.fields[0]
    _record(g, s.status)
    status = g.b.load(writing.memory(g).base, field.offset, field.size)
    state = g.b.map_value(g.shared.maps.state())
    g.b.store(state, 4 * STATE_STATUS, 4, status)
    g.b.store(state, 4 * STATE_ACTIVITY, 4, Imm(DRAINING))
    assert g.has_exited is not None
    g.b.move(g.has_exited, Imm(1))


def on_aggregation(g: Generation, s: tree.Statement) -> None:
    if isinstance(s, tree.Trunc):
        _record(g, s.keep)
    elif isinstance(s, tree.Normalize):
        _record(g, s.factor)


def set_option(g: Generation, s: tree.Statement) -> None:
    assert isinstance(s, tree.SetOption)
    _record(g, s.name, s.value)


def act(g: Generation, s: tree.Statement) -> None:
    assert isinstance(s, tree.Act)
    if s.name in CONSUMER_ACTIONS:
        _record(g, *s.arguments)
    elif s.name == "pcap":
        captured_packets.record(g, s)
    elif s.name == "capture":
        captures.record(g, s)
    elif s.name == "raise":
        # A second argument asks for the thread alone.
        g.call("send_signal_thread" if len(s.arguments) > 1 else "send_signal", g.value(s.arguments[0]))
    elif s.name == "stop":
        g.call("send_signal", Imm(_SIGSTOP))
    elif s.name in ("inject", "delay"):
        interventions.act(g, s)
    elif s.name == "override":
        g.call("override_return", g.ctx, g.value(s.arguments[0]))
    elif s.name == "printk":
        kernel_log.write(g, s)
    elif s.name == "chill":
        _chill(g, s)
    elif s.name == "sample":
        assert g.sampled is not None
        g.b.move(g.sampled, Imm(1))
    elif s.name == "speculate":
        speculations.speculate(g, s)
    else:
        raise SourceError(UNSUPPORTED, f"{s.name}() is not implemented (yet)", s.position, _REFUSED.get(s.name, ""))


def _chill(g: Generation, s: tree.Act) -> None:
    """Keep the CPU busy; more of it than there may be is a fault."""
    require_loops(g, "chill()", s.position)
    g.shared.maps.add(MapSpec(waiting.CHILLED, kinds.PERCPU_ARRAY, 4, waiting.SIZE, 1))
    refused = g.routine("chill", g.b.in_register(g.value(s.arguments[0])))
    fault_if(g, "ne", refused, Imm(0), ILLEGAL_OPERATION, Imm(0))
