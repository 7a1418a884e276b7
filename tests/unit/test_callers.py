"""Frames are named by the call, not by where it returns to: a function that ends with a call keeps its name."""

import struct

import pytest

from sonde.consume.options import Options
from sonde.model.records import Field
from sonde.pictures.frames import KeyFrames
from sonde.report.callers import kernel_place
from sonde.report.stack import Addresses
from sonde.report.symbolizer import NoNames

FUNCTIONS = ((0x1000, "one"), (0x1040, "two"), (0x1080, "restore"), (0x10C0, "asm_exc_page_fault"))
"""Where each begins; the last one's end is 0x1100."""
RESTORE = 0x1085


class Symbols(NoNames):
    """Of the kernel and of all processes the same. What is at RESTORE the handlers of signals return to."""

    def kernel(self, address):
        starts = [(start, name) for start, name in FUNCTIONS if start <= address < 0x1100]
        return ("vmlinux", starts[-1][1], address - starts[-1][0]) if starts else None

    def user(self, pid, address):
        found = self.kernel(address)
        return ("/bin/app", *found[1:]) if found else None

    def interrupts(self, pid, address):
        return address == RESTORE


def stack(*frames):
    return struct.pack(f">{len(frames)}Q", *frames)


def named(text):
    return [line.split("`")[-1] for line in text.decode().split()]


USER = {
    "where it is": ((0x1040,), ["two"]),
    "a call at the end of a function": ((0x1010, 0x1040), ["one+0x10", "one+0x40"]),
    "a call at the end of the last one": ((0x1010, 0x1100), ["one+0x10", "asm_exc_page_fault+0x40"]),
    "a call in the middle": ((0x1040, 0x1044), ["two", "two+0x4"]),
    "what a signal has interrupted at its first byte": (
        (0x1010, RESTORE, 0x1040, 0x1040),
        ["one+0x10", "restore+0x5", "two", "one+0x40"],
    ),
    "nothing at all": ((), []),
}


@pytest.mark.parametrize("case", USER)
@pytest.mark.parametrize("extra", [0, 20])
def test_user_stacks(case, extra):
    """However far inside frames are: texts of several are kept together."""
    frames, expected = USER[case]
    outer = [0x1040] * extra if frames else []
    shown = Addresses(Symbols(), Options())
    for _ in range(2):
        text = shown.user_stack(stack(7, *frames, *outer))
        assert named(text) == expected + ["one+0x40"] * len(outer)


def test_signals_that_are_known_from_another_stack():
    """The texts of frames that were kept before are not taken for others."""
    shown = Addresses(Symbols(), Options())
    assert named(shown.user_stack(stack(7, 0x1010, 0x1040))) == ["one+0x10", "one+0x40"]
    assert named(shown.user_stack(stack(7, RESTORE, 0x1040))) == ["restore+0x5", "two"]
    assert named(shown.user_stack(stack(7, 0x1010, 0x1040))) == ["one+0x10", "one+0x40"]


KERNEL = {
    "where it is": ((0x1040,), ["two"]),
    "a call at the end of a function": ((0x1010, 0x1040), ["one+0x10", "one+0x40"]),
    "the kernel's ways in": ((0x1010, 0x10C0), ["one+0x10", "asm_exc_page_fault"]),
}


@pytest.mark.parametrize("case", KERNEL)
def test_kernel_stacks(case):
    frames, expected = KERNEL[case]
    assert named(Addresses(Symbols(), Options()).kernel_stack(stack(*frames))) == expected


def test_the_first_frame_behind_what_leads_to_the_program_is_a_caller():
    class Traced(Symbols):
        def kernel(self, address):
            return ("vmlinux", "bpf_trace_run2", 3) if address == 0x99 else super().kernel(address)

    assert named(Addresses(Traced(), Options()).kernel_stack(stack(0x99, 0x1040))) == ["one+0x40"]
    assert kernel_place(Traced(), 0x1040, False) == ("vmlinux", "two", 0)


@pytest.mark.parametrize("kind", ["ustack", "stack"])
def test_pictures(kind):
    """They name functions as the report does."""
    frames = KeyFrames(Symbols(), Options())
    prefix = (7,) if kind == "ustack" else ()
    field = Field(0, 808, kind)
    for places, expected in (((0x1010, 0x1040), ["one", "one"]), ((0x1040, 0x1080), ["two", "two"])):
        for _ in range(2):
            found = frames.of((field,), (stack(*prefix, *places),))
            assert [each.name for each in reversed(found)] == expected
    if kind == "ustack":
        found = frames.of((field,), (stack(7, 0x1010, RESTORE, 0x1040, 0x1040),))
        assert [each.name for each in reversed(found)] == ["one", "restore", "two", "one"]
