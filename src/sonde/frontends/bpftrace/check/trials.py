"""`test:NAME` and `bench:NAME`, which are run where the command is asked to, and are no part of the program else."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.frontends.bpftrace.check.scope import AttachedProbes
from sonde.frontends.bpftrace.errors import BtError, SourceSpan
from sonde.frontends.bpftrace.syntax import nodes
from sonde.model.probe import Internal, Probe
from sonde.typed import NamedTuple

_OF_TESTS = 99_100
"""Identifiers that no provider gives."""
_MOST = 800


class TriedProbe(NamedTuple):
    """The name in the program, and the probe."""

    name: str
    probe: Probe


class TrialProbes:
    """Those of a program, as they are found in it; `mode` is `test` or `bench`, "" where none are run."""

    def __init__(self, mode: str = "") -> None:
        self.mode = mode
        self.found: list[TriedProbe] = []
        self.kinds: dict[str, SourceSpan] = {}
        """Those that the program has, and where the first is."""
        self._names: set[tuple[str, str]] = set()

    def attached(self, point: nodes.AttachPoint, kind: str, fields: Sequence[str]) -> list[AttachedProbes]:
        """The probe of a description, none where it is not to be run. Raises BtError."""
        if point.text == f"{kind}:":
            raise BtError(f"{kind} probes must have a name", point.at)
        if len(fields) != 1:
            raise BtError(f"{kind} probe type requires 1 arguments, found {len(fields)}", point.at)
        (name,) = fields
        if (kind, name) in self._names:
            raise BtError(f'"{name}" was used as the name for more than one {kind.upper()} probe', point.at)
        self._names.add((kind, name))
        self.kinds.setdefault(kind, point.at)
        if kind != self.mode:
            return []
        number = len(self.found)
        if number >= _MOST:
            raise BtError(f"a program has at most {_MOST} {kind} probes", point.at)
        firing = Internal(f"{kind}{number}", is_measured=kind == "bench")
        probe = Probe(_OF_TESTS + number, "dtrace", "", "", firing.name, firing)
        self.found.append(TriedProbe(name, probe))
        return [AttachedProbes(point, f"{kind}:{name}", kind, (probe,))]

    def leaves_out(self, kind: str) -> bool:
        """Whether probes of a kind are not attached where tests are run: all but those at the beginning and end."""
        return bool(self.mode) and kind not in ("begin", "end", *_KINDS)


_KINDS = ("test", "bench")
