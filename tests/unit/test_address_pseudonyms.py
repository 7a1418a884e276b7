"""Pseudonyms of addresses: each has one of its own, neighbours stay neighbours, and what is no address stays."""

import re
import struct

from hypothesis import given
from hypothesis import strategies as st

from sonde.engines.fired import FiringThread, MemoryRead, RecordedFiring
from sonde.recording.address_pseudonyms import AddressPseudonyms
from sonde.recording.anonymity import Pseudonyms
from sonde.runtime.machine.memory import FIRST_ADDRESS, OFFSET_BITS

kernel = st.integers(0xFFFF_8880_0000_0000, 0xFFFF_8880_4000_0000)
users = st.one_of(st.integers(0x5555_0000_0000, 0x5555_0400_0000), st.integers(0x7FFF_0000_0000, 0x7FFF_0400_0000))
addresses = st.lists(st.one_of(kernel, users), min_size=1, max_size=60)


@given(addresses)
def test_each_address_has_one_pseudonym_of_its_own(numbers):
    pseudonym = AddressPseudonyms()
    found = {number: pseudonym(number) for number in numbers}
    assert all(pseudonym(number) == other for number, other in found.items())
    assert len(set(found.values())) == len(found)
    assert all(number & 4095 == other & 4095 for number, other in found.items())
    kept = [other for number, other in found.items() if number >> 63]
    assert all(other >> OFFSET_BITS > (FIRST_ADDRESS >> OFFSET_BITS) + 0x2000 for other in kept)


@given(addresses, kernel, st.integers(0, 1 << 14))
def test_members_of_an_object_of_the_kernel_are_found_from_its_beginning(others, number, offset):
    """It lies at a multiple of its size, as slabs are aligned."""
    start = number & -(1 << 15)
    pseudonym = AddressPseudonyms()
    for each in others:
        pseudonym(each)
    assert pseudonym(start + offset) - pseudonym(start) == offset


@given(users, st.integers(0, 1 << 23))
def test_code_is_found_from_where_its_file_is_mapped(start, offset):
    pseudonym = AddressPseudonyms()
    pseudonym.whole(start, start + (1 << 23) + 1)
    assert pseudonym(start + offset) - pseudonym(start) == offset


@given(st.integers(0, (1 << 32) - 1), st.integers(-(1 << 20), -1))
def test_counts_and_errors_stay(count, error):
    pseudonym = AddressPseudonyms()
    assert pseudonym(count) == count
    assert pseudonym(error % (1 << 64)) == error % (1 << 64)


def record(*reads, registers=b"", results=()):
    return RecordedFiring(0, 5, 0, FiringThread(7, 7, b"it"), b"", registers, tuple(reads), results=results)


def changed(kinds, fired):
    from sonde.engines.firing_records import decode, encode

    return decode(Pseudonyms(kinds)(encode(fired)))[0]


@given(st.integers(1, 4_000_000), st.integers(1, 4_000_000), st.integers(0x5555_5555_0000, 0x5555_5565_0000))
def test_two_numbers_in_memory_are_no_address(pid, tid, pointer):
    """A pointer beside them is one, where it was followed or was in a register."""
    data = struct.pack("<IIQQ", tid, pid, pointer, 0)
    reads = MemoryRead(0xFFFF_8880_0000_1000, data), MemoryRead(pointer, b"\1\2\3\4")
    found = changed(("addresses",), record(*reads))
    assert found.reads[0].data[:8] == data[:8]
    assert struct.unpack_from("<Q", found.reads[0].data, 8) == (found.reads[1].address,)


@given(st.text("/abcXYZ.", min_size=2, max_size=30), st.integers(0x5555_5555_0000, 0x5555_5565_0000), st.integers(0, 7))
def test_what_is_left_of_a_pointer_behind_a_text_does_not_change_it(text, pointer, at):
    memory = bytearray(struct.pack("<6Q", *[pointer] * 6))
    memory[at : at + len(text) + 1] = text.encode() + b"\0"
    found = changed(("addresses",), record(MemoryRead(pointer + at, bytes(memory[at:]))))
    assert found.reads[0].data.partition(b"\0")[0] == text.encode()


@given(st.binary(min_size=8, max_size=8))
def test_eight_characters_in_a_register_get_a_pseudonym(word):
    text = bytes(0x21 + each % 90 for each in word).translate(bytes.maketrans(b"/:=,;'\" .-", b"aaaaaaaaaa"))
    registers = struct.pack("<QQ", 0x0000_1234_5678_9ABC, 77) + text
    found = changed(("paths",), record(registers=registers)).registers
    assert found[:16] == registers[:16]
    assert found[16:] != text or text.isalpha()
    assert len(found) == len(registers)


@given(
    st.sampled_from("BHIQ"),
    st.integers(0, (1 << 64) - 1),
    st.sampled_from([("names",), ("paths",), ("names", "paths")]),
)
def test_a_number_that_was_read_by_itself_stays(size, number, kinds):
    """Whatever characters its bytes would be, but eight that all are some, and two texts."""
    data = struct.pack(f"<{size}", number % (1 << 8 * struct.calcsize(size)))
    found = changed(kinds, record(MemoryRead(0x5555_5555_1000, data))).reads[0].data
    is_text = re.match(rb"[ -~]{2,}\0[ -~]", data) or re.fullmatch(rb"[!-~]{8}", data)
    assert found == data or is_text


@given(st.text([chr(each) for each in range(0x21, 0x7F)], min_size=4, max_size=4))
def test_a_pointer_that_would_be_text_leads_to_where_it_led(characters):
    for base in (0x5555_0000_0000, 0xFFFF_C900_0000_0000):
        pointer = base | int.from_bytes(characters.encode(), "little")
        for before in (b"", b"some/text\0\0\0\0\0\0\0"):
            data = before + struct.pack("<Q", pointer) + bytes(16)
            reads = MemoryRead(0xFFFF_8880_0000_1000, data), MemoryRead(pointer, b"\1\2\3")
            for kinds in (("paths",), ("names", "paths", "addresses")):
                found = changed(kinds, record(*reads)).reads
                assert struct.unpack_from("<Q", found[0].data, len(before)) == (found[1].address,)


@given(st.lists(st.text("abcXYZ_", min_size=2, max_size=12), min_size=2, max_size=5), st.integers(1, 400))
def test_a_word_has_one_pseudonym_where_a_page_ends_within_it(words, at):
    """What lies across pages is read page by page."""
    text = "/".join(["", *words, *words]).encode() + b"\0"
    at %= len(text)
    start, end = 0x7FFF_0000_1000 - at, 0x7FFF_0000_1000
    pieces = [MemoryRead(start, text[:at]), MemoryRead(end, text[at:])] if at else [MemoryRead(end, text)]
    reads = changed(("paths",), record(*pieces)).reads
    found = b"".join(each.data for each in reads).rstrip(b"\0").decode().split("/")[1:]
    assert found[: len(words)] == found[len(words) :]
    assert len(set(found)) == len(set(words))
