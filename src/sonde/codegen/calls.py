"""Which function generates which subroutine."""

from __future__ import annotations

from collections.abc import Callable

from sonde.codegen import speculations
from sonde.codegen.generation import Generation
from sonde.codegen.ir import Operand
from sonde.codegen.places import Memory
from sonde.codegen.subroutines import ancestors, locks, memory, numbers, paths, processes, strings
from sonde.lang import program as tree
from sonde.lang.errors import DError


def value(g: Generation, e: tree.Call) -> Operand:
    """A call with an integer or pointer result."""
    if e.name not in _VALUES:
        raise DError("D_FUNC_UNDEF", f"unimplemented subroutine: {e.name}", e.position)
    return _VALUES[e.name](g, e)


def string(g: Generation, e: tree.Expr, into: Memory, size: int) -> None:
    """A call with a string result."""
    assert isinstance(e, tree.Call)
    if e.name not in _STRINGS:
        raise DError("D_FUNC_UNDEF", f"unimplemented subroutine: {e.name}", e.position)
    _STRINGS[e.name](g, e, into, size)


_VALUES: dict[str, Callable[[Generation, tree.Call], Operand]] = {
    "alloca": memory.alloca, "bcopy": memory.bcopy, "copyin": memory.copyin, "copyinto": memory.copyinto,
    "copyout": memory.copyout, "copyoutstr": memory.copyoutstr,
    "getmajor": numbers.getmajor, "getminor": numbers.getminor,
    "mutex_owned": locks.mutex_owned, "mutex_owner": locks.mutex_owner,
    "mutex_type_adaptive": locks.constant(1), "mutex_type_spin": locks.constant(0),
    "rw_iswriter": locks.rw_iswriter, "rw_read_held": locks.rw_read_held, "rw_write_held": locks.rw_write_held,
    "progenyof": ancestors.progenyof,
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
    "d_path": paths.d_path,
    "strjoin": strings.strjoin,
    "substr": strings.substr,
}
