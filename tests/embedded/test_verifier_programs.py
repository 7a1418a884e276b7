"""Whole programs: what the verifier accepts, and what it refuses with which words.

Each block is a name, with the program type before a colon if it is not raw_tracepoint, a program, and behind `->` what
is wrong, or nothing.
"""

import pytest
from verified import outcome

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
=== a lookup compared with 0
    *(u64 *)(r10 -8) = 0
    r2 = r10
    r2 += -8
    r1 = map[hash]
    call bpf_map_lookup_elem
    if r0 == 0x0 goto behind
    r1 = *(u64 *)(r0 +8)
behind:
    r0 = 0
    exit
->
=== a lookup not compared with 0
    *(u64 *)(r10 -8) = 0
    r2 = r10
    r2 += -8
    r1 = map[hash]
    call bpf_map_lookup_elem
    r1 = *(u64 *)(r0 +0)
    exit
-> r0 may be NULL: it comes from bpf_map_lookup_elem at 5 and is not compared with 0 before the read of 8 bytes
=== the comparison holds for copies, in registers and on the stack
    *(u64 *)(r10 -8) = 0
    r2 = r10
    r2 += -8
    r1 = map[hash]
    call bpf_map_lookup_elem
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
    r2 = r10
    r2 += -8
    r1 = map[hash]
    call bpf_map_lookup_elem
    r6 = r0
    r2 = r10
    r2 += -8
    r1 = map[hash]
    call bpf_map_lookup_elem
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
    r2 = r10
    r2 += -8
    r1 = map[hash]
    call bpf_map_lookup_elem
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
    r1 = map[one][0]+0
    r1 += r2
    r0 = *(u64 *)(r1 +0)
    exit
behind:
    r0 = 0
    exit
->
=== an index compared with too large a size
    r2 = *(u64 *)(r1 +0)
    if r2 > 0x39 goto behind
    r1 = map[one][0]+0
    r1 += r2
    r0 = *(u64 *)(r1 +0)
    exit
behind:
    r0 = 0
    exit
-> r1 may lead behind the end of the map's value: the read of 8 bytes at offset 0 to 57 of 64 bytes
=== an index compared as a signed number only
    r2 = *(u64 *)(r1 +0)
    if r2 s> 0x8 goto behind
    r1 = map[one][0]+0
    r1 += r2
    r0 = *(u64 *)(r1 +0)
    exit
behind:
    r0 = 0
    exit
-> is moved by a number that may be anything
=== an index that is not compared
    r2 = *(u64 *)(r1 +0)
    r1 = map[one][0]+0
    r1 += r2
    r0 = *(u64 *)(r1 +0)
    exit
-> is moved by a number that may be anything
=== an index of which bits are taken
    r2 = *(u64 *)(r1 +0)
    r2 &= 56
    r1 = map[one][0]+0
    r1 += r2
    r0 = *(u64 *)(r1 +0)
    exit
->
=== the comparison of a number holds for its copy
    r2 = *(u64 *)(r1 +0)
    r3 = r2
    if r3 > 0x38 goto behind
    r1 = map[one][0]+0
    r1 += r2
    r0 = *(u64 *)(r1 +0)
    exit
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
    r1 = map[one][0]+0
    r1 += r2
    r0 = *(u64 *)(r1 +0)
    exit
behind:
    r0 = 0
    exit
->
=== a 32-bit comparison says nothing of the upper half
    r2 = *(u64 *)(r1 +0)
    if w2 > 0x38 goto behind
    r1 = map[one][0]+0
    r1 += r2
    r0 = *(u64 *)(r1 +0)
    exit
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
    r2 = r10
    r2 += -8
    r1 = map[hash]
    call bpf_map_lookup_elem
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
=== a record is submitted
    r1 = map[ring]
    r2 = 16
    r3 = 0
    call bpf_ringbuf_reserve
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
    r1 = map[ring]
    r2 = 16
    r3 = 0
    call bpf_ringbuf_reserve
    if r0 == 0x0 goto behind
    *(u64 *)(r0 +8) = 1
behind:
    r0 = 0
    exit
