"""What helpers and the context take.

The blocks are those that `verified.cases` takes.
"""

import pytest
from support.bpf.verified import cases, outcome

BLOCKS = """
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
"""


@pytest.mark.parametrize(("kind", "text", "wanted"), cases(BLOCKS))
def test_the_verdict(kind, text, wanted):
    reason = outcome(text, kind)
    assert wanted in reason if wanted else reason == ""
