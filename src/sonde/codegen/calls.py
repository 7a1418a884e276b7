"""Which function generates which subroutine."""

from __future__ import annotations

from collections.abc import Callable

from sonde.codegen import speculations
from sonde.codegen.generation import Generation, Unsupported
from sonde.codegen.ir import Operand
from sonde.codegen.places import Memory
from sonde.codegen.subroutines import memory, numbers, processes, strings
from sonde.lang import program as tree


def value(g: Generation, e: tree.Call) -> Operand:
    """A call with an integer or pointer result."""
    if e.name not in _VALUES:
        raise Unsupported(f"{e.name}()", e.position)
    return _VALUES[e.name](g, e)


def string(g: Generation, e: tree.Expr, into: Memory, size: int) -> None:
    """A call with a string result."""
    assert isinstance(e, tree.Call)
    if e.name not in _STRINGS:
        raise Unsupported(f"{e.name}()", e.position)
    _STRINGS[e.name](g, e, into, size)


_VALUES: dict[str, Callable[[Generation, tree.Call], Operand]] = {
    "alloca": memory.alloca, "bcopy": memory.bcopy, "copyin": memory.copyin, "copyinto": memory.copyinto,
    "rand": numbers.rand,
    "speculation": speculations.new,
    "htons": numbers.swapped(2), "ntohs": numbers.swapped(2),
    "htonl": numbers.swapped(4), "ntohl": numbers.swapped(4),
    "htonll": numbers.swapped(8), "ntohll": numbers.swapped(8),
    "strlen": strings.strlen,
}  # fmt: skip

_STRINGS: dict[str, Callable[[Generation, tree.Call, Memory, int], None]] = {
    "__command_line": processes.command_line,
    "copyinstr": strings.copyinstr,
    "strjoin": strings.strjoin,
    "substr": strings.substr,
}
