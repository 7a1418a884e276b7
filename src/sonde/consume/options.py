"""The run-time options that decide how the output looks and how aggregations are sorted."""

from __future__ import annotations


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
