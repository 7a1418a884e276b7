"""The run-time options that decide how the output looks and how aggregations are sorted."""

from __future__ import annotations

import os

from sonde.model.known_options import OPTIONS, SWITCH
from sonde.model.options import OptionTable


class Options:
    """The dynamic options, read each time they are needed: setopt() may change them while tracing.

    `testing` leaves the CPU and ID columns out (the environment variable _DTRACE_TESTING). The aggsort positions count
    from 0. `stackindent` is in columns, `printsize` and `strsize` in bytes, `aggrate` in nanoseconds.
    """

    agghist: bool
    aggpack: bool
    aggpercpu: bool
    aggrate: int
    aggsortkey: bool
    aggsortkeypos: int
    aggsortpos: int
    aggsortrev: bool
    aggzoom: bool
    droptags: bool
    flowindent: bool
    inlines: bool
    noresolve: bool
    printsize: int
    quiet: bool
    rawbytes: bool
    stackindent: int
    strsize: int
    testing: bool

    __slots__ = tuple(__annotations__)

    def __init__(self) -> None:
        self.testing = False
        for name in _NAMES:
            setattr(self, name, OPTIONS[name].default)


_NAMES = tuple(name for name in Options.__slots__ if name in OPTIONS)


def display_options(options: OptionTable, shown: Options) -> Options:
    """Bring the run-time options up to date with the table."""
    for name in filter(options.is_set, _NAMES):
        setattr(shown, name, options.on(name) if OPTIONS[name].kind == SWITCH else options.number(name))
    shown.testing = "_DTRACE_TESTING" in os.environ
    return shown
