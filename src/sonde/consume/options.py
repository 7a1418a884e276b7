"""The run-time options that decide how the output looks and how aggregations are sorted."""

from __future__ import annotations

import os

from sonde.model.options import OptionTable


class Options:
    """The dynamic options, read each time they are needed: setopt() may change them while tracing.

    `testing` leaves the CPU and ID columns out (the environment variable _DTRACE_TESTING). The aggsort positions count
    from 0. `stackindent` is in columns, `printsize` and `strsize` in bytes, `aggrate` in
    nanoseconds.
    """

    __slots__ = (
        "agghist",
        "aggpack",
        "aggpercpu",
        "aggrate",
        "aggsortkey",
        "aggsortkeypos",
        "aggsortpos",
        "aggsortrev",
        "aggzoom",
        "droptags",
        "flowindent",
        "inlines",
        "noresolve",
        "printsize",
        "quiet",
        "rawbytes",
        "stackindent",
        "strsize",
        "testing",
    )

    def __init__(self) -> None:
        self.agghist = False
        self.aggpack = False
        self.aggpercpu = False
        self.aggrate = 0
        self.aggsortkey = False
        self.aggsortkeypos = 0
        self.aggsortpos = 0
        self.aggsortrev = False
        self.aggzoom = False
        self.droptags = False
        self.flowindent = False
        self.inlines = False
        self.noresolve = False
        self.printsize = 8192
        self.quiet = False
        self.rawbytes = False
        self.stackindent = 14
        self.strsize = 256
        self.testing = False


_SWITCHES = (
    "agghist",
    "aggpack",
    "aggpercpu",
    "aggsortkey",
    "aggsortrev",
    "aggzoom",
    "droptags",
    "flowindent",
    "inlines",
    "noresolve",
    "quiet",
    "rawbytes",
)
_NUMBERS = ("aggrate", "aggsortkeypos", "aggsortpos", "printsize", "stackindent", "strsize")


def display_options(options: OptionTable, shown: Options) -> Options:
    """Bring the run-time options up to date with the table."""
    for name in filter(options.is_set, _SWITCHES):
        setattr(shown, name, options.on(name))
    for name in filter(options.is_set, _NUMBERS):
        setattr(shown, name, options.number(name, 0))
    shown.testing = "_DTRACE_TESTING" in os.environ
    return shown
