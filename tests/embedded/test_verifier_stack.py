"""Registers and the stack: what has been set, where it may be accessed, what comes back.

The blocks are those that `verified.cases` takes.
"""

import pytest
from verified import cases, outcome

BLOCKS = """
=== a constant is returned
    r0 = 0
    exit
->
=== r0 was not set
    exit
-> r0 is read, but was not set
=== a register is set on one way only
    r0 = *(u64 *)(r1 +0)
    if r0 == 0x0 goto behind
    r2 = 1
behind:
    r0 = r2
    exit
-> r2 is read, but was not set
=== a register is lost in a call
    r1 = 5
    call bpf_ktime_get_ns
    r0 = r1
    exit
-> r1 is read, but was not set
=== r6 survives a call
    r6 = 5
    call bpf_ktime_get_ns
    r0 = r6
    exit
->
=== the stack is written and read
    r1 = 5
    *(u64 *)(r10 -8) = r1
    r0 = *(u64 *)(r10 -8)
    exit
->
=== the stack is read without having been written
    r0 = *(u64 *)(r10 -8)
    exit
-> r10 leads to byte -8 of the stack, which was never written
=== half of what is read was written
    *(u32 *)(r10 -8) = 1
    r0 = *(u64 *)(r10 -8)
    exit
-> r10 leads to byte -4 of the stack, which was never written
=== a read at the end of the stack
    r0 = *(u64 *)(r10 +0)
    exit
-> outside of its 512 bytes
=== a write below the stack
    *(u64 *)(r10 -520) = 1
    r0 = 0
    exit
-> leads to offset -520 of the stack
=== the stack is accessed off its grid
    *(u64 *)(r10 -12) = 1
    r0 = 0
    exit
-> not a multiple of 8
=== a spilled pointer comes back
    *(u64 *)(r10 -8) = r1
    r2 = *(u64 *)(r10 -8)
    r0 = *(u64 *)(r2 +0)
    exit
->
=== half of a spilled pointer is read
    *(u64 *)(r10 -8) = r1
    r0 = *(u32 *)(r10 -8)
    exit
-> r10 leads to a pointer on the stack, of which only all 8 bytes can be read: the read of 4 bytes
=== an overwritten spilled pointer is a number
    *(u64 *)(r10 -8) = r1
    *(u8 *)(r10 -8) = 0
    r2 = *(u64 *)(r10 -8)
    r0 = *(u64 *)(r2 +0)
    exit
-> r2 is a number, not a pointer
=== a number is no address
    r1 = 4096
    r0 = *(u64 *)(r1 +0)
    exit
-> r1 is a number, not a pointer
"""


@pytest.mark.parametrize(("kind", "text", "wanted"), cases(BLOCKS))
def test_the_verdict(kind, text, wanted):
    reason = outcome(text, kind)
    assert wanted in reason if wanted else reason == ""
