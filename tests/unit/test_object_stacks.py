"""Stacks of an object's stack maps: whose they are, and their frames by name."""

import struct

import pytest

from sonde.consume.options import Options
from sonde.model.records import MemberSpec, TypeSpec
from sonde.report.object_stacks import Stacks
from sonde.report.stack import Addresses

U32, S32, U64 = TypeSpec("integer", "u32", 4), TypeSpec("integer", "int", 4, True), TypeSpec("integer", "u64", 8)
KERNEL = 0xFFFFFFFF81000000


class Known:
    """Every address has a name with its process in it."""

    changes = 0

    def kernel(self, address):
        return "vmlinux", "in_kernel", address - KERNEL

    def user(self, pid, address):
        return f"/usr/bin/p{pid}", "work", address & 0xFFF

    def inlined(self, pid, address):
        return ()

    def place(self, pid, address):
        return None


def structure(*members):
    """A structure of numbers; the types and the index of it."""
    types, found, offset = [U32, S32, U64], [], 0
    for name, kind in members:
        found.append(MemberSpec(name, kind, 8 * offset))
        offset += types[kind].size
    types.append(TypeSpec("struct", "struct key", offset, members=tuple(found)))
    return types


def stack(*frames):
    return struct.pack("=8Q", *frames, *[0] * (8 - len(frames)))


def shown(types, data, identifier, frames, target=0):
    stacks = Stacks(types, Addresses(Known(), Options()), target)
    if data is not None:
        stacks.learn(3, data)
    return stacks.text(identifier, stack(*frames)).decode()


@pytest.mark.parametrize(
    ("members", "data"),
    [
        ([("tgid", 0), ("user_stack_id", 1)], struct.pack("=Ii", 42, 7)),
        ([("pid", 0), ("tgid", 0), ("user_stack_id", 1), ("kern_stack_id", 1)], struct.pack("=IIii", 43, 42, 7, -14)),
        ([("pid", 0), ("stack_id", 0)], struct.pack("=II", 42, 7)),
        ([("pid_tgid", 2), ("uaddr", 2), ("user_stack_id", 1)], struct.pack("=QQi", 42 << 32 | 43, 5, 7)),
    ],
)
def test_a_stack_is_of_the_process_beside_its_number(members, data):
    assert (
        shown(structure(*members), data, 7, [0x1010, 0x1020]) == " process 42\n    p42`work+0x10\n    p42`work+0x20\n"
    )


def test_a_stack_of_nobody_is_the_targets():
    types = structure(("size", 2), ("stack_id", 1))
    assert shown(types, struct.pack("=Qi", 1, 7), 7, [0x1010], target=9) == " process 9\n    p9`work+0x10\n"
    assert shown(types, None, 7, [0x1010]) == "\n    0x1010\n"


def test_a_stack_of_the_kernel_alone_is_nobodys():
    types = structure(("tgid", 0), ("kern_stack_id", 1))
    assert shown(types, struct.pack("=Ii", 42, 7), 7, [KERNEL + 1]) == "\n    vmlinux`in_kernel+0x1\n"


def test_processes_that_share_a_stack_are_counted():
    types = structure(("tgid", 0), ("stack_id", 1))
    stacks = Stacks(types, Addresses(Known(), Options()), 0)
    for pid in (42, 43, 42, 44):
        stacks.learn(3, struct.pack("=Ii", pid, 7))
    assert stacks.text(7, stack(0x1010)).startswith(b" process 42 and 2 more\n")


def test_damaged_types_name_nothing():
    types = [U32, TypeSpec("struct", "struct loop", 8, members=(MemberSpec("inner", 1, 0),))]
    stacks = Stacks(types, Addresses(Known(), Options()), 0)
    stacks.learn(1, bytes(8))
    stacks.learn(None, b"")
    stacks.learn(0, bytes(4))
    assert stacks.text(1, stack(0x10)) == b"\n    0x10\n"
