"""debugf(): a line into the kernel's trace buffer, which is read at trace_pipe of tracefs."""

from __future__ import annotations

from sonde.frontends.bpftrace.check.formats import formatted
from sonde.frontends.bpftrace.check.scope import BtScope
from sonde.frontends.bpftrace.check.value_call import Action
from sonde.frontends.bpftrace.syntax import nodes
from sonde.model import program as tree
from sonde.model.conversions import Conversion
from sonde.model.program import Statement
from sonde.model.types import STRING

_INTEGERS = "diuxXo"
_MOST = 12
"""Values of one line: MAX_BPRINTF_VARARGS (include/linux/bpf.h)."""


def debug(call: nodes.Call, scope: BtScope) -> Statement:
    """debugf(format, ...)."""
    pieces, values = formatted(call, scope)
    if len(values) > _MOST:
        raise scope.mistake(f"debugf(): the kernel's trace buffer takes up to {_MOST} values", call.at)
    text = "debugf() is not recommended for production use: all tracers share the kernel's trace buffer."
    scope.remark(text, call.at)
    format_ = "".join(_kernel_s(each, call, scope) for each in pieces)
    constant = tree.StringConst(STRING, scope.at(call.at), format_.encode(errors="surrogateescape"))
    return tree.Act(scope.at(call.at), "printk", (constant, *values))


def _kernel_s(piece: Conversion, call: nodes.Call, scope: BtScope) -> str:
    """A conversion as bpf_trace_printk() knows it (bpf_bprintf_prepare, kernel/bpf/helpers.c): integers are 64 bits
    wide."""
    text = piece.text.replace("%", "%%")
    if not piece.letters:
        return text
    width = "" if piece.width is None else str(piece.width)
    letter = piece.letters[-1]
    if piece.letters == "s":
        return f"{text}%{piece.flags}{width}s"
    if piece.letters == "c" or (letter in _INTEGERS and len(piece.letters) <= 3):
        return f"{text}%{piece.flags}{width}{letter if letter == 'c' else f'll{letter}'}"
    if letter == "p":
        return f"{text}0x%llx"
    raise scope.mistake(f"debugf(): the kernel's trace buffer shows no %{piece.letters}", call.at)


ACTIONS: dict[str, Action] = {"debugf": debug}
