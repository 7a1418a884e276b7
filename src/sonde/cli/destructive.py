"""Whether a D program does more to the system than look at it, which takes -w."""

from __future__ import annotations

from sonde.cli.messages import FatalError
from sonde.model.options import OptionTable


def require_allowed(destructive: bool, options: OptionTable, reason: str = "") -> None:
    """Raise FatalError unless such actions are allowed or there are none; `reason` is of a compiled program."""
    if destructive and not options.on("destructive"):
        text = "could not enable tracing: Destructive actions not allowed"
        how = "allow them with -w" if reason else "allow them with -w or `#pragma D option destructive`"
        raise FatalError(text, hint=f"{reason}\n{how}".strip())
