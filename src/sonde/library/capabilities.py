"""What this kernel and this user can do."""

from __future__ import annotations

from sonde.typed import NamedTuple


class Capability(NamedTuple):
    """A feature or setting: `state` is `yes`, `no` (not there) or `refused` (there, but not for this user). `purpose`
    tells what it is for, `cause` why it is not so, `remedy` what helps."""

    name: str
    state: str
    purpose: str
    cause: str
    remedy: str

    def __bool__(self) -> bool:
        return self.state == "yes"


def capabilities() -> dict[str, Capability]:
    """All that `sonde doctor -v` shows, by name: features of the kernel are tried, which takes some tenths of a
    second."""
    from sonde.engines.embedded import survey as embedded
    from sonde.engines.kernel import survey as kernel

    rows = [*kernel.survey(), *embedded.survey()]
    return {each.name: Capability(each.name, each.state, each.purpose, each.cause, each.remedy) for each in rows}
