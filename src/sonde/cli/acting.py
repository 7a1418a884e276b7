"""What becomes of system(), freopen() and ftruncate() when a recording is shown."""

from __future__ import annotations

from sonde.cli.arguments import Arguments
from sonde.cli.messages import FatalError, Messages
from sonde.model.options import OptionTable
from sonde.report.commands import Act, Shown, perform


def act_of(arguments: Arguments, options: OptionTable) -> Act:
    """They are shown unless they are asked for, twice. Raises FatalError."""
    if "act" not in arguments.flags:
        return Shown()
    if not options.on("destructive"):
        text = "could not show the recording: Destructive actions not allowed"
        raise FatalError(text, hint="--act performs what its program did, as you: give -w, too, if you trust the file")
    return perform


def tell(act: Act, path: str, messages: Messages) -> None:
    """Say what was not performed."""
    if isinstance(act, Shown) and act.count:
        actions = "an action was" if act.count == 1 else f"{act.count} actions were"
        messages.aside(f"{path}: {actions} shown as a line with # and not performed; --act -w performs them")
