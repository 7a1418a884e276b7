"""Bytes as values: what buf() and pton() give."""

from __future__ import annotations

from socket import AF_INET, AF_INET6, inet_pton

from sonde.frontends.bpftrace.check.address_spaces import pointer_into
from sonde.frontends.bpftrace.check.conversions import constant, integer_value, literal_text
from sonde.frontends.bpftrace.check.scope import BtScope
from sonde.frontends.bpftrace.check.types import INTEGERS, UINT32, UINT64, is_scalar, is_string, spelled, structure_of
from sonde.frontends.bpftrace.check.value_call import ValueCall
from sonde.frontends.bpftrace.syntax import nodes
from sonde.model import program as tree
from sonde.model.program import Expr
from sonde.model.types import INT, Array, Pointer, resolve, size_of

BYTE = INTEGERS["uint8"]


def buffer(call: nodes.Call, arguments: list[nodes.Expr], scope: BtScope) -> Expr:
    """buf(data, [length]): the bytes of an array or a string, or those at an address; at most max_strlen of them."""
    e, at = scope.expression(arguments[0], scope), scope.at(call.at)
    base = resolve(e.type)
    own = size_of(base) if isinstance(base, Array) and base.length else 0
    if len(arguments) > 1:
        size = integer_value(arguments[1], scope, "buf()")
    elif own:
        size = constant(own, at, UINT64)
    else:
        text = f"buf() expects a length argument for non-array type {spelled(e.type)}"
        raise scope.mistake(text, call.at)
    if not isinstance(size, tree.Const):
        return _read(e, size, call, scope)
    if size.value < 0:
        raise scope.mistake(f"buf() cannot use negative length ({size.value})", call.at)
    count = min(size.value, scope.strsize, own or scope.strsize)
    kind = Array(BYTE, max(count, 1))
    if isinstance(e, tree.StringConst):
        data: Expr = tree.StringConst(kind, at, e.value[:count].ljust(kind.length or 0, b"\0"))
    elif own or is_string(e.type):
        data = e
    else:
        data = tree.Deref(kind, at, tree.Cast(_pointer(kind, e, call, scope), at, e))
    return _composed(constant(count, at, UINT32), data, kind, call, scope)


def _composed(length: Expr, data: Expr, kind: Array, call: nodes.Call, scope: BtScope) -> Expr:
    whole = structure_of("buffer", ("length", "data"), (UINT32, kind))
    return tree.Compose(whole, scope.at(call.at), (length, data))


def _read(e: Expr, size: Expr, call: nodes.Call, scope: BtScope) -> Expr:
    """As many bytes as only running tells."""
    at = scope.at(call.at)
    kind = Array(BYTE, scope.strsize)
    most = constant(scope.strsize, at, UINT64)
    bytes_ = tree.Cast(UINT64, at, size)
    fits = tree.Binary(INT, at, "<=", bytes_, most)
    length = tree.Conditional(UINT64, at, fits, bytes_, most)
    address = tree.Cast(_pointer(kind, e, call, scope), at, e)
    return _composed(tree.Cast(UINT32, at, length), tree.ReadBytes(kind, at, address, length), kind, call, scope)


def _pointer(kind: Array, e: Expr, call: nodes.Call, scope: BtScope) -> Pointer:
    """The type of an address that has these bytes behind it."""
    if not is_scalar(e.type):
        raise scope.mistake(f"buf() expects a pointer, a string or an array ({spelled(e.type)} provided)", call.at)
    return pointer_into(kind, e, scope)


def address(call: nodes.Call, arguments: list[nodes.Expr], scope: BtScope) -> Expr:
    """pton(text): an address of IPv4 or IPv6 as 4 or 16 bytes, in the order of networks."""
    # A module that few programs want, and that takes milliseconds.

    text = literal_text(arguments[0], scope, "pton()", call.at).decode(errors="replace")
    try:
        packed = inet_pton(AF_INET6 if ":" in text else AF_INET, text)
    except (OSError, ValueError):
        raise scope.mistake(f"pton() expects a valid IPv4/IPv6 address, got {text}", call.at) from None
    return tree.StringConst(Array(BYTE, len(packed)), scope.at(call.at), packed)


VALUES: dict[str, ValueCall] = {
    "buf": ValueCall(1, 2, buffer),
    "pton": ValueCall(1, 1, address),
}
