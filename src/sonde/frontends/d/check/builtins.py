"""The built-in variables and their types."""

from __future__ import annotations

from sonde.frontends.d.check.scope import Scope
from sonde.model.probe import Packet, StaticPattern, StaticProbe, Uprobe
from sonde.model.types import BUILTIN_TYPEDEFS, INT, STRING, UINT, ULONG, VOID, Pointer, Type

_BY_NAME: dict[str, str] = {
    # What the macro variable is where its value is known only when the program runs.
    "$target": "pid_t",
    **{f"arg{n}": "int64_t" for n in range(10)},
    "caller": "uintptr_t",
    "epid": "uint64_t",
    "errno": "int",
    "execname": "string",
    "gid": "gid_t",
    "id": "uint_t",
    "ipl": "uint_t",
    "pid": "pid_t",
    "ppid": "pid_t",
    "probefunc": "string",
    "probemod": "string",
    "probename": "string",
    "probeprov": "string",
    "stackdepth": "uint32_t",
    "tid": "id_t",
    "timestamp": "uint64_t",
    "ucaller": "uint64_t",
    "uid": "uid_t",
    "ustackdepth": "uint32_t",
    "vtimestamp": "uint64_t",
    "walltimestamp": "int64_t",
}
_FIXED: dict[str, Type] = {"int": INT, "string": STRING}
_LONGEST = len("arg") + 4
_KERNEL_IDS = ("gid_t", "uid_t")
OF_PACKETS = {"ifindex": "uint32_t", "pktlen": "uint32_t"}
"""Variables of packet probes alone: elsewhere a program may have its own by these names."""

ARRAYS = ("args", "uregs")
"""Built-in arrays, whose elements are checked one at a time."""

NAMES = frozenset(_BY_NAME) | {"curthread", "curcpu", *ARRAYS}


def builtin_type(name: str, scope: Scope) -> Type | None:
    """The type of the built-in variable of that name, None if there is none."""
    if name == "curthread":
        return Pointer(scope.find_struct("struct", "task_struct"))
    if name == "curcpu":
        return Pointer(scope.find_type("cpuinfo_t") or VOID)
    if name in OF_PACKETS:
        return BUILTIN_TYPEDEFS[OF_PACKETS[name]] if _is_of_packets(scope) else None
    spelled = "int64_t" if is_further_argument(name, scope) else _BY_NAME.get(name)
    if spelled is None:
        return None
    if spelled in _KERNEL_IDS:
        return scope.find_type(spelled) or UINT
    return _FIXED[spelled] if spelled in _FIXED else BUILTIN_TYPEDEFS[spelled]


def is_further_argument(name: str, scope: Scope) -> bool:
    """Whether it is `arg10` or a later one, in a clause of probes in processes, which have as many as there are."""
    if not (name.startswith("arg") and name[3:].isdecimal() and len(name) < _LONGEST and name[3] != "0"):
        return False
    probes = scope.enabling.probes if scope.enabling else ()
    return bool(probes) and all(isinstance(probe.firing, (StaticPattern, StaticProbe, Uprobe)) for probe in probes)


def _is_of_packets(scope: Scope) -> bool:
    """Whether the clause is for nothing but packets."""
    probes = scope.enabling.probes if scope.enabling else ()
    return bool(probes) and all(isinstance(probe.firing, Packet) for probe in probes)


UREGS_TYPE = ULONG
