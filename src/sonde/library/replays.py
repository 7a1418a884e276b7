"""Recordings that scripts are run on (`--replay`): sonde's own, and files that perf has written."""

from __future__ import annotations

from collections.abc import Callable

from sonde.engines.base import FiringFeed
from sonde.engines.fired import FOREIGN, FiringSource
from sonde.formats.perf_data import MAGIC, PerfDataError
from sonde.library.errors import Error
from sonde.recording import perf_firings
from sonde.recording.firing_file import RecordedFirings, RecordingFileError
from sonde.session.replay_inputs import shown_name
from sonde.untrusted import open_named_file

_TAKES = "--replay takes what --record, perf record, tcpdump and the like have written"


def opened_replay(path: str) -> FiringSource:
    """The recording in a file; the caller's to close. Raises Error."""
    try:
        return _opened(path)
    except OSError as error:
        raise Error(f"failed to open {shown_name(path)}: {error.strerror}") from None
    except RecordingFileError as error:
        raise Error(f"{shown_name(path)}: {error}", _TAKES) from None
    except PerfDataError as error:
        raise Error(f"{shown_name(path)}: {error}") from None


def _opened(path: str) -> FiringSource:
    file = open_named_file(path)
    if file.seekable():
        is_perfs = file.read(len(MAGIC)) == MAGIC
        file.seek(0)
        if is_perfs:
            try:
                return perf_firings.PerfFirings(file, path)
            except BaseException:
                file.close()
                raise
    return RecordedFirings(file, path)


def tell_missing(feed: FiringFeed | None, tell: Callable[[str], None]) -> None:
    """What the script has asked of the recording in vain, and what is missing of it. Raises Error where it is damaged:
    what is behind that was not seen."""
    if feed is None:
        return
    is_foreign = feed.origin == FOREIGN
    for text, remedy in feed.sentences():
        tell(f"{text}: {_FOREIGN if is_foreign else remedy}")
    if feed.lost:
        remedy = "perf record -m" if is_foreign else "-b"
        tell(f"{feed.lost} firings found no room when they were recorded: more fit with a greater {remedy}")
    if feed.damage:
        raise Error(f"{shown_name(feed.path)}: {feed.damage}", feed.remainder)


_FOREIGN = "perf keeps no memory, and stacks with -g alone; sonde --record keeps both"
