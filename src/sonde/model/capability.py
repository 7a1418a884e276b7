"""One feature or setting of a machine, as engines find it and people ask for it."""

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
