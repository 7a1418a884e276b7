"""Programs that would trick a verifier: each does something unsafe behind a proof that is almost right.

The blocks are those that `verified.cases` takes. The kernel's verifier refuses all of them too, because of memory,
references or what was not set.
"""

from support.bpf import tricks_with_calls, tricks_with_numbers, tricks_with_packets, tricks_with_pointers
from support.bpf.verified import cases

LOOKUP = """
    *(u64 *)(r10 -8) = 0
    r1 = map[hash]
    r2 = r10
    r2 += -8
    call bpf_map_lookup_elem
"""
"""r0: 16 bytes of a value, or NULL."""

ANY = """
    call bpf_ktime_get_ns
    r6 = r0
"""
"""r6: any 64-bit number; the call is lost to nothing that the programs need."""

READ = """
    r1 = map[one][0]+0
    r1 += r6
    r0 = *(u8 *)(r1 +0)
    exit
"""
"""Byte r6 of the 64 of a value."""

OUT = """
out:
    r0 = 0
    exit
"""

PACKET = """
    r6 = *(u32 *)(r1 +0)
    r3 = *(u32 *)(r1 +4)
    r9 = r1
    r4 = r6
    r4 += 14
    if r4 > r3 goto out
"""
"""r6: the first of 14 bytes of a packet, r9: the context."""

RESERVE = """
    r1 = map[ring]
    r2 = 16
    r3 = 0
    call bpf_ringbuf_reserve
"""

LOOP = """
    r2 = subprog[body]
    r3 = r10
    r3 += -8
    r4 = 0
    call bpf_loop
"""
"""`body`, as often as r1 says, with a pointer to 8 bytes of the stack."""

BLOCKS = "".join(
    each.BLOCKS for each in (tricks_with_numbers, tricks_with_pointers, tricks_with_calls, tricks_with_packets)
)

TRICKS = cases(BLOCKS, LOOKUP=LOOKUP, ANY=ANY, READ=READ, OUT=OUT, PACKET=PACKET, RESERVE=RESERVE, LOOP=LOOP)
