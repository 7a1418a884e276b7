"""Option flowindent: entries and returns as an indented tree."""

from __future__ import annotations

from sonde.probe import Probe

HEADING = b"%-41s"
_STEP = 2


def _kind(probe: Probe) -> str:
    return probe.name if probe.name in ("entry", "return") else ""


class Flow:
    """Keeps the indentation of each CPU."""

    def __init__(self) -> None:
        self._indents: dict[int, int] = {}
        self._last: dict[int, int] = {}

    def line(self, cpu: int, probe: Probe) -> bytes:
        """The beginning of one record's line, 41 columns; indents what follows an entry, unindents a return.

        When several clauses record the same entry or return, only the first one is drawn with an arrow.
        """
        kind = _kind(probe)
        if self._last.get(cpu) == probe.id:
            kind = ""
        self._last[cpu] = probe.id
        indent = self._indents.get(cpu, 0)
        if kind == "return":
            indent = max(indent - _STEP, 0)
        self._indents[cpu] = indent + _STEP if kind == "entry" else indent
        return b"%-41s" % (b" " * indent + _text(kind, probe))


def _text(kind: str, probe: Probe) -> bytes:
    shaft = "=" if probe.provider == "syscall" else "-"
    match kind:
        case "entry":
            text = f" {shaft}> {probe.function}"
        case "return":
            text = f" <{shaft} {probe.function}"
        case _:
            text = f"| {probe.function}:{probe.name}"
    return text.encode(errors="surrogateescape")
