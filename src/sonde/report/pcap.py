"""What pcap() recorded: a capture file where the output is one of freopen(), else text by tshark or as bytes.

The format is that of libpcap (https://www.tcpdump.org/manpages/pcap-savefile.5.html) with times in ns.
"""

from __future__ import annotations

import os
import stat
import struct
import subprocess

from sonde.formats.bpf_ring import RING_HEADER
from sonde.model.records import Field, PacketAction
from sonde.model.units import SECOND
from sonde.report.hexdump import hexdump
from sonde.report.output import Output
from sonde.untrusted import open_file

_MAGIC, _VERSION, _LONGEST = 0xA1B23C4D, (2, 4), 65535
_HEADER_SIZE = 24
_WORD = (1 << 32) - 1
_NOBODY = 65534
_READER = ("tshark", "-l", "-n", "-r", "-")
"""Reads a capture from its input and writes a line for each packet as it comes."""


def header(link: int) -> bytes:
    """The beginning of a capture of that link type."""
    return struct.pack("<IHHiIII", _MAGIC, *_VERSION, 0, 0, _LONGEST, link)


def _link_type(descriptor: int) -> int | None:
    """The link type of the capture that an open file begins with; None if it begins otherwise."""
    try:
        with open_file(f"/proc/self/fd/{descriptor}") as file:
            words = struct.unpack("<IHHiIII", file.read(_HEADER_SIZE))
    except (OSError, struct.error):
        return None
    return words[-1] if words[0] == _MAGIC else None


def packet(time: int, length: int, data: bytes) -> bytes:
    """One packet of `length` bytes, of which `data` were captured; `time` in ns since 1970."""
    seconds, rest = divmod(time, SECOND)
    return struct.pack("<IIII", seconds & _WORD, rest, len(data), length & _WORD) + data


class Packets:
    """Shows the packets of one session on its output."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._readers: dict[int, subprocess.Popen[bytes]] = {}
        self._has_reader = True
        self._links: dict[tuple[int, int], int] = {}

    def show(self, action: PacketAction, record: memoryview) -> str | None:
        """`record` is the whole record behind its header in the ring. Returns why it could not be shown, if so."""
        time, length, captured, link = (_number(field, record) for field in action[:4])
        start = RING_HEADER + action.data.offset
        if action.data.kind == "long_bytes":
            start = RING_HEADER + int.from_bytes(record[start : start + 4], "little")
        data = bytes(record[start : start + captured])
        if self._output.is_switched:
            return self._save(link, packet(time, length, data))
        if not self._read(link, packet(time, length, data)):
            self._output.write(hexdump(data))
        return None

    @property
    def is_saving(self) -> bool:
        """Whether the output is a capture at present."""
        if not self._output.is_switched:
            return False
        file = os.fstat(self._output.descriptor)
        return (file.st_dev, file.st_ino) in self._links

    def _save(self, link: int, text: bytes) -> str | None:
        """Append to the output's file, which is one capture of one link type."""
        self._output.flush()
        file = os.fstat(self._output.descriptor)
        identity = file.st_dev, file.st_ino
        if identity not in self._links or (stat.S_ISREG(file.st_mode) and not file.st_size):
            begun = _link_type(self._output.descriptor) if file.st_size else link
            if begun is None:
                return "failed to save a packet: the file has something else in it"
            self._links[identity] = begun
            if not file.st_size:
                self._output.write(header(link))
        begun = self._links[identity]
        if begun != link:
            return f"failed to save a packet of link type {link}: the file has packets of link type {begun}"
        self._output.write(text)
        return None

    def _read(self, link: int, text: bytes) -> bool:
        """Let the reader for this link type have it; False if there is none."""
        reader = self._readers.get(link) or self._start(link)
        if reader is None or reader.stdin is None:
            return False
        self._output.flush()
        try:
            reader.stdin.write(text)
            reader.stdin.flush()
        except BrokenPipeError:
            self._has_reader = False
            return False
        return True

    def _start(self, link: int) -> subprocess.Popen[bytes] | None:
        """A reader. It need not be root: what it reads comes from the network."""
        if not self._has_reader:
            return None
        is_root = os.geteuid() == 0
        user, groups = (_NOBODY, ()) if is_root else (None, None)
        try:
            reader = subprocess.Popen(
                _READER, stdin=subprocess.PIPE, stdout=self._output.descriptor, stderr=subprocess.DEVNULL, user=user,
                group=user, extra_groups=groups, start_new_session=True,
            )  # fmt: skip
        except OSError:
            self._has_reader = False
            return None
        assert reader.stdin is not None
        reader.stdin.write(header(link))
        self._readers[link] = reader
        return reader

    def finish(self) -> None:
        """Wait until the readers have shown everything."""
        self._output.flush()
        for reader in self._readers.values():
            reader.communicate()
        self._readers.clear()


def _number(field: Field, record: memoryview) -> int:
    start = RING_HEADER + field.offset
    return int.from_bytes(record[start : start + field.size], "little")
