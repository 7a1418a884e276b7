"""Records in a BPF ring buffer (include/uapi/linux/bpf.h, kernel/bpf/ringbuf.c).

Each stands behind a header, u32 length and u32 that is the kernel's own, and ends where a multiple of 8 bytes does. Two
bits above the length say that it is still being written, or that it is to be passed over.
"""

from __future__ import annotations

BUSY, DISCARD = 1 << 31, 1 << 30
"""BPF_RINGBUF_BUSY_BIT, BPF_RINGBUF_DISCARD_BIT."""

LENGTH = DISCARD - 1
"""The bits of the length."""

RING_HEADER = 8
"""BPF_RINGBUF_HDR_SZ."""

ALIGNMENT = 8
ROUNDING = RING_HEADER + ALIGNMENT - 1
"""What is added to a length before it is cut to a multiple of ALIGNMENT: loops over records do so themselves."""


def record_size(word: int) -> int:
    """The bytes of a record whose header begins with that word, with the header and the padding."""
    return (word & LENGTH) + ROUNDING & -ALIGNMENT
