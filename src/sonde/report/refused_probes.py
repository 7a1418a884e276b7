"""Probes that the kernel does not take, for people."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.model.probe import Probe

_FEW = 3


def refused_probes(refused: Sequence[Probe]) -> str:
    """How many are left out, and which are the first."""
    named = ", ".join(map(str, refused[:_FEW]))
    more = f" and {len(refused) - _FEW} more" if len(refused) > _FEW else ""
    probes = "a probe is" if len(refused) == 1 else f"{len(refused)} probes are"
    return f"{probes} left out, which the kernel does not take: {named}{more}"
