"""Values of maps: found or not, offsets into them, what may be read and written.

The blocks are those that `verified.cases` takes.
"""

import pytest
from support.bpf.verified import cases, outcome

LOOKUP = """
    r2 = r10
    r2 += -8
    r1 = map[hash]
    call bpf_map_lookup_elem
"""
"""r0: a value for the key at -8 of the stack, or NULL."""

READ = """
    r1 = map[one][0]+0
    r1 += r2
    r0 = *(u64 *)(r1 +0)
    exit
"""
"""8 bytes at r2 of the 64 of a value."""

BLOCKS = """
=== a lookup compared with 0
    *(u64 *)(r10 -8) = 0
{LOOKUP}
    if r0 == 0x0 goto behind
    r1 = *(u64 *)(r0 +8)
behind:
    r0 = 0
    exit
->
=== a lookup not compared with 0
    *(u64 *)(r10 -8) = 0
{LOOKUP}
    r1 = *(u64 *)(r0 +0)
    exit
-> r0 may be NULL: it comes from bpf_map_lookup_elem at 5 and is not compared with 0 before the read of 8 bytes
=== the comparison holds for copies, in registers and on the stack
    *(u64 *)(r10 -8) = 0
{LOOKUP}
    r6 = r0
    *(u64 *)(r10 -16) = r0
    if r6 != 0x0 goto there
    r0 = 0
    exit
there:
    r1 = *(u64 *)(r0 +0)
    r2 = *(u64 *)(r10 -16)
    *(u64 *)(r2 +8) = r1
    r0 = 0
    exit
->
=== the comparison of one lookup says nothing of another
    *(u64 *)(r10 -8) = 0
{LOOKUP}
    r6 = r0
{LOOKUP}
    if r0 == 0x0 goto behind
    r1 = *(u64 *)(r6 +0)
behind:
    r0 = 0
    exit
-> r6 may be NULL: it comes from bpf_map_lookup_elem at 5
=== an element of an array, at a place where no number is followed
    *(u32 *)(r10 -4) = 3
    r2 = r10
    r2 += -4
    r1 = map[array]
    call bpf_map_lookup_elem
    r0 = *(u64 *)(r0 +0)
    exit
-> r0 may be NULL
=== an element of an array, at a place where a number can be followed
    *(u32 *)(r10 -8) = 3
    r2 = r10
    r2 += -8
    r1 = map[array]
    call bpf_map_lookup_elem
    r0 = *(u64 *)(r0 +0)
    exit
->
=== an element that the array has not
    *(u32 *)(r10 -8) = 4
    r2 = r10
    r2 += -8
    r1 = map[array]
    call bpf_map_lookup_elem
    r0 = *(u64 *)(r0 +0)
    exit
-> r0 may be NULL
=== the first element of an array
    *(u32 *)(r10 -4) = 0
    r2 = r10
    r2 += -4
    r1 = map[array]
    call bpf_map_lookup_elem
    r0 = *(u64 *)(r0 +0)
    exit
->
=== the key is not written
{LOOKUP}
    r0 = 0
    exit
-> r2 leads to byte -8 of the stack, which was never written: bpf_map_lookup_elem takes 8 bytes as the key of map hash
=== behind the end of a value
    r1 = map[one][0]+0
    r0 = *(u64 *)(r1 +60)
    exit
-> r1 leads behind the end of the map's value: the read of 8 bytes at offset 60 of 64 bytes
=== before the start of a value
    r1 = map[one][0]+8
    r0 = *(u64 *)(r1 -9)
    exit
-> r1 leads 1 bytes before the start of the map's value
=== an index compared with the size
    r2 = *(u64 *)(r1 +0)
    if r2 > 0x38 goto behind
{READ}
behind:
    r0 = 0
    exit
->
=== an index compared with too large a size
    r2 = *(u64 *)(r1 +0)
    if r2 > 0x39 goto behind
{READ}
behind:
    r0 = 0
    exit
-> r1 may lead behind the end of the map's value: the read of 8 bytes at offset 0 to 57 of 64 bytes
=== an index compared as a signed number only
    r2 = *(u64 *)(r1 +0)
    if r2 s> 0x8 goto behind
{READ}
behind:
    r0 = 0
    exit
-> is moved by a number that may be anything
=== an index that is not compared
    r2 = *(u64 *)(r1 +0)
{READ}
-> is moved by a number that may be anything
=== an index of which bits are taken
    r2 = *(u64 *)(r1 +0)
    r2 &= 56
{READ}
->
=== the comparison of a number holds for its copy
    r2 = *(u64 *)(r1 +0)
    r3 = r2
    if r3 > 0x38 goto behind
{READ}
behind:
    r0 = 0
    exit
->
=== the comparison of a number holds for its spilled copy
    r2 = *(u64 *)(r1 +0)
    *(u64 *)(r10 -8) = r2
    if r2 > 0x38 goto behind
    r3 = *(u64 *)(r10 -8)
    r1 = map[one][0]+0
    r1 += r3
    r0 = *(u64 *)(r1 +0)
    exit
behind:
    r0 = 0
    exit
->
=== a 32-bit comparison of a 32-bit number
    r2 = *(u32 *)(r1 +0)
    if w2 > 0x38 goto behind
{READ}
behind:
    r0 = 0
    exit
->
=== a 32-bit comparison says nothing of the upper half
    r2 = *(u64 *)(r1 +0)
    if w2 > 0x38 goto behind
{READ}
behind:
    r0 = 0
    exit
-> is moved by a number that may be anything
=== pointers are not multiplied
    r0 = r10
    r0 *= 8
    exit
-> r0 is a pointer, for which `*=` is not defined
=== pointers are not added
    r0 = r10
    r0 += r10
    exit
-> r0 and r10 are both pointers
=== the difference of pointers is a number
    r0 = r10
    r0 -= r10
    exit
->
=== a pointer is not added in 32 bits
    r0 = r10
    w0 += 8
    exit
-> in 32 bits would cut it
=== a pointer that may be NULL is not moved
    *(u64 *)(r10 -8) = 0
{LOOKUP}
    r0 += 8
    r0 = 0
    exit
-> r0 may be NULL: it comes from bpf_map_lookup_elem at 5 and is not compared with 0 before `+=` moves it
=== a map is not memory
    r1 = map[one]
    r0 = *(u64 *)(r1 +0)
    exit
-> which has no bytes to access
=== a read-only map is not written
    r1 = map[constants][0]+0
    *(u64 *)(r1 +0) = 1
    r0 = 0
    exit
-> points into map constants, which programs may not write
=== a write-only map is not read
    r1 = map[hidden][0]+0
    r0 = *(u64 *)(r1 +0)
    exit
-> points into map hidden, which programs may not read
=== a read-only map is not updated
    *(u32 *)(r10 -4) = 0
    *(u64 *)(r10 -16) = 0
    r1 = map[constants]
    r2 = r10
    r2 += -4
    r3 = r10
    r3 += -16
    r4 = 0
    call bpf_map_update_elem
    exit
-> r1 is map constants, which programs may not change
=== a map in a map
    *(u32 *)(r10 -4) = 0
    r1 = map[outer]
    r2 = r10
    r2 += -4
    call bpf_map_lookup_elem
    if r0 == 0x0 goto behind
    r1 = r0
    r2 = r10
    r2 += -4
    call bpf_map_lookup_elem
    if r0 == 0x0 goto behind
    r0 = *(u64 *)(r0 +0)
    exit
behind:
    r0 = 0
    exit
->
=== a map in a map may be missing
    *(u32 *)(r10 -4) = 0
    r1 = map[outer]
    r2 = r10
    r2 += -4
    call bpf_map_lookup_elem
    r1 = r0
    r2 = r10
    r2 += -4
    call bpf_map_lookup_elem
    r0 = 0
    exit
-> r1 may be NULL: it comes from bpf_map_lookup_elem at 5 and is not compared with 0 before bpf_map_lookup_elem
"""


@pytest.mark.parametrize(("kind", "text", "wanted"), cases(BLOCKS, LOOKUP=LOOKUP, READ=READ))
def test_the_verdict(kind, text, wanted):
    reason = outcome(text, kind)
    assert wanted in reason if wanted else reason == ""