-> the record reserved at 4 is neither submitted nor discarded on this way, and the program ends
=== a record is written behind its end
    r1 = map[ring]
    r2 = 16
    r3 = 0
    call bpf_ringbuf_reserve
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
    r1 = map[ring]
    r2 = 16
    r3 = 0
    call bpf_ringbuf_reserve
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
    r1 = map[ring]
    r2 = 16
    r3 = 0
    call bpf_ringbuf_reserve
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
    r1 = map[ring]
    r2 = 16
    r3 = 0
    call bpf_ringbuf_reserve
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
    r1 = map[ring]
    r2 = 16
    r3 = 0
    call bpf_ringbuf_reserve
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
=== a map of another type
    r1 = map[ring]
    r2 = r10
    call bpf_map_lookup_elem
    r0 = 0
    exit
-> r1 is map ring of type ringbuf, but bpf_map_lookup_elem takes only
=== a helper fills memory of the stack
    r1 = r10
    r1 += -16
    r2 = 16
    call bpf_get_current_comm
    r0 = *(u64 *)(r10 -8)
    exit
->
=== a helper fills less than is read
    r1 = r10
    r1 += -16
    r2 = 12
    call bpf_get_current_comm
    r0 = *(u64 *)(r10 -8)
    exit
-> r10 leads to byte -4 of the stack, which was never written
=== a size may be negative
    r2 = *(u64 *)(r1 +0)
    r1 = r10
    r1 += -16
    if r2 s> 0x10 goto behind
    r3 = 0
    call bpf_probe_read_kernel
behind:
    r0 = 0
    exit
-> r1 has a size in r2 that may be negative
=== a size is larger than the memory
    r2 = *(u32 *)(r1 +0)
    r1 = r10
    r1 += -16
    if r2 > 0x20 goto behind
    r3 = 0
    call bpf_probe_read_kernel
behind:
    r0 = 0
    exit
-> r1 leads to offset -16 of the stack, outside of its 512 bytes: bpf_probe_read_kernel writes up to 32 bytes
=== a size may be 0 where that is not allowed
    r2 = *(u32 *)(r1 +0)
    r2 &= 7
    r1 = r10
    r1 += -16
    call bpf_get_current_comm
    r0 = 0
    exit
-> that may be 0
=== the context is moved by a number that is not known
    r2 = *(u64 *)(r1 +0)
    r2 &= 8
    r1 += r2
    r0 = *(u64 *)(r1 +0)
    exit
-> r1 has an offset into the context that is not a constant
=== the context is not written
    *(u64 *)(r1 +0) = 1
    r0 = 0
    exit
-> arguments cannot be written
=== behind the context
    r0 = *(u64 *)(r1 +96)
    exit
-> programs of this type have nothing there
=== an access off the context's grid
    r0 = *(u64 *)(r1 +4)
    exit
-> not aligned
=== the helper is not for this type
    r2 = 0
    call bpf_xdp_adjust_head
    exit
-> bpf_xdp_adjust_head cannot be called by programs of type raw_tracepoint
=== a helper that is not there
    call bpf_sock_from_file
    exit
-> bpf_sock_from_file is a helper that this engine does not have
=== a loop that ends
    r1 = 0
    r0 = 0
again:
    r0 += 3
    r1 += 1
    if r1 < 0x64 goto again
    exit
->
=== a loop that does not end
    r0 = 0
again:
    r0 &= 1
    goto again
    exit
-> nothing leads to this instruction
=== a loop that changes nothing
    r0 = 0
    r2 = *(u64 *)(r1 +0)
again:
    if r2 == 0x0 goto again
    exit
-> the loop comes back here with nothing changed
=== a loop that copies numbers and changes nothing
    r0 = 0
    r2 = *(u64 *)(r1 +0)
again:
    r3 = r2
    r4 = r3
    if r2 == 0x0 goto again
    exit
-> the loop comes back here with nothing changed
=== a loop with may_goto
    r0 = 0
    r2 = *(u64 *)(r1 +0)
again:
    may_goto behind
    r0 += 1
    goto again
behind:
    exit
->
=== a local function
    r1 = 4
    call add
    exit
add:
    r0 = r1
    r0 += 1
    exit
->
=== a local function that needs what it is not given
    r1 = 4
    call add
    exit
add:
    r0 = r1
    r0 += r2
    exit
-> r2 is read, but was not set
=== r6 belongs to each function
    r6 = 4
    call other
    exit
