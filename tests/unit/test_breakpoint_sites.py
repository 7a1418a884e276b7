"""Places of breakpoints as the guardian is told of them, and instructions that run elsewhere than where they stand."""

import pytest

from sonde.arch import displacement, instruction_lengths
from sonde.engines.embedded.tracer import sites
from sonde.engines.embedded.tracer.plan import EntryFetch
from sonde.engines.embedded.tracer.sites import BreakpointSite, FileSites

AT, SLOT = 0x55_5555_1000, 0x55_5556_0000


def test_sites_come_as_they_were():
    files = [
        FileSites(
            0xFD00,
            1 << 40,
            (BreakpointSite(0x1130, 0, sites.HIT | sites.HOLD_RETURN), BreakpointSite(1 << 33, 7, 3, 0x4010, 4711)),
        ),
        FileSites(
            1,
            2,
            (BreakpointSite(5, 1, 1, 0, 0, (EntryFetch(14, 256, -8), EntryFetch(13, 1, 0))), BreakpointSite(6, 2, 1)),
        ),
        FileSites(3, 4, ()),
    ]
    assert sites.from_bytes(sites.to_bytes(files)) == files


def word(code, at):
    return int.from_bytes(code[at : at + 8], "little")


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("55", "55"),  # push %rbp
        ("f30f1efa", "f30f1efa"),  # endbr64
        ("c3", "c3"),
        ("488b0510000000", "488b0510000000"),  # mov 0x10(%rip), %rax
        ("833d1000000007", "833d1000000007"),  # cmpl $7, 0x10(%rip): the immediate is behind the distance
        ("c5f86f0510000000", "c5f86f0510000000"),  # by a VEX prefix
        ("660f3800c1", "660f3800c1"),
    ],
)
def test_what_counts_from_the_program_counter_counts_from_the_slot(code, shown):
    found = displacement.displaced(bytes.fromhex(code) + bytes(8), AT, SLOT)
    size = len(shown) // 2
    expected = bytearray.fromhex(shown)
    place = code.find("10000000") // 2
    if "10000000" in code:
        expected[place : place + 4] = (0x10 + AT - SLOT).to_bytes(4, "little", signed=True)
    assert found.code[:size] == bytes(expected)
    assert found.code[size : size + 6] == bytes.fromhex("ff2500000000")
    assert word(found.code, size + 6) == AT + len(code) // 2
    assert [(each.offset, each.address, each.begins) for each in found.resumptions] == [
        (0, AT, True), (size, AT + len(code) // 2, False),
    ]  # fmt: skip


@pytest.mark.parametrize(("code", "size", "distance"), [("eb10", 2, 16), ("e910000000", 5, 16), ("ebf0", 2, -16)])
def test_jumps_jump_from_the_slot(code, size, distance):
    found = displacement.displaced(bytes.fromhex(code) + bytes(10), AT, SLOT)
    assert word(found.code, 6) == AT + size + distance


@pytest.mark.parametrize(("code", "size"), [("7410", 2), ("0f8410000000", 6), ("e310", 2), ("67e310", 3)])
def test_branches_jump_to_both_ends(code, size):
    found = displacement.displaced(bytes.fromhex(code) + bytes(10), AT, SLOT)
    behind, taken = found.resumptions[1:]
    assert (behind.address, taken.address) == (AT + size, AT + size + 16)
    assert word(found.code, behind.offset + 6) == AT + size
    assert word(found.code, taken.offset + 6) == AT + size + 16
    assert found.code[behind.offset - 1] == taken.offset - behind.offset


def test_a_call_pushes_the_address_behind_it():
    found = displacement.displaced(bytes.fromhex("e810000000") + bytes(10), AT, SLOT)
    assert found.code[:2] == bytes.fromhex("ff35")
    pushed = 6 + int.from_bytes(found.code[2:6], "little")
    assert (word(found.code, pushed), word(found.code, 12)) == (AT + 5, AT + 5 + 16)
    assert tuple(found.resumptions[1]) == (6, AT, 8, True)


@pytest.mark.parametrize(("code", "jump"), [("ffd0", "ffe0"), ("ff5008", "ff6008"), ("ff542408", "ff642410")])
def test_an_indirect_call_jumps_through_the_same_operand(code, jump):
    """The last one counts from the stack pointer, which the push has moved."""
    found = displacement.displaced(bytes.fromhex(code) + bytes(10), AT, SLOT)
    assert found.code[6 : 6 + len(jump) // 2].hex() == jump
    pushed = 6 + int.from_bytes(found.code[2:6], "little")
    assert word(found.code, pushed) == AT + len(code) // 2


@pytest.mark.parametrize(
    "code", ["0f05", "cd80", "cc", "c7f800000000", "ff5c2408", "06", "488b8000", "67488b0510000000"]
)
def test_what_cannot_run_elsewhere(code):
    assert displacement.displaced(bytes.fromhex(code), AT, SLOT) is None


def test_too_far_is_not_reached():
    code = bytes.fromhex("488b0510000000") + bytes(9)
    assert displacement.displaced(code, AT, AT + (1 << 32)) is None


@pytest.mark.long
def test_nothing_takes_more_than_a_slot():
    """Whatever two bytes an instruction begins with, and some prefixes before them."""
    for prefix in (b"", b"\x66", b"\x48", b"\xf3\x48", b"\x67"):
        for number in range(1 << 16):
            code = prefix + number.to_bytes(2, "little") + b"\x05\x10\0\0\0" + bytes(10)
            if instruction_lengths.decode(code, 0) is not None:
                found = displacement.displaced(code, AT, SLOT)
                assert found is None or len(found.code) <= displacement.SLOT
