"""What an engine has that describes itself to the compiler as if it were a kernel: its types, and what it can fire."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sonde.model.probe import Probe
from sonde.typed import Protocol


class Offer(Protocol):
    def types(self) -> bytes | None:
        """BTF of the structures that programs see and of the tracepoints that fire; None: the kernel's."""

    def has_provider(self, name: str) -> bool:
        """Whether any of the provider's probes can fire."""

    def has_helper(self, name: str) -> bool:
        """Whether programs are told by a helper of the engine's own: `open_file`, `cpu_time`."""

    def fires(self, probe: Probe) -> bool:
        """Whether the probe, of a provider that it has, can fire."""

    def refused(self, probe: Probe) -> str:
        """Why a probe of a provider that there is cannot fire and what would help, "" if there is nothing to say."""

    def absence(self, provider: str) -> str:
        """Why a description with this provider can match no probe and what would help, "" where it could."""

    def part(self, provider: str, names: Iterable[str]) -> str:
        """That it has these probes of a provider alone, and what has the others."""

    def recorded(self, provider: str, module: str, function: str, name: str) -> Sequence[Probe] | None:
        """Of a recording the probes of processes that it has, whatever processes there are today; None of others."""

    def lacks(self, what: str, name: str) -> tuple[str, str]:
        """That there is no such built-in `variable`, `function`, `argument` or kernel `data`, and what would help; ""
        where there is."""