other:
    r0 = r6
    exit
-> r6 is read, but was not set
=== a function writes the caller's stack
    *(u64 *)(r10 -8) = 0
    r1 = r10
    r1 += -8
    call other
    r0 = *(u64 *)(r10 -8)
    exit
other:
    *(u64 *)(r1 +0) = 7
    r0 = 0
    exit
->
=== a function returns its stack
    call other
    r0 = 0
    exit
other:
    r0 = r10
    exit
-> a function cannot return a pointer into a stack
=== a function leaves its stack in the caller's
    r1 = r10
    r1 += -8
    call other
    r1 = *(u64 *)(r10 -8)
    r0 = *(u64 *)(r1 -8)
    exit
other:
    *(u64 *)(r10 -8) = 1
    *(u64 *)(r1 +0) = r10
    r0 = 0
    exit
-> which cannot be stored in the stack of a caller
=== a function that calls itself
    call again
    exit
again:
    call again
    exit
-> a function calls itself
=== too much stack in all
    *(u64 *)(r10 -400) = 1
    call other
    exit
other:
    *(u64 *)(r10 -200) = 1
    r0 = 0
    exit
-> the functions active here need 608 bytes of stack together
=== bpf_loop
    *(u64 *)(r10 -8) = 0
    r1 = 100
    r2 = subprog[body]
    r3 = r10
    r3 += -8
    r4 = 0
    call bpf_loop
    r0 = *(u64 *)(r10 -8)
    exit
body:
    r0 = *(u64 *)(r2 +0)
    r0 += r1
    *(u64 *)(r2 +0) = r0
    r0 = 0
    exit
->
=== the body of bpf_loop returns too much
    r1 = 100
    r2 = subprog[body]
    r3 = 0
    r4 = 0
    call bpf_loop
    exit
body:
    r0 = r1
    exit
-> but a callback has to return 0 to 1
=== the body of bpf_loop goes farther each time
    *(u64 *)(r10 -8) = 0
    r1 = 100
    r2 = subprog[body]
    r3 = r10
    r3 += -8
    r4 = 0
    call bpf_loop
    r0 = 0
    exit
body:
    r0 = *(u64 *)(r2 +0)
    r3 = map[one][0]+0
    r3 += r0
    r4 = *(u64 *)(r3 +0)
    r0 += 8
    *(u64 *)(r2 +0) = r0
    r0 = 0
    exit
-> r3
=== the body of bpf_loop compares how far it goes
    *(u64 *)(r10 -8) = 0
    r1 = 100
    r2 = subprog[body]
    r3 = r10
    r3 += -8
    r4 = 0
    call bpf_loop
    r0 = 0
    exit
body:
    r0 = *(u64 *)(r2 +0)
    if r0 > 0x38 goto behind
    r3 = map[one][0]+0
    r3 += r0
    r4 = *(u64 *)(r3 +0)
    r0 += 8
    *(u64 *)(r2 +0) = r0
behind:
    r0 = 0
    exit
->
=== a record is reserved in a callback and kept
    r1 = 100
    r2 = subprog[body]
    r3 = 0
    r4 = 0
    call bpf_loop
    r0 = 0
    exit
body:
    r1 = map[ring]
    r2 = 16
    r3 = 0
    call bpf_ringbuf_reserve
    r0 = 0
    exit
-> neither submitted nor discarded when the callback ends
=== every element of a map
    r1 = map[hash]
    r2 = subprog[body]
    r3 = 0
    r4 = 0
    call bpf_for_each_map_elem
    r0 = 0
    exit
body:
    r0 = *(u64 *)(r2 +0)
    *(u64 *)(r3 +8) = r0
    r0 = 0
    exit
->
=== a callback does not write keys
    r1 = map[hash]
    r2 = subprog[body]
    r3 = 0
    r4 = 0
    call bpf_for_each_map_elem
    r0 = 0
    exit
body:
    *(u64 *)(r2 +0) = 0
    r0 = 0
    exit
-> points to the key of an element
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
=== the storage of a thread
    call bpf_get_current_task_btf
    r2 = r0
    r1 = map[threads]
    r3 = 0
    r4 = 1
    call bpf_task_storage_get
    if r0 == 0x0 goto behind
    *(u64 *)(r0 +8) = 1
