"""Which function generates which subroutine."""

from __future__ import annotations

from collections.abc import Callable

from sonde.codegen.basis.generation import Generation
from sonde.codegen.basis.places import Memory
from sonde.codegen.intermediate.ir import Operand
from sonde.codegen.records import speculations
from sonde.codegen.subroutines import (
    addresses,
    ancestors,
    components,
    family,
    json_values,
    locks,
    memory,
    numbered_tasks,
    numbers,
    packet_values,
    paths,
    processes,
    searching,
    strings,
)
from sonde.model import program as tree
from sonde.model.errors import NO_CODE, NOT_A_VALUE, SourceError


def value(g: Generation, e: tree.Call) -> Operand:
    """A call with an integer or pointer result."""
    if e.name not in _VALUES:
        raise not_of_expressions(e.name, e)
    return _VALUES[e.name](g, e)


def not_of_expressions(name: str, e: tree.Expr) -> SourceError:
    """What is wrong with computing with what stack() and its like give: it can be recorded, and be a key."""
    return SourceError(NOT_A_VALUE, f"{name}() gives nothing that can be computed with", e.position, about=(name,))


def stack(_g: Generation, e: tree.StackTrace) -> Operand:
    raise not_of_expressions("ustack" if e.is_user else "stack", e)


def string(g: Generation, e: tree.Expr, into: Memory, size: int) -> None:
    """A call with a string result."""
    assert isinstance(e, tree.Call)
    if e.name not in _STRINGS:
        raise SourceError(NO_CODE, f"there is no code for {e.name}()", e.position, about=(e.name,))
    with g.released():
        _STRINGS[e.name](g, e, into, size)


_VALUES: dict[str, Callable[[Generation, tree.Call], Operand]] = {
    "alloca": memory.alloca, "bcopy": memory.bcopy, "copyin": memory.copyin, "copyinto": memory.copyinto,
    "copyout": memory.copyout, "copyoutstr": memory.copyoutstr,
    "getmajor": numbers.getmajor, "getminor": numbers.getminor,
    "mutex_owned": locks.mutex_owned, "mutex_owner": locks.mutex_owner,
    "mutex_type_adaptive": locks.constant(1), "mutex_type_spin": locks.constant(0),
    "rw_iswriter": locks.rw_iswriter, "rw_read_held": locks.rw_read_held, "rw_write_held": locks.rw_write_held,
    "progenyof": ancestors.progenyof, "__adopt": family.adopt, "__in_family": family.in_family,
    "__cpu_time": processes.cpu_time, "__open_file": paths.open_file,
    "__task_numbered": numbered_tasks.numbered,
    "__packet_headers": packet_values.headers, "__packet_number": packet_values.number,
    "__packet_tag": packet_values.tag,
    "rand": numbers.rand,
    "speculation": speculations.new,
    "htons": numbers.swapped(2), "ntohs": numbers.swapped(2),
    "htonl": numbers.swapped(4), "ntohl": numbers.swapped(4),
    "htonll": numbers.swapped(8), "ntohll": numbers.swapped(8),
    "index": searching.index,
    "rindex": searching.rindex,
    "strlen": strings.strlen,
    "strtoll": numbers.strtoll,
}  # fmt: skip

_STRINGS: dict[str, Callable[[Generation, tree.Call, Memory, int], None]] = {
    "__command_line": processes.command_line,
    "__moved": strings.rest,
    "__named": numbers.named,
    "__packet_text": packet_values.text,
    "basename": components.basename,
    "cleanpath": components.cleanpath,
    "copyinstr": strings.copyinstr,
    "d_path": paths.d_path,
    "dirname": components.dirname,
    "inet_ntoa": addresses.inet_ntoa,
    "inet_ntoa6": addresses.inet_ntoa6,
    "inet_ntop": addresses.inet_ntop,
    "json": json_values.json,
    "link_ntop": addresses.link_ntop,
    "lltostr": numbers.lltostr,
    "strchr": searching.strchr,
    "strjoin": strings.strjoin,
    "strrchr": searching.strrchr,
    "strstr": searching.strstr,
    "strtok": searching.strtok,
    "substr": strings.substr,
    "tolower": strings.tolower,
    "toupper": strings.toupper,
}
