"""A probe and what fires it: values that every stage passes on and only the engine that attaches them acts on.

A probe is general: D clauses know its four names and its arguments. The `Firing` says which event of the system makes
it happen; the code generator has one context adapter for each kind of firing, an engine one way to attach each.
"""

from __future__ import annotations

from sonde.typed import NamedTuple, TypeAlias


class Internal(NamedTuple):
    """BEGIN, END and ERROR, fired by the session itself or by a fault; `name` is that name."""

    name: str


class Syscall(NamedTuple):
    """Entry to or return from one system call; `compat` for the 32-bit table (int 0x80)."""

    number: int
    name: str
    is_return: bool
    compat: bool = False


class Timer(NamedTuple):
    """A cpu-clock event every `period` ns, on every CPU (profile-n) or on one (tick-n)."""

    period: int
    every_cpu: bool


class RawTracepoint(NamedTuple):
    """A tracepoint with its raw arguments (`TP_PROTO`); `arguments` is how many it has, -1 if not known."""

    name: str
    arguments: int = -1


class Tracepoint(NamedTuple):
    """A trace event through perf, whose context is the record described by its tracefs format file.

    `is_tracepoint`: a raw tracepoint of this name fires at the same time, for who does not look at the record.
    """

    group: str
    name: str
    is_tracepoint: bool = False


class General(NamedTuple):
    """Whatever calls the probe's program by a tail call, in an engine that has general probes: `name` tells which."""

    name: str = ""


class Uprobe(NamedTuple):
    """An instruction of the file `path`, by its offset in the file, executed by process `pid`.

    `kind` is `entry` where that is a function's first, `return` for the return from the function that begins there,
    `offset` for any other.
    """

    pid: int
    path: str
    offset: int
    kind: str


Firing: TypeAlias = Internal | Syscall | Timer | RawTracepoint | Tracepoint | General | Uprobe


class Probe(NamedTuple):
    """One probe: `provider:module:function:name`, its identifier in this session and what fires it."""

    id: int
    provider: str
    module: str
    function: str
    name: str
    firing: Firing

    def __str__(self) -> str:
        return f"{self.provider}:{self.module}:{self.function}:{self.name}"
