"""What happens when the reader of the standard output goes away: usually a signal ends sonde at once."""

from __future__ import annotations

import signal


def outlive_reader() -> None:
    """For who writes a recording, which is to get its end: the session notices that nobody reads, and fails by
    `ReaderGoneError`. Commands that it starts have the signal as usual (`launch.py`)."""
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
