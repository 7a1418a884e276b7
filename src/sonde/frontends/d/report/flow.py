"""Option flowindent: entries and returns as an indented tree."""

from __future__ import annotations

from collections.abc import Callable

from sonde.model.probe import Probe
from sonde.visible import single_line_bytes

Escape = Callable[[bytes], bytes]
"""A function of sonde/visible.py."""

HEADING = b"%-41s"
_STEP = 2


def _kind(probe: Probe) -> str:
    return probe.name if probe.name in ("entry", "return") else ""


class Flow:
    """Keeps the indentation of each CPU."""

    def __init__(self) -> None:
        self.escape: Escape = single_line_bytes
        self._indents: dict[int, int] = {}
        self._last: dict[int, tuple[int, int]] = {}

    def line(self, cpu: int, probe: Probe, clause: int, is_first: bool = True) -> bytes:
        """The beginning of one record's line, 41 columns; indents what follows an entry, unindents a return.

        When several clauses record the same entry or return, or one has several records, only the first one is drawn
        with an arrow. The first record (`is_first`) of the same clause again is another firing: recursion.
        """
        kind = _kind(probe)
        last_probe, last_clause = self._last.get(cpu, (0, 0))
        if last_probe == probe.id and (last_clause < clause or (last_clause == clause and not is_first)):
            kind = ""
        self._last[cpu] = probe.id, clause
        indent = self._indents.get(cpu, 0)
        if kind == "return":
            indent = max(indent - _STEP, 0)
        self._indents[cpu] = indent + _STEP if kind == "entry" else indent
        return b"%-41s" % (b" " * indent + self.escape(_text(kind, probe)))


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
