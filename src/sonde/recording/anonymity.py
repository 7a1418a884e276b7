"""Recordings without what would tell whose they are: names, paths and addresses become pseudonyms, the same for the
same all through a recording.

A pseudonym is as long as what it stands for, so nothing moves. Words of paths, of other strings and of names come from
one table: a program and the last part of its path stay equal. Addresses move with all that lies around them, so that
reads, registers and stacks still fit each other.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence

from sonde.arch import pages
from sonde.bpf.helpers import OPEN_FILE
from sonde.engines.fired import KeptPacket, MemoryRead, RecordedFiring
from sonde.engines.firing_records import decode, encode
from sonde.model.probe import Packet, Probe, RawTracepoint
from sonde.recording.address_pseudonyms import AddressPseudonyms
from sonde.recording.packet_pseudonyms import PacketPseudonyms
from sonde.symbols.mappings import Mapping
from sonde.symbols.process_events import Mapped, MappingsSnapshot, ProcessEvent

NAMES, PATHS, ADDRESSES = "names", "paths", "addresses"
KINDS = (NAMES, PATHS, ADDRESSES)

_WORD = re.compile(rb"[^\x00-\x20/:=,;'\"]+")
_TEXT = re.compile(rb"[\x21-\x7e][\x20-\x7e]{3,}(?=\x00|$)")
"""Text in memory that was read as bytes: four characters and more, up to a NUL."""

_OPENING = re.compile(rb"(?:[\x20-\x7e]{2,}|[./])\x00")
"""Text that memory begins with: a string that was read as bytes, or a pointer in two thousand."""

_WORD_OF_TEXT = re.compile(rb"[\x21-\x7e]{8}")
"""Text in a register or an argument: eight characters, which no count and no time is. What is shorter may be a
number."""

_TWO_TEXTS = re.compile(rb"[\x20-\x7e]{2,}\x00[\x20-\x7e]")
"""A program's name and an argument, which are read as so many bytes."""

_NUMBERS = (1, 2, 4, 8)
"""Sizes of reads that are of a number, or a pointer."""

_LINE = re.compile(rb"[\x20-\x7e]{4,}")

_DOTTED = re.compile(rb"(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?![\d.])")
_KEPT = frozenset((b".", b"..", b"-"))
_LETTERS = b"abcdefghijklmnopqrstuvwxyz"

_WORDS = struct.Struct("<Q")
_INET, _INET6 = 2, 10
_FAMILY = struct.Struct("<H")


