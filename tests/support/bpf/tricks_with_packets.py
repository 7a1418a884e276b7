"""Tricks with packets and their context."""

BLOCKS = """
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
=== xdp: data_meta is compared with the end, not the start
    r2 = *(u32 *)(r1 +8)
    r3 = *(u32 *)(r1 +4)
    r4 = r2
    r4 += 4
    if r4 > r3 goto out
    r0 = *(u32 *)(r2 +0)
    exit
{OUT}
-> up to byte 0 only
=== xdp: equality with the end says nothing here
    r6 = *(u32 *)(r1 +0)
    r3 = *(u32 *)(r1 +4)
    r4 = r6
    r4 += 14
    if r4 != r3 goto out
    r0 = *(u8 *)(r6 +13)
    exit
{OUT}
-> up to byte 0 only
=== xdp: a packet that is compared in 32 bits
    r6 = *(u32 *)(r1 +0)
    r3 = *(u32 *)(r1 +4)
    r4 = r6
    r4 += 14
    if w4 > w3 goto out
    r0 = *(u8 *)(r6 +0)
    exit
{OUT}
-> compared with the packet's end up to byte 0 only
"""