behind:
    r0 = 0
    exit
->
=== a task is not written
    call bpf_get_current_task_btf
    *(u32 *)(r0 +16) = 1
    r0 = 0
    exit
-> r0 points to task_struct, which programs may not write
=== a tail call
    r2 = map[programs]
    r3 = 0
    call bpf_tail_call
    r0 = 0
    exit
->
=== a tail call leaves nothing in r0
    r2 = map[programs]
    r3 = 0
    call bpf_tail_call
    exit
-> r0 is read, but was not set
=== a tail call with a record
    r6 = r1
    r1 = map[ring]
    r2 = 16
    r3 = 0
    call bpf_ringbuf_reserve
    r7 = r0
    r1 = r6
    r2 = map[programs]
    r3 = 0
    call bpf_tail_call
    if r7 == 0x0 goto behind
    r1 = r7
    r2 = 0
    call bpf_ringbuf_submit
behind:
    r0 = 0
    exit
-> the record reserved at 5 is neither submitted nor discarded on this way, and the tail call does not return
=== a callback that another program may have taken over
    *(u64 *)(r10 -8) = r1
    r1 = 4
    r2 = subprog[body]
    r3 = r10
    r3 += -8
    r4 = 0
    call bpf_loop
    r0 = 0
    exit
body:
    r1 = *(u64 *)(r2 +0)
    r2 = map[programs]
    r3 = 0
    call bpf_tail_call
    r0 = 0
    exit
-> a callback has to return 0 to 1
=== xdp: a packet compared with its end
    r2 = *(u32 *)(r1 +0)
    r3 = *(u32 *)(r1 +4)
    r4 = r2
    r4 += 14
    if r4 > r3 goto behind
    r0 = *(u8 *)(r2 +13)
    exit
behind:
    r0 = 2
    exit
->
=== xdp: a packet compared with its end, a byte too few
    r2 = *(u32 *)(r1 +0)
    r3 = *(u32 *)(r1 +4)
    r4 = r2
    r4 += 14
    if r4 > r3 goto behind
    r0 = *(u16 *)(r2 +13)
    exit
behind:
    r0 = 2
    exit
-> r2 is compared with the packet's end up to byte 14 only, but the read of 2 bytes ends at byte 15
=== xdp: a packet not compared
    r2 = *(u32 *)(r1 +0)
    r0 = *(u8 *)(r2 +0)
    exit
-> up to byte 0 only
=== xdp: the other way of a comparison
    r2 = *(u32 *)(r1 +0)
    r3 = *(u32 *)(r1 +4)
    r4 = r2
    r4 += 14
    if r4 > r3 goto there
    r0 = 2
    exit
there:
    r0 = *(u8 *)(r2 +13)
    exit
-> up to byte 0 only
=== xdp: a packet after its head was moved
    r6 = *(u32 *)(r1 +0)
    r3 = *(u32 *)(r1 +4)
    r4 = r6
    r4 += 14
    if r4 > r3 goto behind
    r2 = -4
    call bpf_xdp_adjust_head
    r0 = *(u8 *)(r6 +0)
    exit
behind:
    r0 = 2
    exit
-> r6 is a number, not a pointer
=== xdp: an offset that is not a constant, compared again
    r2 = *(u32 *)(r1 +0)
    r3 = *(u32 *)(r1 +4)
    r4 = r2
    r4 += 1
    if r4 > r3 goto behind
    r5 = *(u8 *)(r2 +0)
    r2 += r5
    r4 = r2
    r4 += 8
    if r4 > r3 goto behind
    r0 = *(u64 *)(r2 +0)
    exit
behind:
    r0 = 2
    exit
->
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


def blocks():
    for block in BLOCKS.split("=== ")[1:]:
        name, _, rest = block.partition("\n")
        text, _, wanted = rest.partition("\n->")
        kind = name.partition(":")[0] if ":" in name else "raw_tracepoint"
        yield pytest.param(kind, text, wanted.strip(), id=name)


@pytest.mark.parametrize(("kind", "text", "wanted"), list(blocks()))
def test_a_program_is_accepted_or_refused_with_a_reason(kind, text, wanted):
    reason = outcome(text, kind)
    if wanted:
        assert wanted in reason
    else:
        assert reason == ""
