"""What a provider offers the registry, and the blocks of probe identifiers."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.model.catalog import ProbeArgument
from sonde.model.probe import Probe
from sonde.model.types import Type
from sonde.providers.pattern import Pattern
from sonde.typed import NamedTuple, Protocol


class Block(NamedTuple):
    """Identifiers `first` to `last`, kept for one provider.

    Each provider computes a probe's identifier from something that does not change while the kernel runs (a system
    call's number, a trace event's id), so that listing, `-i` and tracing agree and nobody has to enumerate.
    """

    first: int
    last: int


DTRACE = Block(1, 3)
SYSCALL = Block(4, 2999)
PROFILE = Block(3000, 3999)
RAWTP = Block(4000, 9999)
SDT = Block(10000, 79999)
PROC = Block(80000, 80099)
SCHED = Block(80100, 80199)
IO = Block(80200, 80299)
LOCKSTAT = Block(80300, 80399)
IP = Block(80400, 80499)
TCP = Block(80500, 80599)
UDP = Block(80600, 80699)
VMINFO = Block(80700, 80799)
SYSINFO = Block(80800, 80899)
FSINFO = Block(80900, 80999)
CPC = Block(81000, 84999)
PERF = Block(85000, 94999)
MIB = Block(95000, 95299)
NFSV3 = Block(95300, 95399)
NFSV4 = Block(95400, 95499)
FBT = Block(100_000, 399_999)
RAWFBT = Block(400_000, 699_999)
PACKET = Block(700_000, 899_999)
USDT = Block(900_000, 999_999)
PID = Block(1_000_000, (1 << 31) - 1)


FILES = "uprobe"
"""The provider of probes in files, whatever process runs them."""

STATIC = "usdt"
"""The provider of static probes by this name: of files, and with a number behind it of processes."""


class RecordField(NamedTuple):
    """A field of a trace event's record: `size` bytes at `offset`, counted from the record's start.

    `location` is "" for a value in place; "data" for a u32 that says where the bytes are (low half the offset from
    the record's start, high half the length); "relative" for the same counted from the end of that u32
    (`__data_loc` and `__rel_loc`, include/trace/trace_events.h).
    """

    name: str
    type: Type
    offset: int
    size: int
    location: str = ""


class Provider(Protocol):
    """One provider. `match` is only called with patterns whose provider field matches its name."""

    def match(self, pattern: Pattern) -> Sequence[Probe]:
        """The probes the pattern matches, by identifier."""

    def by_id(self, identifier: int) -> Probe | None:
        """The probe with an identifier of this provider's block."""

    def arguments(self, probe: Probe) -> tuple[ProbeArgument, ...] | None:
        """The probe's `args[]`, None if it has no typed ones."""
