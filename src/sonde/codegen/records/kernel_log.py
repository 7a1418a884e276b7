"""A line into the kernel's trace buffer, which all tracers share, by bpf_trace_printk()."""

from __future__ import annotations

from sonde.codegen.basis.generation import Generation, Unsupported
from sonde.codegen.basis.places import Memory
from sonde.codegen.intermediate.ir import Imm, Operand
from sonde.model import program as tree
from sonde.model.errors import UNSUPPORTED, SourceError
from sonde.model.target import is_older
from sonde.model.types import String, resolve

MOST_PLAIN = 3
"""Arguments of bpf_trace_printk(); bpf_trace_vprintk(), of Linux 5.16, takes more."""

_MORE_SINCE = (5, 16)
_INTERPRETED = "interpreted"
"""What the embedded engine's programs are."""


def write(g: Generation, s: tree.Act) -> None:
    """The first argument is a constant, the format as the kernel has it, the others are its values, strings in memory
    of the program."""
    if _INTERPRETED in g.shared.target.features:
        why = "debugf() writes into the kernel's trace buffer, which the embedded engine has not"
        raise SourceError(UNSUPPORTED, why, s.position, "printf() shows the same")
    format_, *values = s.arguments
    assert isinstance(format_, tree.StringConst)
    size = len(format_.value) + 1
    room = -(-size // 8) * 8
    text = g.framed(room)
    g.string_into(format_, text, room)
    words = [_word(g, each) for each in values]
    if len(words) <= MOST_PLAIN:
        g.call("trace_printk", g.address(text), Imm(size), *words)
        return
    if is_older(g.shared.target, _MORE_SINCE):
        raise Unsupported(f"debugf() of more than {MOST_PLAIN} values before Linux 5.16", s.position)
    table = g.framed(8 * len(words))
    for number, word in enumerate(words):
        g.b.store(table.base, table.offset + 8 * number, 8, word)
    g.call("trace_vprintk", g.address(text), Imm(size), g.address(table), Imm(8 * len(words)))


def _word(g: Generation, value: tree.Expr) -> Operand:
    if not isinstance(resolve(value.type), String):
        return g.b.copy(g.value(value))
    size = g.shared.settings.string_capacity
    memory: Memory = g.framed(size)
    g.string_into(value, memory, size)
    return g.address(memory)
