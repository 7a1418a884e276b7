"""What the guardian tells sonde of a stop, and how: records of a fixed size in a ring of shared memory.

A record (128 bytes, native order):

    offset  size
    0       2     kind: ENTRY ... END below
    2       2     flags: HELD, FETCHED, BEFORE; REGISTERS_SHIFT bits up the number of its registers' slot, from 1, or 0
    4       4     thread
    8       8     CLOCK_MONOTONIC in ns, taken at the stop
    16      24    three numbers that mean what the kind says, called a, b and c
    40      88    struct ptrace_syscall_info (ptrace.py); without a call outside of ENTRY and RETURN, nothing for END;
                  for SIGNAL the beginning of its siginfo_t

The memory begins with a page of words that both sides look at (HEAD ... SENT), each in a cache line of its own. Then
come the slots for registers, then the ring, of a power of two records, then the places for what was fetched. The
notifier (notifier.py) writes ENTRY records into a memory of its own that is made alike; their sp is 0.
"""

from __future__ import annotations

import struct

from sonde.arch import pages

ENTRY = 1
"""A system call begins: `value` is its number, `arguments` its six arguments. With FETCHED, a: the lengths of what was
fetched, in the plan's order, 16 bits each from the lowest on; b: the number of the place where it is."""

RETURN = 2
"""A system call returns. a: its number; `value`: the result, as the kernel has it (-errno for an error)."""

FORK = 3
"""A thread or process is made; in its maker. a: the thread made; b: 1 if it is a thread of the same process."""

START = 4
"""The first stop of what was made, behind its FORK. a: its maker, 0 if that was killed in the act; b: as in FORK; c:
the number of the maker's system call if that is known, else -1."""

EXEC = 5
"""A new program is in place, before its first instruction. a: the former number of its thread, which has no END."""

EXIT = 6
"""A thread is about to end, its memory still there. a: its status as wait(2) gives it. By StopPlan.times, b: the ns of
CPU time that it has used; c: how it was made to stop for samples, ASKED ... BLOCKED."""

ASKED, CLOCKED, BLOCKED = range(3)
"""CLOCKED: by clocks of its own, which do not count the time in the kernel. BLOCKED: by clocks, whose signal has not
come yet."""

END = 7
"""A thread is gone. a: its status as wait(2) gives it. Nothing is held. If it was killed early there is no START."""

SIGNAL = 8
"""A signal is about to be delivered. a: its number; b: si_code; c: si_pid, if a process sent it."""

GROUP_STOP = 9
"""Job control stopped the thread. a: the signal. It stays stopped until SIGCONT, held or not."""

HIT = 10
"""A breakpoint was hit. a: the number of its site (sites.py); b: the place where the thread's struct user_regs_struct
is, with the breakpoint's address for the program counter; c: the lengths of what was fetched, behind that."""

FUNCTION_RETURN = 11
"""A function that begins at a site has returned: as HIT, with the registers as the caller gets them."""

LOST = 12
"""What is wanted of the thread's memory is not there. a: UNWRITTEN ... UNSAMPLED; b: how many; c: an errno, or 0."""

MAPPED = 13
"""The thread has mapped code, or may execute more, and what is wanted there by then has been put in. A record of the
same stop that is HELD may follow."""

RAN = 14
"""A thread that ran has stopped, to be looked at; or it leaves a call that had to be made once more for that. a: ns of
CPU time that it has used by now, 0 where the kernel does not count them; b: IN_CALL, or 0; c: the number
of the clock that has stopped it (traps.py), -1 where sonde had asked for it."""

IN_CALL = 1
"""It was in a system call."""

UNWRITTEN, UNRETURNED, TAKEN_OUT, PASSABLE, UNREAD, UNCOUNTED, UNCALLED, UNSAMPLED = range(1, 9)
"""UNWRITTEN: breakpoints that could not be put. UNRETURNED: calls whose return has none. TAKEN_OUT: breakpoints that
had to be taken out, as the thread that ran onto one could not go on otherwise. PASSABLE: how often one was out for a
step, in which other threads could pass it. UNREAD: processes whose memory could not be looked at. UNCOUNTED: semaphores
of static probes that could not be counted up. UNCALLED: calls whose return address is not behind a call.
UNSAMPLED: samples that could not be taken."""

HELD = 1
"""The thread stays stopped until sonde says that it may go on."""

FETCHED = 2
"""What the plan wants fetched lies in a place, until the record is given back: not more than can be read of it."""

BEFORE = 4
"""It was before tracing began: to be known, but not to fire anything."""

REGISTERS_SHIFT = 4

RECORD = struct.Struct("=HHIQqqqB3xIQQq6QI4x")
"""kind, flags, tid, time, a, b and c; of the system call: operation, architecture, ip, sp, value, six arguments; which
of what was fetched is wanted."""

HEADER = struct.Struct("=HHIQqqq")
INFO_OFFSET = 40
SIZE = 128

WORD = 8
HEAD, TAIL, REST, FULL, LISTENING, SENT, TELLING = (index * 8 for index in range(7))
"""Indexes of the words shared, which each count or are 0 and 1 if nothing else is said.

HEAD: records written; TAIL: records consumed; REST: how sonde waits, AWAKE, NAPPING or ASLEEP; FULL: the guardian waits
for room; LISTENING: the guardian waits for a command and not for a thread; SENT: commands sent.
In the notifier's ring, TELLING: 1, what is notified is to be told; TELLING_SOME: not of threads with a STEPPING bit.
"""

TELLING_SOME = 2

AWAKE, NAPPING, ASLEEP = 0, 1, 2
"""ASLEEP: wake sonde for every record. NAPPING: only for what is held, or if the ring is half full."""

NOTIFICATION = 2048
"""Where in the page of words the notifier has the kernel write, up to the page's end."""

REGISTERS = pages.PAGE
REGISTER_SLOTS = 256
REGISTER_SLOT = 256
RING = REGISTERS + REGISTER_SLOTS * REGISTER_SLOT
PLACES = 2048
"""As many records wait at most where something is fetched; a power of two."""

PLACE = 2048
"""Bytes. What is fetched for one record begins at multiples of 8."""


def memory_size(slots: int) -> int:
    """Bytes of shared memory for a ring of that many records, a power of two."""
    return RING + slots * SIZE + PLACES * PLACE


def stepping_word(size: int, tid: int) -> tuple[int, int]:
    """Which word of the notifier's memory, of so many bytes, has a thread's STEPPING bit, and that bit: the thread is
    told of by its stops (stepping.py). The bits lie where nothing is fetched for the notifier; there are more than
    numbers that threads may have (PID_MAX_LIMIT, include/linux/threads.h)."""
    return (size - PLACES * PLACE) // WORD + (tid >> 6), 1 << (tid & 63)
