"""Instructions that make no sense, are never reached, or are atomic.

The blocks are those that `verified.cases` takes.
"""

import pytest
from support.bpf.verified import cases, outcome

BLOCKS = """
=== the shift is too wide
    r0 = 1
    r0 <<= 64
    exit
-> the number is shifted by 64 bits, but has only 64
=== the frame pointer is set
    r10 = 1
    r0 = 0
    exit
-> r10 is the frame pointer
=== division by a register that may be 0
    r2 = *(u64 *)(r1 +0)
    r0 = 8
    r0 /= r2
    exit
->
=== division by the constant 0
    r0 = 8
    r0 /= 0
    exit
-> division by the constant 0
=== a jump out of the program
    r0 = 0
    goto pc+5
    exit
-> outside of the program
=== the program does not end
    r0 = 0
-> the function ends here without exit or jump
=== what cannot be reached by the numbers is not checked
    r1 = 5
    r0 = 0
    if r1 == 0x5 goto behind
    r0 = *(u64 *)(r1 +0)
behind:
    exit
->
=== an atomic operation on a value
    r1 = map[one][0]+0
    r2 = 1
    lock *(u64 *)(r1 +0) += r2
    r0 = 0
    exit
->
=== an atomic operation on the context
    r2 = 1
    lock *(u64 *)(r1 +0) += r2
    r0 = 0
    exit
-> r1 points to the context, which has no atomic operations
=== a map as a number is not compared away
    r1 = map[hash]
    r0 = 0
    if r1 == 0x0 goto there
    exit
there:
    r0 = *(u64 *)(r10 -8)
    exit
->
"""


@pytest.mark.parametrize(("kind", "text", "wanted"), cases(BLOCKS))
def test_the_verdict(kind, text, wanted):
    reason = outcome(text, kind)
    assert wanted in reason if wanted else reason == ""
