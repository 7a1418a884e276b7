"""Packets: what was compared with their end may be accessed.

The blocks are those that `verified.cases` takes.
"""

import pytest
from support.bpf.verified import cases, outcome

BLOCKS = """
=== xdp: a packet compared with its end
    r2 = *(u32 *)(r1 +0)
    r3 = *(u32 *)(r1 +4)
    r4 = r2
    r4 += 14
    if r4 > r3 goto behind
    r0 = *(u8 *)(r2 +13)
    exit
behind:
    r0 = 2
    exit
->
=== xdp: a packet compared with its end, a byte too few
    r2 = *(u32 *)(r1 +0)
    r3 = *(u32 *)(r1 +4)
    r4 = r2
    r4 += 14
    if r4 > r3 goto behind
    r0 = *(u16 *)(r2 +13)
    exit
behind:
    r0 = 2
    exit
-> r2 is compared with the packet's end up to byte 14 only, but the read of 2 bytes ends at byte 15
=== xdp: a packet has the key of a map
    r2 = *(u32 *)(r1 +0)
    r3 = *(u32 *)(r1 +4)
    r4 = r2
    r4 += 8
    if r4 > r3 goto behind
    r1 = map[hash]
    call bpf_map_lookup_elem
behind:
    r0 = 2
    exit
->
=== xdp: a packet not compared
    r2 = *(u32 *)(r1 +0)
    r0 = *(u8 *)(r2 +0)
    exit
-> up to byte 0 only
=== xdp: the other way of a comparison
    r2 = *(u32 *)(r1 +0)
    r3 = *(u32 *)(r1 +4)
    r4 = r2
    r4 += 14
    if r4 > r3 goto there
    r0 = 2
    exit
there:
    r0 = *(u8 *)(r2 +13)
    exit
-> up to byte 0 only
=== xdp: a packet after its head was moved
    r6 = *(u32 *)(r1 +0)
    r3 = *(u32 *)(r1 +4)
    r4 = r6
    r4 += 14
    if r4 > r3 goto behind
    r2 = -4
    call bpf_xdp_adjust_head
    r0 = *(u8 *)(r6 +0)
    exit
behind:
    r0 = 2
    exit
-> r6 is a number, not a pointer
=== xdp: an offset that is not a constant, compared again
    r2 = *(u32 *)(r1 +0)
    r3 = *(u32 *)(r1 +4)
    r4 = r2
    r4 += 1
    if r4 > r3 goto behind
    r5 = *(u8 *)(r2 +0)
    r2 += r5
    r4 = r2
    r4 += 8
    if r4 > r3 goto behind
    r0 = *(u64 *)(r2 +0)
    exit
behind:
    r0 = 2
    exit
->
"""


@pytest.mark.parametrize(("kind", "text", "wanted"), cases(BLOCKS))
def test_the_verdict(kind, text, wanted):
    reason = outcome(text, kind)
    assert wanted in reason if wanted else reason == ""
