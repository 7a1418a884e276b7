"""Tricks with numbers: their halves, their signs, their copies, where paths meet."""

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
=== a bit that is tested says nothing of the others
{ANY}
    if r6 & 0x40 goto out
{READ}
{OUT}
-> may be anything
=== not 64 and not 65, but anything else
{ANY}
    if r6 > 0x42 goto out
    if r6 == 0x40 goto out
    if r6 == 0x41 goto out
{READ}
{OUT}
-> may lead behind the end
=== two offsets that fit one by one
{ANY}
    r6 &= 63
    call bpf_ktime_get_ns
    r0 &= 63
    r1 = map[one][0]+0
    r1 += r6
    r1 += r0
    r0 = *(u8 *)(r1 +0)
    exit
-> may lead behind the end
=== the last byte of a wider read
{ANY}
    r6 &= 63
    r1 = map[one][0]+0
    r1 += r6
    r0 = *(u16 *)(r1 +0)
    exit
-> may lead behind the end
=== an offset is subtracted
{ANY}
    r6 &= 63
    r1 = map[one][0]+32
    r1 -= r6
    r0 = *(u8 *)(r1 +0)
    exit
-> before the start
=== 32 bits of a negative number are added in 64
    w6 = -1
{READ}
-> farther than
=== a remainder of a negative number
{ANY}
    r6 s%= 64
{READ}
-> may be anything
=== the result of a helper may be an error
    r1 = r10
    r1 += -16
    r2 = 16
    r3 = 0
    call bpf_probe_read_kernel_str
    r6 = r0
{READ}
-> before the start
=== one map or another, whose values have other sizes
    *(u64 *)(r10 -8) = 0
    call bpf_ktime_get_ns
    r6 = map[hash]
    if r0 == 0x5 goto there
    r6 = map[array]
there:
    r1 = r6
    r2 = r10
    r2 += -8
    call bpf_map_lookup_elem
    if r0 == 0x0 goto out
    r0 = *(u64 *)(r0 +40)
    exit
{OUT}
-> behind the end
=== a swap of 64 bits makes a small number large
{ANY}
    r6 &= 63
    r6 = bswap64 r6
{READ}
-> is not bounded
"""
