"""Loops, functions, callbacks and tail calls.

The blocks are those that `verified.cases` takes.
"""

import pytest
from support.bpf.verified import cases, outcome

LOOP = """
    r2 = subprog[body]
    r3 = r10
    r3 += -8
    r4 = 0
    call bpf_loop
"""
"""`body` again and again, with a pointer to 8 bytes of the stack."""

BLOCKS = """
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
{LOOP}
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
{LOOP}
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
{LOOP}
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
{LOOP}
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
"""


@pytest.mark.parametrize(("kind", "text", "wanted"), cases(BLOCKS, LOOP=LOOP))
def test_the_verdict(kind, text, wanted):
    reason = outcome(text, kind)
    assert wanted in reason if wanted else reason == ""
