"""Tricks with pointers: NULL, the stack, values of maps, the context."""

BLOCKS = """
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
=== a pointer to the stack that is stored in a map and read again
    r1 = map[one][0]+0
    *(u64 *)(r1 +0) = r10
    r2 = *(u64 *)(r1 +0)
    r0 = *(u64 *)(r2 -8)
    exit
-> r2 is a number, not a pointer
=== a length is longer than the buffer
    r6 = 8
    r1 = r10
    r1 += -8
    r2 = 16
    r3 = 0
    call bpf_probe_read_kernel
    r0 = 0
    exit
-> outside of its 512 bytes
=== acquiring from the context
    r0 = load_acquire((u64 *)(r1 +0))
    r0 = 0
    exit
-> which has no atomic operations
=== a place on the stack that may be too far down
{ANY}
    r6 &= 8
    r2 = r10
    r2 += -516
    r2 += r6
    *(u8 *)(r2 +0) = 0
    r0 = 0
    exit
-> outside of its 512 bytes
=== a value found in one map has the size of another
{LOOKUP}
    if r0 == 0x0 goto out
    r0 = *(u64 *)(r0 +16)
{OUT}
-> behind the end
=== a map's key is longer than what was written
    *(u32 *)(r10 -4) = 0
    r1 = map[hash]
    r2 = r10
    r2 += -4
    call bpf_map_lookup_elem
    r0 = 0
    exit
-> outside of its 512 bytes
"""
