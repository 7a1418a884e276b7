"""`doctor`: what this kernel and this user can do, and what to do about what they cannot."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from sonde.cli.messages import UsageError
from sonde.cli.output import show
from sonde.engines.embedded import survey as embedded
from sonde.engines.kernel.survey import Row, survey

_WIDTH = 79
_NAME, _STATE = 26, 8


def doctor(words: Sequence[str]) -> int:
    """Print the survey; returns 0 if programs can be loaded at all, else 1."""
    if words:
        raise UsageError(f"doctor takes no arguments: {words[0]}")
    rows = survey()
    show("".join(_lines(row) for row in (*rows, *embedded.survey())))
    return 0 if all(row.state == "yes" for row in rows if row.name == "bpf") else 1


def _lines(row: Row) -> str:
    head = f"{row.name:<{_NAME}}{row.state:<{_STATE}}"
    indent = " " * (_NAME + _STATE)
    text = textwrap.fill(row.why, _WIDTH, initial_indent=head, subsequent_indent=indent)
    if row.remedy:
        remedy = f"{indent}-> {row.remedy}"
        text += "\n" + textwrap.fill(remedy, _WIDTH, subsequent_indent=indent + "   ")
    return text + "\n"
