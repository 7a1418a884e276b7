"""What /proc/cpuinfo tells of addresses, and which of them the kernel tries to read."""

import pytest

from sonde.arch.x86_64.address_space import FIVE_LEVELS, FOUR_LEVELS, address_space

PROCESSOR = """processor	: 0
flags		: fpu vme {} avx512_vpopcntdq rdpid
bogomips	: 5192.26
address sizes	: 52 bits physical, {} bits virtual
power management:

"""


@pytest.mark.parametrize(
    ("cpuinfo", "expected"),
    [
        (PROCESSOR.format("pku", 48), FOUR_LEVELS),
        (PROCESSOR.format("la57", 57), FIVE_LEVELS),
        # A kernel that was started with no5lvl, or built without: the processor still checks 57 bits.
        (PROCESSOR.format("pku", 57), FOUR_LEVELS._replace(bits=57)),
        (PROCESSOR.format("pku", 48) + PROCESSOR.format("la57", 57), FOUR_LEVELS),
        ("", FOUR_LEVELS),
        ("processor : 0\nmodel name : la57\n", FOUR_LEVELS),
    ],
)
def test_cpuinfo_tells_the_address_space(cpuinfo, expected):
    assert address_space(cpuinfo) == expected


def test_processes_have_the_addresses_that_the_kernel_gives_them():
    assert FOUR_LEVELS.user_end == 0x7FFF_FFFF_F000
    assert FIVE_LEVELS.user_end == 0xFF_FFFF_FFFF_F000


EVERYWHERE = {0: False, 0x7FFF_FFFF_F000: False, 0x7FFF_FFFF_FFFF: False, 0xFFFF_8000_0000_0000: True,
              0xFFFF_FFFF_FF5F_FFFF: True, 0xFFFF_FFFF_FF60_0000: False, 0xFFFF_FFFF_FF60_0FFF: False,
              0xFFFF_FFFF_FF60_1000: True, (1 << 64) - 1: True}  # fmt: skip


@pytest.mark.parametrize(
    ("space", "more"),
    [
        (FOUR_LEVELS, {0x8000_0000_0000: False, 0xFF_FFFF_FFFF_F000: False, 0xFFFF_7FFF_FFFF_FFFF: False}),
        (
            FIVE_LEVELS,
            {0x8000_0000_0000: False, 0xFF_FFFF_FFFF_FFFF: False, 0x100_0000_0000_0000: False,
             0xFEFF_FFFF_FFFF_FFFF: False, 0xFF00_0000_0000_0000: True, 0xFFFF_7FFF_FFFF_FFFF: True},
        ),
        (
            FOUR_LEVELS._replace(bits=57),
            {0x8000_0000_0000: True, 0xFF_FFFF_FFFF_FFFF: True, 0x100_0000_0000_0000: False,
             0xFEFF_FFFF_FFFF_FFFF: False, 0xFFFF_7FFF_FFFF_FFFF: True},
        ),
    ],
)  # fmt: skip
def test_the_kernel_tries_what_it_takes_for_its_own(space, more):
    expected = EVERYWHERE | more
    assert {address: space.kernel_tries(address) for address in expected} == expected
