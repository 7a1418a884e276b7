"""Raw records of one piece, and packets as one."""

from sonde.runtime.perf.raw import Fragment, RawRecord


def linear(data):
    """A record of one linear fragment."""
    return RawRecord(Fragment(len(data), data))


def flat(packet):
    """All of a packet's bytes in a row."""
    whole = bytearray(packet.length)
    packet.copy(memoryview(whole), 0, len(whole))
    return bytes(whole)
