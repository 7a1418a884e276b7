"""skboutput(): packets of the network into files."""

from __future__ import annotations

from sonde.frontends.bpftrace.check.conversions import constant, constant_value, integer_value, literal_text
from sonde.frontends.bpftrace.check.scope import BtScope
from sonde.frontends.bpftrace.check.types import UINT32, base_name
from sonde.frontends.bpftrace.check.value_call import ValueCall
from sonde.frontends.bpftrace.syntax import nodes
from sonde.model import program as tree
from sonde.model.conversions import Conversion
from sonde.model.packet_files import PACKET_FILE, RAW_IP, FiledAt, text_of
from sonde.model.program import Expr
from sonde.model.types import INT, Pointer, resolve


def output(call: nodes.Call, arguments: list[nodes.Expr], scope: BtScope) -> Expr:
    """skboutput(path, skb, length, offset): the packet, from `offset` to `length` of its bytes. What becomes of it is
    known when the record is read, so the value is 0."""
    at = scope.at(call.at)
    path = literal_text(arguments[0], scope, "skboutput()", call.at)
    packet = scope.expression(arguments[1], scope)
    if not isinstance(resolve(packet.type), Pointer):
        text = f"skboutput() only supports pointer arguments ({base_name(packet.type)} provided)"
        raise scope.mistake(text, call.at)
    length = integer_value(arguments[2], scope, "skboutput()")
    offset = constant_value(arguments[3], scope, "skboutput()")
    if offset < 0:
        raise scope.mistake(f"skboutput() offset must not be negative ({offset} provided)", call.at)
    if not scope.before:
        raise scope.mistake("skboutput() stands where nothing runs before it", call.at)
    where = Conversion(text_of(FiledAt(offset, path.decode(errors="surrogateescape"))))
    scope.before[-1] += (
        tree.FormattedCommand(at, PACKET_FILE, (where,), ()),
        tree.Act(at, "pcap", (packet, constant(RAW_IP, at, INT), length)),
    )
    return constant(0, at, UINT32)


VALUES: dict[str, ValueCall] = {"skboutput": ValueCall(4, 4, output)}