class Pseudonyms:
    """Of one recording of these probes; `kinds` are some of KINDS."""

    def __init__(self, kinds: tuple[str, ...], probes: Sequence[Probe] = ()) -> None:
        self.kinds = kinds
        self._links = {at: each.firing.link for at, each in enumerate(probes) if isinstance(each.firing, Packet)}
        """What packets begin with, by the places of their probes."""
        self._raw = {at for at, each in enumerate(probes) if isinstance(each.firing, RawTracepoint)}
        self._packets = PacketPseudonyms(self._host_number, self._payload)
        self._words: dict[bytes, bytes] = {}
        self._counts: dict[int, int] = {}
        self._address = AddressPseudonyms()
        self._files: dict[tuple[str, int], int] = {}
        self._hosts: dict[bytes, bytes] = {}

    def __call__(self, record: bytes) -> bytes:
        """The record of a firing with pseudonyms in it."""
        if not self.kinds:
            return record
        fired, flags = decode(record)
        return encode(self._changed(fired), flags)

    def event(self, event: ProcessEvent) -> ProcessEvent:
        """What a process has mapped, likewise."""
        if isinstance(event, Mapped):
            return event._replace(mapping=self._mapping(event.mapping))
        if isinstance(event, MappingsSnapshot):
            return event._replace(mappings=tuple(map(self._mapping, event.mappings)))
        return event

    def _changed(self, fired: RecordedFiring) -> RecordedFiring:
        thread = fired.thread
        if NAMES in self.kinds:
            thread = thread._replace(comm=self._word(thread.comm), uid=0, gid=0)
        if ADDRESSES in self.kinds:
            thread = thread._replace(address=self._address(thread.address))
        # Which words of memory are addresses is told by those that are in any case.
        stacks = self._stack(fired.kernel_stack), self._stack(fired.user_stack)
        registers = self._numbers(self._words_of_text(fired.registers))
        for each in fired.reads:
            self._address(each.address)
        return fired._replace(
            thread=thread,
            context=self._context(fired),
            registers=registers,
            reads=tuple(map(self._read, _across_pages(fired.reads))),
            kernel_stack=stacks[0],
            user_stack=stacks[1],
            results=tuple((helper, self._result(helper, result)) for helper, result in fired.results),
            packet=self._packet(fired),
        )

    def _context(self, fired: RecordedFiring) -> bytes:
        """Arguments are as registers are, the record of a trace event is memory."""
        if fired.probe in self._links:
            return fired.context
        if fired.probe in self._raw:
            return self._numbers(self._words_of_text(fired.context))
        return self._memory(0, self._bytes(fired.context))

    def _packet(self, fired: RecordedFiring) -> KeptPacket | None:
        """Of a kind of packets whose addresses cannot be found nothing is kept."""
        packet, link = fired.packet, self._links.get(fired.probe)
        if packet is None:
            return None
        if ADDRESSES not in self.kinds:
            return packet._replace(data=self._payload(packet.data))
        changed = self._packets.guessed(packet.data) if link is None else self._packets.changed(packet.data, link)
        return packet._replace(data=changed or b"")

    def _payload(self, data: bytes) -> bytes:
        """Lines of text among other bytes."""
        return _LINE.sub(lambda found: self._text(found[0]), data)

    def _read(self, read: MemoryRead) -> MemoryRead:
        data = read.data
        if data is not None:
            data = (
                self._text(data)
                if read.is_string
                else self._memory(read.address, self._socket(self._opened(read.address, data)))
            )
        return read._replace(
            address=self._address(read.address) if ADDRESSES in self.kinds else read.address, data=data
        )

    def _memory(self, address: int, data: bytes) -> bytes:
        """Pointers stand where addresses can be divided by their size."""
        if ADDRESSES not in self.kinds:
            return data
        found, before = bytearray(data), -address % _WORDS.size
        texts = [each.span() for each in _TEXT.finditer(data) if each.end() - each.start() > _WORDS.size]
        opening = self._opening(data)
        texts += [opening.span()] if opening else []
        for at in range(before, len(data) - _WORDS.size + 1, _WORDS.size):
            # What is left of a pointer behind the NUL of a text belongs to nothing.
            if not any(start < at + _WORDS.size and at <= end for start, end in texts):
                (number,) = _WORDS.unpack_from(data, at)
                _WORDS.pack_into(found, at, self._address.in_memory(number))
        return bytes(found)

    def _result(self, helper: int, result: int) -> int:
        """Of the helpers whose results are kept one gives an address."""
        return self._address(result) if ADDRESSES in self.kinds and helper == OPEN_FILE else result

    def _words_of_text(self, data: bytes) -> bytes:
        if PATHS not in self.kinds and NAMES not in self.kinds:
            return data
        words = (data[at : at + _WORDS.size] for at in range(0, len(data), _WORDS.size))
        return b"".join(self._text(each) if _WORD_OF_TEXT.fullmatch(each) else each for each in words)

    def _mapping(self, mapping: Mapping) -> Mapping:
        path = mapping.path
        if PATHS in self.kinds and path.startswith("/"):
            path = self._text(path.encode(errors="surrogateescape")).decode(errors="surrogateescape")
            # A device and an inode would tell of one's own machine which file it was.
            inode = self._files.setdefault((mapping.device, mapping.inode), len(self._files) + 1)
            mapping = mapping._replace(device="00:00", inode=inode)
        if ADDRESSES in self.kinds:
            self._address.whole(mapping.start, mapping.end)
            start = self._address(mapping.start)
            mapping = mapping._replace(start=start, end=start + mapping.end - mapping.start)
        return mapping._replace(path=path)

    def _text(self, text: bytes) -> bytes:
        if ADDRESSES in self.kinds:
            text = _DOTTED.sub(lambda found: self._host(found[0]), text)
        if PATHS in self.kinds or NAMES in self.kinds:
            text = _WORD.sub(lambda found: self._word(found[0]) if self._is_secret(found[0]) else found[0], text)
        return text

    def _is_secret(self, word: bytes) -> bool:
        """Whether a word of a text gets a pseudonym: a path may be any, a name is one that is known."""
        return PATHS in self.kinds or word[:15] in self._words

    def _bytes(self, data: bytes, address: int = 0) -> bytes:
        """Text in memory or in the record of a trace event; the characters of which a pointer may consist are none."""

        def changed(found: re.Match[bytes]) -> bytes:
            start = found.start() + address & -_WORDS.size
            at = start - address
            is_word = at >= 0 and found.end() <= at + _WORDS.size <= len(data)
            is_pointer = is_word and self._address.is_known(*_WORDS.unpack_from(data, at))
            return found[0] if is_pointer else self._text(found[0])

        return _TEXT.sub(changed, data)

    def _opened(self, address: int, data: bytes) -> bytes:
        """Memory that was read, which, of a process, may begin with a short text."""
        if len(data) in _NUMBERS:
            return self._text(data) if _WORD_OF_TEXT.fullmatch(data) or _TWO_TEXTS.match(data) else data
        opening = self._opening(data)
        end = opening.end() if opening else 0
        return self._text(data[:end]) + self._bytes(data[end:], address + end)

    def _opening(self, data: bytes) -> re.Match[bytes] | None:
        first = int.from_bytes(data[: _WORDS.size], "little")
        return None if len(data) in _NUMBERS or self._address.is_known(first) else _OPENING.match(data)

    def _word(self, word: bytes) -> bytes:
        if word in _KEPT or not word or _DOTTED.fullmatch(word):
            return word
        known = self._words.get(word)
        if known is None:
            number = self._counts[len(word)] = self._counts.get(len(word), -1) + 1
            letters = bytearray()
            for _ in word:
                number, letter = divmod(number, len(_LETTERS))
                letters.append(_LETTERS[letter])
            known = self._words[word] = bytes(reversed(letters))
        return known

    def _host(self, text: bytes) -> bytes:
        """Another address in text, as long as that was."""
        if text not in self._hosts:
            number = len(self._hosts) + 1
            digits = iter(str(number).rjust(sum(map(text.count, (b"%d" % n for n in range(10)))), "0"))
            self._hosts[text] = bytes(ord(next(digits)) if 48 <= each < 58 else each for each in text)
        return self._hosts[text]

    def _socket(self, data: bytes) -> bytes:
        """struct sockaddr_in or sockaddr_in6 with another address."""
        if ADDRESSES not in self.kinds or len(data) not in (16, 28):
            return data
        (family,) = _FAMILY.unpack_from(data)
        at, size = {_INET: (4, 4), _INET6: (8, 16)}.get(family, (0, 0))
        host = data[at : at + size]
        if not size or at + size > len(data) or not any(host):
            return data
        return data[:at] + self._host_number(host) + data[at + size :]

    def _host_number(self, host: bytes) -> bytes:
        """Another address as the network has it; that of nobody, and that of all, stay."""
        if not any(host) or host == b"\xff" * len(host):
            return host
        if host not in self._hosts:
            self._hosts[host] = (len(self._hosts) + 1).to_bytes(len(host), "big")
        return self._hosts[host]

    def _numbers(self, data: bytes) -> bytes:
        if ADDRESSES not in self.kinds or len(data) < _WORDS.size:
            return data
        # All at once: each firing has two dozen.
        count = len(data) // _WORDS.size
        words = struct.pack(f"<{count}Q", *map(self._address, struct.unpack_from(f"<{count}Q", data)))
        return words + data[count * _WORDS.size :]

    def _stack(self, stack: tuple[int, ...] | None) -> tuple[int, ...] | None:
        if stack is None or ADDRESSES not in self.kinds:
            return stack
        return tuple(map(self._frame, stack))

    def _frame(self, number: int) -> int:
        """A walk along frame pointers takes what code without them has there, which may be text, for an address."""
        return 0 if self._address.is_text(number) else self._address(number)


def _across_pages(reads: Sequence[MemoryRead]) -> Iterator[MemoryRead]:
    """With what was read page by page in one piece: a word may go on behind the end of a page."""
    before: MemoryRead | None = None
    for each in reads:
        if before is None:
            before = each
        elif _goes_on(before, each):
            before = before._replace(data=(before.data or b"") + (each.data or b""))
        else:
            yield before
            before = each
    if before is not None:
        yield before


def _goes_on(before: MemoryRead, read: MemoryRead) -> bool:
    if before.data is None or read.data is None or before.is_string or read.is_string:
        return False
    return read.address == before.address + len(before.data) and not read.address % pages.PAGE
