"""Records of ring buffers are given back once, on every way.

The blocks are those that `verified.cases` takes.
"""

import pytest
from support.bpf.verified import cases, outcome

RESERVE = """
    r1 = map[ring]
    r2 = 16
    r3 = 0
    call bpf_ringbuf_reserve
"""
"""r0: a record of 16 bytes, or NULL."""

BLOCKS = """
=== a record is submitted
{RESERVE}
    if r0 == 0x0 goto behind
    *(u64 *)(r0 +8) = 1
    r1 = r0
    r2 = 0
    call bpf_ringbuf_submit
behind:
    r0 = 0
    exit
->
=== a record is kept
{RESERVE}
    if r0 == 0x0 goto behind
    *(u64 *)(r0 +8) = 1
behind:
    r0 = 0
    exit
-> the record reserved at 4 is neither submitted nor discarded on this way, and the program ends
=== a record is written behind its end
{RESERVE}
    if r0 == 0x0 goto behind
    *(u64 *)(r0 +16) = 1
    r1 = r0
    r2 = 0
    call bpf_ringbuf_submit
behind:
    r0 = 0
    exit
-> r0 leads behind the end of the record
=== a record is used after it was submitted
{RESERVE}
    if r0 == 0x0 goto behind
    r6 = r0
    r1 = r0
    r2 = 0
    call bpf_ringbuf_submit
    *(u64 *)(r6 +0) = 1
behind:
    r0 = 0
    exit
-> r6 is a number, not a pointer
=== a record is submitted twice
{RESERVE}
    if r0 == 0x0 goto behind
    r1 = r0
    r2 = 0
    *(u64 *)(r10 -8) = r0
    call bpf_ringbuf_submit
    r1 = *(u64 *)(r10 -8)
    r2 = 0
    call bpf_ringbuf_submit
behind:
    r0 = 0
    exit
-> r1 is scalar(), but bpf_ringbuf_submit takes a reserved record
=== not the start of a record is submitted
{RESERVE}
    if r0 == 0x0 goto behind
    r1 = r0
    r1 += 8
    r2 = 0
    call bpf_ringbuf_submit
behind:
    r0 = 0
    exit
-> takes the record's start
=== a record that may be NULL is submitted
{RESERVE}
    r1 = r0
    r2 = 0
    call bpf_ringbuf_submit
    r0 = 0
    exit
-> r1 may be NULL: it comes from bpf_ringbuf_reserve at 4
=== the size of a record is not known
    r2 = *(u32 *)(r1 +0)
    r1 = map[ring]
    r3 = 0
    call bpf_ringbuf_reserve
    r0 = 0
    exit
-> r2 is scalar(umax=4294967295,bits=(0x0; 0xffffffff)), but bpf_ringbuf_reserve takes a constant
"""


@pytest.mark.parametrize(("kind", "text", "wanted"), cases(BLOCKS, RESERVE=RESERVE))
def test_the_verdict(kind, text, wanted):
    reason = outcome(text, kind)
    assert wanted in reason if wanted else reason == ""
