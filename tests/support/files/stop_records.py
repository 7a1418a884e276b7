"""Records of the guardian by the names of their fields."""

from typing import NamedTuple


class StopRecord(NamedTuple):
    """A record's fields in the order of stops.RECORD."""

    kind: int
    flags: int
    tid: int
    time: int
    a: int
    b: int
    c: int
    operation: int
    architecture: int
    ip: int
    sp: int
    value: int
    arg0: int
    arg1: int
    arg2: int
    arg3: int
    arg4: int
    arg5: int
    wanted: int
