"""`raw FILE`: what --raw has recorded, shown as it would have been at the time."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.cli.arguments import parse
from sonde.cli.messages import Messages
from sonde.cli.showing import conclude, how_to_show, require_recording
from sonde.library import showing

_NO_PICTURES = "the names of what has run are known only while it is traced"


def show_file(words: Sequence[str], messages: Messages) -> int:
    """Print a raw file; takes -q, -F, -o, -x and --act -w besides its name. Returns exit()'s argument."""
    arguments = parse(words)
    require_recording(arguments, "raw", (1,), "traces", _NO_PICTURES)

    (path,) = arguments.operands
    return conclude(path, showing.show_raw(path, how_to_show(arguments, messages)), messages)
