"""Clocks and identity: what helpers tell of this process and this moment in both engines."""

import pytest
from support.bpf.helper_twins import twins

CLOCK = """
    r6 = r1
    call bpf_{}
    *(u64 *)(r6 +0) = r0
    r0 = 0
    exit
"""

TICKS = 1000
"""The most that a second of the kernel may have (CONFIG_HZ)."""


@pytest.mark.share(1)
@pytest.mark.parametrize(
    ("helper", "second"),
    [("ktime_get_ns", 10**9), ("ktime_get_boot_ns", 10**9), ("ktime_get_tai_ns", 10**9), ("jiffies64", TICKS)],
)
def test_both_have_the_same_time(helper, second):
    with twins((), CLOCK.format(helper)) as both:
        (_, (before, *_)), (_, (own, *_)) = both.both()
        (_, (after, *_)), _ = both.both()
        # The kernel's tick may be late.
        assert before - second // 10 <= own <= after + second // 10


IDENTITY = """
    r6 = r1
    call bpf_get_current_pid_tgid
    *(u64 *)(r6 +0) = r0
    call bpf_get_current_uid_gid
    *(u64 *)(r6 +8) = r0
    r7 = -1
    *(u64 *)(r10 -8) = r7
    *(u64 *)(r10 -16) = r7
    r1 = r10
    r1 += -16
    r2 = 16
    call bpf_get_current_comm
    *(u64 *)(r6 +16) = r0
    r0 = *(u64 *)(r10 -16)
    *(u64 *)(r6 +24) = r0
    r0 = *(u64 *)(r10 -8)
    *(u64 *)(r6 +32) = r0
    r1 = r10
    r1 += -16
    r2 = 3
    call bpf_get_current_comm
    r0 = *(u64 *)(r10 -16)
    *(u64 *)(r6 +40) = r0
    r1 = 5
    r2 = 6
    r3 = r10
    r3 += -16
    r4 = 8
    call bpf_get_ns_current_pid_tgid
    *(u64 *)(r6 +48) = r0
    r0 = *(u64 *)(r10 -16)
    *(u64 *)(r6 +56) = r0
    r0 = 0
    exit
"""


def test_both_see_the_same_task():
    with twins((), IDENTITY) as both:
        kernel, embedded = both.both()
        assert embedded == kernel
        assert kernel[1][0]
