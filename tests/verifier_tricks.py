"""Programs that would trick a verifier: each does something unsafe behind a proof that is almost right.

The blocks are those that `verified.cases` takes. The kernel's verifier refuses all of them too, because of memory,
references or what was not set.
"""

from verified import cases

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

BLOCKS = """
=== the lower half is compared, the whole is the offset
{ANY}
    if w6 > 0x3f goto out
{READ}
{OUT}
-> may be anything
=== a range that only the upper half fills, narrowed by its lower half
{ANY}
    r1 = 0x100000001 ll
    if r6 > r1 goto out
    if r6 < 0x1 goto out
    if w6 > 0x1 goto out
    r6 >>= 32
    r6 *= 64
{READ}
{OUT}
-> may lead behind the end
=== the lower halves of a conjunction contradict each other, the upper do not
{ANY}
    r1 = -4294967296 ll
    r6 &= r1
    r6 += 1
    r1 = 0x100000002 ll
    r6 &= r1
    r6 >>= 32
    r6 *= 64
{READ}
-> may lead behind the end
=== a number above 0 whose lower half is 0
{ANY}
    if r6 < 0x1 goto out
    w7 = w6
    if w7 > 0x1 goto out
    r8 = 1
    r8 -= r7
    r8 *= 64
    r6 = r8
{READ}
{OUT}
-> may lead behind the end
=== -1 of 32 bits is not -1 of 64
    w2 = -1
    if r2 != -1 goto behind
    r0 = 0
    exit
behind:
    r0 = *(u8 *)(r2 +0)
    exit
-> r2 is a number, not a pointer
=== the sign of a byte is extended
{ANY}
    r6 &= 255
    r6 = (s8)r6
    if r6 s> 0x3f goto out
{READ}
{OUT}
-> before the start
=== a 32-bit sign extension leaves no sign in 64 bits
{ANY}
    r6 &= 255
    w6 = (s8)w6
    if r6 s> 0x3f goto small
    if r6 s< 0x0 goto out
    r6 = 0
small:
    if w6 s> 0x3f goto out
{READ}
{OUT}
-> farther than
=== one less than a number from 0
{ANY}
    r6 &= 63
    r6 -= 1
{READ}
-> before the start
=== compared as a signed number only
{ANY}
    if r6 s> 0x3f goto out
{READ}
{OUT}
-> may be anything
=== an arithmetic shift of a negative number
{ANY}
    r6 s>>= 58
{READ}
-> before the start
=== a product that overflows into the range
{ANY}
    w6 = w6
    r6 *= r6
    r6 *= r6
    if r6 s> 0x3f goto out
{READ}
{OUT}
-> may be anything
=== a shift to the left by a number that is not known
{ANY}
    r6 &= 63
    call bpf_get_prandom_u32
    r0 &= 3
    r6 <<= r0
{READ}
-> may be anything
=== the swap of a byte
{ANY}
    r6 &= 63
    r6 = be16 r6
{READ}
-> may lead behind the end
=== the narrow half of a spilled number is compared, the whole is the offset
{ANY}
    *(u64 *)(r10 -8) = r6
    r7 = *(u32 *)(r10 -8)
    if r7 > 0x3f goto out
    r6 = *(u64 *)(r10 -8)
{READ}
{OUT}
-> may be anything
=== the lower half is spilled, and the register compared
{ANY}
    *(u32 *)(r10 -8) = r6
    r7 = *(u32 *)(r10 -8)
    if r6 > 0x3f goto next
    r0 = 0
    exit
next:
    r6 = r7
{READ}
-> is not bounded
=== a spilled number of which a byte is overwritten
    r6 = 0
    *(u64 *)(r10 -8) = r6
    call bpf_ktime_get_ns
    *(u8 *)(r10 -7) = r0
    r6 = *(u64 *)(r10 -8)
{READ}
-> may be anything
=== the copy of a number that changed is not compared with it
{ANY}
    r7 = r6
    r6 += 1000
    if r7 > 0x3f goto out
{READ}
{OUT}
-> may be anything
=== the upper half of a spilled constant is an index, the lower one is in range
    r1 = 0x500000001 ll
    *(u64 *)(r10 -8) = r1
    r1 = map[array]
    r2 = r10
    r2 += -4
    call bpf_map_lookup_elem
    r0 = *(u64 *)(r0 +0)
    exit
-> r0 may be NULL
=== a constant index that is overwritten on one way
    *(u32 *)(r10 -4) = 1
    call bpf_ktime_get_ns
    if r0 == 0x0 goto there
    *(u32 *)(r10 -4) = 100
there:
    r1 = map[array]
    r2 = r10
    r2 += -4
    call bpf_map_lookup_elem
    r0 = *(u64 *)(r0 +0)
    exit
-> r0 may be NULL
=== the same offset from another way, which matters only behind the place where they meet
{ANY}
    if r6 == 0x5 goto far
    r6 = 0
    goto meet
far:
    r6 = 1024
meet:
    r7 = r6
    r8 = r7
    r6 = r8
{READ}
-> behind the end
=== the same offset from another way, spilled and told by a copy
{ANY}
    if r6 == 0x5 goto far
    r6 = 0
    goto meet
far:
    r6 = 1024
meet:
    *(u64 *)(r10 -16) = r6
    r6 = 0
    call bpf_ktime_get_ns
    if r0 == 0x7 goto out
    r6 = *(u64 *)(r10 -16)
{READ}
{OUT}
-> behind the end
=== numbers that are copies on one way only
{ANY}
    call bpf_ktime_get_ns
    r7 = r0
    call bpf_ktime_get_ns
    if r0 == 0x5 goto other
    r7 = r6
other:
    if r7 > 0x3f goto out
{READ}
{OUT}
-> may be anything
=== a register that a comparison makes known, on a way that is not followed twice
{ANY}
    r7 = 64
    call bpf_ktime_get_ns
    if r0 == 0x5 goto meet
    r7 = 4096
meet:
    if r6 >= r7 goto out
{READ}
{OUT}
-> may lead behind the end
=== an offset that grows in a loop
    r6 = 0
again:
    r1 = map[one][0]+0
    r1 += r6
    r0 = *(u8 *)(r1 +0)
    r6 += 8
    if r6 < 0x48 goto again
    r0 = 0
    exit
-> behind the end
=== a pointer far away and back
    r1 = map[one][0]+0
    r1 += 0x1fffffff
    r1 += 0x1fffffff
    r1 += -1073741822
    r0 = *(u8 *)(r1 +0)
    exit
-> farther than
=== a number that wraps round the address space
{ANY}
    r1 = 0x7fffffff00000000 ll
    r6 &= r1
    r1 = map[one][0]+0
    r1 += r6
    r1 += r6
    r0 = *(u8 *)(r1 +0)
    exit
-> before the start
=== a value that was not found, told by its lower half
{LOOKUP}
    if w0 == 0x0 goto out
    r0 = *(u64 *)(r0 +0)
    exit
out:
    r0 = 0
    exit
-> r0
=== a value that was not found, compared with a number that is not known
{LOOKUP}
    r6 = r0
    call bpf_ktime_get_ns
    if r6 == r0 goto out
    r0 = *(u64 *)(r6 +0)
    exit
out:
    r0 = 0
    exit
-> r6
=== a value that was not found, moved and then compared
{LOOKUP}
    r0 += 8
    if r0 == 0x0 goto out
    r0 = *(u64 *)(r0 +0)
    exit
out:
    r0 = 0
    exit
-> r0 may be NULL
=== the second lookup is compared, the first is used
{LOOKUP}
    *(u64 *)(r10 -16) = r0
    r1 = map[hash]
    r2 = r10
    r2 += -8
    call bpf_map_lookup_elem
    if r0 == 0x0 goto out
    r1 = *(u64 *)(r10 -16)
    r0 = *(u64 *)(r1 +0)
    exit
out:
    r0 = 0
    exit
-> r1 may be NULL
=== a NULL buffer whose size may be more than 0
{ANY}
    r6 &= 7
    r1 = 0
    r2 = r6
    r3 = map[constants][0]+0
    r4 = 0
    r5 = 0
    call bpf_snprintf
    r0 = 0
    exit
-> r1 is 0
=== a byte of a spilled pointer is overwritten
    r1 = map[one][0]+0
    *(u64 *)(r10 -8) = r1
    *(u8 *)(r10 -5) = 1
    r1 = *(u64 *)(r10 -8)
    r0 = *(u8 *)(r1 +0)
    exit
-> r1 is a number, not a pointer
=== a spilled pointer is overwritten at a place that is not known
    r1 = map[one][0]+0
    *(u64 *)(r10 -8) = r1
    *(u64 *)(r10 -16) = r1
    call bpf_ktime_get_ns
    r0 &= 8
    r2 = r10
    r2 += -16
    r2 += r0
    *(u64 *)(r2 +0) = 0
    r1 = *(u64 *)(r10 -8)
    r0 = *(u8 *)(r1 +0)
    exit
-> r1 is a number, not a pointer
=== a spilled pointer is exchanged
    r1 = map[one][0]+0
    *(u64 *)(r10 -8) = r1
    r2 = 4096
    r2 = atomic64_fetch_add((u64 *)(r10 -8), r2)
    r1 = *(u64 *)(r10 -8)
    r0 = *(u8 *)(r1 +0)
    exit
-> r1 is a number, not a pointer
=== a function overwrites its caller's spilled pointer
    r1 = map[one][0]+0
    *(u64 *)(r10 -8) = r1
    r1 = r10
    r1 += -8
    call change
    r1 = *(u64 *)(r10 -8)
    r0 = *(u8 *)(r1 +0)
    exit
change:
    *(u64 *)(r1 +0) = 4096
    r0 = 0
    exit
-> r1 is a number, not a pointer
=== a helper overwrites a spilled pointer
    r1 = map[one][0]+0
    *(u64 *)(r10 -16) = r1
    *(u64 *)(r10 -8) = r1
    r1 = r10
    r1 += -12
    r2 = 8
    call bpf_get_current_comm
    r1 = *(u64 *)(r10 -16)
    r0 = *(u8 *)(r1 +0)
    exit
-> r1 is a number, not a pointer
=== a callback changes an offset on the stack
    *(u64 *)(r10 -8) = 0
    r1 = 10
    r2 = subprog[body]
    r3 = r10
    r3 += -8
    r4 = 0
    call bpf_loop
    r6 = *(u64 *)(r10 -8)
{READ}
body:
    *(u64 *)(r2 +0) = 4096
    r0 = 0
    exit
-> may be anything
=== a callback moves a pointer on the stack
    r1 = map[one][0]+0
    *(u64 *)(r10 -8) = r1
    r1 = 1000
    r2 = subprog[body]
    r3 = r10
    r3 += -8
    r4 = 0
    call bpf_loop
    r0 = 0
    exit
body:
    r1 = *(u64 *)(r2 +0)
    r0 = *(u8 *)(r1 +0)
    r1 += 1
    *(u64 *)(r2 +0) = r1
    r0 = 0
    exit
-> behind the end
=== a callback gives back its caller's record
{RESERVE}
    if r0 == 0x0 goto out
    *(u64 *)(r10 -8) = r0
    r1 = 10
    r2 = subprog[body]
    r3 = r10
    r3 += -8
    r4 = 0
    call bpf_loop
    r1 = *(u64 *)(r10 -8)
    r2 = 0
    call bpf_ringbuf_submit
out:
    r0 = 0
    exit
body:
    r1 = *(u64 *)(r2 +0)
    r2 = 0
    call bpf_ringbuf_submit
    r0 = 0
    exit
-> a record that was reserved outside of it
=== a function keeps a record for nobody
    call take
    r0 = 0
    exit
take:
{RESERVE}
    r0 = 0
    exit
-> neither submitted nor discarded
=== a function gives back a record that its caller goes on to use
{RESERVE}
    if r0 == 0x0 goto out
    r6 = r0
    r1 = r0
    call give
    *(u64 *)(r6 +0) = 0
out:
    r0 = 0
    exit
give:
    r2 = 0
    call bpf_ringbuf_discard
    r0 = 0
    exit
-> r6 is a number, not a pointer
=== a record is given back on one way only
{RESERVE}
    if r0 == 0x0 goto out
    r6 = r0
    call bpf_ktime_get_ns
    if r0 == 0x5 goto out
    r1 = r6
    r2 = 0
    call bpf_ringbuf_submit
out:
    r0 = 0
    exit
-> neither submitted nor discarded
=== the spilled copy of a record that was given back
{RESERVE}
    if r0 == 0x0 goto out
    *(u64 *)(r10 -8) = r0
    r1 = r0
    r2 = 0
    call bpf_ringbuf_submit
    r1 = *(u64 *)(r10 -8)
    *(u64 *)(r1 +0) = 0
out:
    r0 = 0
    exit
-> r1 is a number, not a pointer
=== one of two records is given back twice, the other never
{RESERVE}
    r6 = r0
{RESERVE}
    r7 = r0
    if r6 == 0x0 goto first
    r1 = r6
    r2 = 0
    call bpf_ringbuf_submit
first:
    if r7 == 0x0 goto out
    if r6 == 0x0 goto out
    r1 = r7
    r2 = 0
    call bpf_ringbuf_submit
out:
    r0 = 0
    exit
-> neither submitted nor discarded
=== xdp: a packet behind a function that another program may have taken over
{PACKET}
    r1 = r9
    call continue
    r0 = *(u8 *)(r6 +0)
    exit
out:
    r0 = 2
    exit
continue:
    r2 = map[programs]
    r3 = 0
    call bpf_tail_call
    r0 = 0
    exit
-> r6 is a number, not a pointer
=== the result of a function that another program may have taken over
    call continue
    r6 = r0
{READ}
continue:
    r2 = map[programs]
    r3 = 0
    call bpf_tail_call
    r0 = 0
    exit
-> may be anything
=== xdp: a packet whose head a function moved
{PACKET}
    r1 = r9
    call move
    r0 = *(u8 *)(r6 +0)
    exit
out:
    r0 = 2
    exit
move:
    r2 = -4
    call bpf_xdp_adjust_head
    r0 = 0
    exit
-> r6 is a number, not a pointer
=== xdp: a packet whose tail a callback cut
{PACKET}
    r1 = 4
    r2 = subprog[cut]
    r3 = r10
    r3 += -8
    *(u64 *)(r10 -8) = r9
    r4 = 0
    call bpf_loop
    r0 = *(u8 *)(r6 +0)
    exit
out:
    r0 = 2
    exit
cut:
    r1 = *(u64 *)(r2 +0)
    r2 = -4
    call bpf_xdp_adjust_tail
    r0 = 0
    exit
-> r6 is a number, not a pointer
=== xdp: one byte behind what was compared, by a strict comparison from the other side
    r6 = *(u32 *)(r1 +0)
    r3 = *(u32 *)(r1 +4)
    r4 = r6
    r4 += 14
    if r3 < r4 goto out
    r0 = *(u8 *)(r6 +14)
    exit
out:
    r0 = 2
    exit
-> compared with the packet's end up to byte 14 only
=== xdp: an offset into the packet is compared, another is used
    r6 = *(u32 *)(r1 +0)
    r3 = *(u32 *)(r1 +4)
    r4 = r6
    r4 += 1
    if r4 > r3 goto out
    r7 = *(u8 *)(r6 +0)
    r4 = r6
    r4 += r7
    r5 = r6
    r5 += r7
    r5 += r7
    r4 += 8
    if r4 > r3 goto out
    r0 = *(u8 *)(r5 +0)
    exit
out:
    r0 = 2
    exit
-> compared with the packet's end up to byte 0 only
=== xdp: a packet's start far behind its end
    r6 = *(u32 *)(r1 +0)
    r3 = *(u32 *)(r1 +4)
    r7 = 0xfffffff
    r6 += r7
    r4 = r6
    r4 += 8
    if r4 > r3 goto out
    r0 = *(u8 *)(r6 +0)
    exit
out:
    r0 = 2
    exit
-> compared with the packet's end up to byte 0 only
=== xdp: an atomic operation on a packet
{PACKET}
    r1 = 1
    lock *(u64 *)(r6 +0) += r1
out:
    r0 = 2
    exit
-> which has no atomic operations
=== xdp: a packet that a helper reads
{PACKET}
    r1 = map[ring]
    r2 = r6
    r3 = 8
    r4 = 0
    call bpf_ringbuf_output
out:
    r0 = 2
    exit
-> points to the packet
=== xdp: a packet that a helper writes
{PACKET}
    r1 = map[queue]
    r2 = r6
    call bpf_map_pop_elem
out:
    r0 = 2
    exit
-> points to the packet
=== xdp: the context and the stack by one instruction
    *(u64 *)(r10 -8) = 0
    *(u64 *)(r10 -16) = 0
    r6 = r1
    call bpf_ktime_get_ns
    r2 = r6
    if r0 == 0x5 goto there
    r2 = r10
    r2 += -16
there:
    r0 = *(u32 *)(r2 +12)
    exit
-> on one way and something else
=== xdp: the stack and the context by one instruction
    *(u64 *)(r10 -8) = 0
    *(u64 *)(r10 -16) = 0
    r6 = r1
    call bpf_ktime_get_ns
    r2 = r10
    r2 += -16
    if r0 == 0x5 goto there
    r2 = r6
there:
    r0 = *(u32 *)(r2 +12)
    exit
-> on one way and something else
=== syscall: a store to the context or the stack by one instruction
    *(u64 *)(r10 -8) = 0
    r6 = r1
    call bpf_ktime_get_ns
    r2 = r6
    if r0 == 0x5 goto there
    r2 = r10
    r2 += -8
there:
    *(u32 *)(r2 +0) = 1
    r0 = 0
    exit
-> on one way and something else
=== an atomic operation on a map that is read-only
    r1 = map[constants][0]+0
    r2 = 1
    lock *(u64 *)(r1 +0) += r2
    r0 = 0
    exit
-> which programs may not write
=== an exchange with a map that is write-only
    r1 = map[hidden][0]+0
    r2 = 1
    r2 = atomic64_fetch_add((u64 *)(r1 +0), r2)
    r0 = 0
    exit
-> which programs may not read
=== an atomic operation behind the end of a value
    r1 = map[one][0]+0
    r2 = 1
    lock *(u64 *)(r1 +64) += r2
    r0 = 0
    exit
-> behind the end
=== the address of a value in a map that has none
    r1 = map[hash][0]+0
    r0 = *(u8 *)(r1 +0)
    exit
-> only an array of one element
=== the address of a value in a map of several
    r1 = map[array][0]+0
    r0 = *(u8 *)(r1 +0)
    exit
-> only an array of one element
=== the address behind a value
    r1 = map[one][0]+64
    r0 = 0
    exit
-> byte 64 of a value
=== a pointer into the stack of a function that ended
    call leave
    r0 = *(u64 *)(r0 +0)
    exit
leave:
    *(u64 *)(r10 -8) = 0
    r0 = r10
    r0 += -8
    exit
-> cannot return a pointer into a stack
"""


TRICKS = cases(BLOCKS, LOOKUP=LOOKUP, ANY=ANY, READ=READ, OUT=OUT, PACKET=PACKET, RESERVE=RESERVE)
