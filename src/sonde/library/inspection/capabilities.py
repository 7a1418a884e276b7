"""What this kernel and this user can do."""

from __future__ import annotations

from sonde.typed import NamedTuple


class Capability(NamedTuple):
    """A feature or setting: `state` is `yes`, `no` (not there) or `refused` (there, but not for this user). `purpose`
    tells what it is for, `cause` why it is not so, `remedy` what helps. What could not be tried for want of privileges
    `lacks` them ("CAP_BPF and CAP_PERFMON")."""

    name: str
    state: str
    purpose: str
    cause: str = ""
    remedy: str = ""
    lacks: str = ""

    def __bool__(self) -> bool:
        return self.state == "yes"

    @property
    def why(self) -> str:
        """What it is for and, if it is not so, why."""
        return f"{self.purpose}: {self.cause}" if self.cause else self.purpose


def capabilities() -> dict[str, Capability]:
    """All that `sonde doctor -v` shows, by name and in its order: features of the kernel are tried, which takes some
    tenths of a second."""
    from sonde.engines.embedded import survey as embedded
    from sonde.engines.kernel import survey as kernel

    rows = [*kernel.survey(), *embedded.survey()]
    return {row.name: Capability(row.name, row.state, row.purpose, row.cause, row.remedy, row.lacks) for row in rows}


def has_iterators() -> bool:
    """Whether the kernel says of any that it has them."""
    from sonde.providers.iterators import IteratorProvider
    from sonde.providers.kernel_types import KernelTypes

    return bool(IteratorProvider(KernelTypes()).names())


def has_breakpoints() -> bool:
    """Whether the kernel has places in memory watched."""
    from sonde.machine.event_sources import sources
    from sonde.model.probe import BREAKPOINT

    return BREAKPOINT in sources()
