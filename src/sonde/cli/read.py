"""`read FILE`: what `record` has written, shown as it would have been at the time, with the samples."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.cli.arguments import parse
from sonde.cli.messages import Messages
from sonde.cli.record import FILE
from sonde.cli.showing import conclude, how_to_show, require_recording
from sonde.library import showing

_NO_PICTURES = "aggregations are looked at while they are counted"


def read_file(words: Sequence[str], messages: Messages) -> int:
    """Print a perf.data file; takes -q, -F, -o, -x and --act -w besides its name. Returns exit()'s argument."""
    arguments = parse(words)
    require_recording(arguments, "read", (0, 1), "records", _NO_PICTURES)

    path = (*arguments.operands, FILE)[0]
    shown = showing.show_perf_data(path, how_to_show(arguments, messages), is_named=bool(arguments.operands))
    return conclude(path, shown, messages)
