"""Stacks by frame pointers, from memory that is as the machine lays it out."""

import struct

import pytest

from sonde.arch.x86_64.address_space import FIVE_LEVELS, FOUR_LEVELS
from sonde.engines.embedded.sources.stack import walker
from sonde.runtime.kernel_types import layout

OFFSETS = layout("struct pt_regs").offsets


def stack(user_end, *frames):
    """The addresses found from 0x1000, with frames at these addresses, each of which is returned from to itself + 1."""
    registers = bytearray(168)
    struct.pack_into("=Q", registers, OFFSETS["ip"], 0x1000)
    struct.pack_into("=Q", registers, OFFSETS["bp"], frames[0])
    memory = {}
    for frame, caller in zip(frames, [*frames[1:], 0], strict=True):
        memory |= dict(enumerate(struct.pack("=QQ", caller, frame + 1), frame))

    def read(tid, address, size):
        if not any(at in memory for at in range(address, address + size)):
            raise OSError
        return bytes(memory.get(at, 0) for at in range(address, address + size))

    return walker(registers, read, user_end)(1, 20)


@pytest.mark.parametrize("space", [FOUR_LEVELS, FIVE_LEVELS], ids=["four", "five"])
def test_frames_are_followed_to_the_end_of_what_processes_have(space):
    last = space.user_end - 16
    assert stack(space.user_end, 0x7000, 0x7FF8, last) == [0x1000, 0x7001, 0x7FF9, last + 1]
    assert stack(space.user_end, 0x7000, last + 1) == [0x1000, 0x7001]
    assert stack(space.user_end, 1 << 63) == [0x1000]
