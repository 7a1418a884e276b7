"""What providers and engines offer the registry, and the blocks of probe identifiers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sonde.model.probe import Probe
from sonde.model.types import Type
from sonde.providers.pattern import Pattern
from sonde.typed import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from sonde.model.catalog import TypedArgument


class IdentifierBlock(NamedTuple):
    """Identifiers `first` to `last`, kept for one provider.

    Each provider computes a probe's identifier from something that does not change while the kernel runs (a system
    call's number, a trace event's id), so that listing, `-i` and tracing agree and nobody has to enumerate.
    """

    first: int
    last: int


DTRACE = IdentifierBlock(1, 3)
SYSCALL = IdentifierBlock(4, 2999)
PROFILE = IdentifierBlock(3000, 3999)
RAWTP = IdentifierBlock(4000, 9999)
SDT = IdentifierBlock(10000, 79999)
PROC = IdentifierBlock(80000, 80099)
SCHED = IdentifierBlock(80100, 80199)
IO = IdentifierBlock(80200, 80299)
LOCKSTAT = IdentifierBlock(80300, 80399)
IP = IdentifierBlock(80400, 80499)
TCP = IdentifierBlock(80500, 80599)
UDP = IdentifierBlock(80600, 80699)
VMINFO = IdentifierBlock(80700, 80799)
SYSINFO = IdentifierBlock(80800, 80899)
FSINFO = IdentifierBlock(80900, 80999)
CPC = IdentifierBlock(81000, 84999)
PERF = IdentifierBlock(85000, 94999)
MIB = IdentifierBlock(95000, 95299)
NFSV3 = IdentifierBlock(95300, 95399)
NFSV4 = IdentifierBlock(95400, 95499)
ITER = IdentifierBlock(95500, 96999)
FBT = IdentifierBlock(100_000, 399_999)
RAWFBT = IdentifierBlock(400_000, 699_999)
PACKET = IdentifierBlock(700_000, 899_999)
USDT = IdentifierBlock(900_000, 999_999)
PID = IdentifierBlock(1_000_000, 1_999_999_999)
KERNEL_PLACES = IdentifierBlock(2_000_000_000, (1 << 31) - 1)


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

    def arguments(self, probe: Probe) -> tuple[TypedArgument, ...] | None:
        """The probe's `args[]`, None if it has no typed ones."""


class Offer(Protocol):
    """What an engine has that describes itself to the compiler as a kernel does: its types, and what it can fire."""

    def types(self) -> bytes | None:
        """BTF of the structures that programs see and of the tracepoints that fire; None: the kernel's."""

    def has_provider(self, name: str) -> bool:
        """Whether any of the provider's probes can fire."""

    def has_helper(self, name: str) -> bool:
        """Whether programs are told by a helper of the engine's own: `open_file`, `cpu_time`."""

    def looks_at_calls(self) -> bool:
        """Whether it leaves return addresses as they are, and looks at that of each call before it waits for one."""

    def fires(self, probe: Probe) -> bool:
        """Whether the probe, of a provider that it has, can fire."""

    def has_call(self, number: int, is_compat: bool) -> bool | None:
        """Whether a system call, of the 32-bit table or not, can fire; None: if this machine's kernel has it."""

    def refused(self, probe: Probe) -> str:
        """Why a probe of a provider that there is cannot fire and what would help, "" if there is nothing to say."""

    def absence(self, provider: str, is_of_processes: bool) -> str:
        """Why a description with this provider, one of processes or of the kernel, can match no probe and what would
        help, "" where it could."""

    def file(self, path: str) -> str:
        """Where the file lies that a firing has at this path; "" where it is not there, or not the one that was."""

    def part(self, provider: str, names: Iterable[str]) -> str:
        """That it has these probes of a provider alone, and what has the others."""

    def recorded(self, provider: str, module: str, function: str, name: str) -> Sequence[Probe] | None:
        """Of a recording the probes of processes that it has, whatever processes there are today; None of others."""

    def recorded_by_id(self, identifier: int) -> Probe | None:
        """Of a recording the probe of a process with this identifier."""

    def lacks(self, what: str, name: str) -> tuple[str, str]:
        """That there is no such built-in `variable`, `function`, `argument` or kernel `data`, and what would help; ""
        where there is."""
