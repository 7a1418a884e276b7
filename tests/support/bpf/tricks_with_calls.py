"""Tricks with functions, callbacks and records."""

BLOCKS = """
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
=== a callback changes an offset on the stack
    *(u64 *)(r10 -8) = 0
    r1 = 10
{LOOP}
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
{LOOP}
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
{LOOP}
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
=== a function writes beyond the stack that it gets
    r1 = r10
    r1 += -4
    call write
    r0 = 0
    exit
write:
    *(u64 *)(r1 +4) = 0
    r0 = 0
    exit
-> outside of its 512 bytes
=== a record or a value, given back
    r6 = map[one][0]+0
    call bpf_ktime_get_ns
    if r0 == 0x5 goto there
    r1 = map[ring]
    r2 = 16
    r3 = 0
    call bpf_ringbuf_reserve
    r6 = r0
    if r6 == 0x0 goto out
there:
    r1 = r6
    r2 = 0
    call bpf_ringbuf_submit
{OUT}
-> takes a reserved record
=== two records, one given back under the other's name
{RESERVE}
    if r0 == 0x0 goto out
    r6 = r0
{RESERVE}
    r7 = r0
    if r7 != 0x0 goto both
    r1 = r6
    r2 = 0
    call bpf_ringbuf_submit
    goto out
both:
    call bpf_ktime_get_ns
    r1 = r6
    if r0 == 0x5 goto there
    r1 = r7
there:
    r2 = 0
    call bpf_ringbuf_submit
    r1 = r6
    r2 = 0
    call bpf_ringbuf_submit
{OUT}
-> takes a reserved record
=== the callback's own stack is given to the next turn
    r1 = 10
    r2 = subprog[body]
    r3 = r10
    r3 += -8
    r4 = 0
    *(u64 *)(r10 -8) = 0
    call bpf_loop
    r0 = 0
    exit
body:
    r3 = *(u64 *)(r2 +0)
    *(u64 *)(r10 -8) = 1
    r4 = r10
    *(u64 *)(r2 +0) = r4
    r0 = 0
    exit
-> which cannot be stored in the stack of a caller
=== what a callback set in r6 is not the caller's
    r6 = 4096
    r1 = 10
    r2 = subprog[body]
    r3 = 0
    r4 = 0
    call bpf_loop
{READ}
body:
    r6 = 0
    r0 = 0
    exit
-> behind the end
=== r1 of a callback is any number
    r1 = 4
    r2 = subprog[body]
    r3 = 0
    r4 = 0
    call bpf_loop
    r0 = 0
    exit
body:
    r6 = r1
{READ}
-> may be anything
=== a function's argument that only one caller sets
    r1 = map[one][0]+0
    call read
    r1 = 0
    call read
    r0 = 0
    exit
read:
    r0 = *(u64 *)(r1 +0)
    r0 = 0
    exit
-> r1 is a number, not a pointer
"""
