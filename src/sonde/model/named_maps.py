"""The maps that generated programs share with engines, sessions and the consumer: their names, and what their values
are."""

from __future__ import annotations

import struct

from sonde.model.units import whole_words

# The map `state`: an array of one value, these u32 words.
STATE_ACTIVITY = 0

STATE_STATUS = 1
"""The argument of the last exit()."""

INACTIVE, ACTIVE, DRAINING, STOPPED = range(4)
"""Activity: probes other than BEGIN fire only while ACTIVE; exit() makes it DRAINING, in which END may run."""

# The map `counters`: a per-CPU array of one value, these u64 words, each counted up by the programs.
COUNTERS = (
    "records",
    "aggregations",
    "variables",
    "speculations",
    "busy_speculations",
    "unavailable_speculations",
    "errors",
    "nested",
    "captures",
)
"""What was lost, by name: records that found the ring full, updates of aggregations or dynamic variables that found
their map full, speculative records, faults inside ERROR clauses, firings nested deeper than scratch memory allows,
packets of which less was captured than asked for since a record has no room for more."""

FAMILY = "family"
"""The map of the threads of $target and of all that it has started: task storage, a u64 that is not 0."""

PACKET_LOSSES = "packet_losses"
"""A map that programs which capture packets have: u64 packets that found no room, by u32 probe. Only programs write it,
when that happens."""

WAITING = "waiting"
"""A map of one u64 that programs have whose firings may be broken off: how many have not gone on yet, since their
system calls have not returned."""

SKIPPED = "skipped"
"""Not a map of the spec, but read like one (a u64 without a key): firings that the engine did not run because the same
program was already running on that CPU. With the key LOST_TICKS: ticks that it has no sample of; with LOST_SWITCHES:
changes of threads that it was not told of; with LOST_BREAKPOINTS: breakpoints that could not be where they should; with
CUT_SHORT: calls of functions for which nothing was left of what a firing may take."""

LOST_TICKS, LOST_SWITCHES, LOST_BREAKPOINTS, CUT_SHORT = b"ticks", b"switches", b"breakpoints", b"turns"

METER = "turns.meter"
"""A map that programs have whose turns are metered: of each CPU the steps that are left of a firing there, and how many
functions could not pay."""

SPECULATIONS, SPECULATION_COUNTS = "speculations", "spec_counts"
"""Maps with an element for each speculation, by number; 0 is none.

The first has a u64 state: the programs go from FREE over CLAIMED and SPECULATING to CLOSED, only the consumer from
there back to FREE. The second has u64 records written with that number since tracing began, without those that were
given up again, and u64 bytes written since the speculation was taken; only programs write it.
"""

PERF_RINGS, WRITING = "perf_rings", "writing"
"""Maps by which records come through perf rings: the array of perf events that `TracingSpec.rings` then names, and one
with a u64 for each CPU, how many records are about to be written there, one within the other. Only programs write it.
"""

PRINTED, PRINTED_LOST = "printk.ring", "printk.lost"
"""Maps for what programs of objects print: a ring buffer of `PRINTED_RECORD`, the text behind it, and, behind
PRINTED_ROOM bytes for that, the addresses of the kernel's stack; and an array of a u64, texts without room there."""

PRINTED_RECORD, PRINTED_ROOM = struct.Struct("=qq"), 1024
"""The length of the text with its NUL, and the bytes of the stack, or in place of each -errno."""

FREE, CLAIMED, SPECULATING, CLOSED, COMMITTED, DISCARDED = range(6)
"""States of a speculation: CLAIMED is being prepared, CLOSED was committed or discarded and waits for the consumer. So
do COMMITTED and DISCARDED, of which no record tells: the ring had no room for it."""

GENERATIONS, GENERATION_PLACES = "generations", "generation.places"
"""Maps of programs that record whose an address is: an array of a u32 for each slot of processes (`GENERATION_SLOTS`),
which the engine counts up when one of them maps code; and where it finds that out, `GENERATION_OFFSETS`."""

GENERATION_SLOTS = 1 << 16
"""A process has the slot of its number in the initial pid namespace, less its upper bits."""

GENERATION_OFFSETS = struct.Struct("=IIII")
"""Bytes from the beginning of struct task_struct to `mm`, of mm_struct to `mm_mt`, of ma_state to `tree`, and of
vm_area_struct to `vm_flags`."""

UNWIND_PROCESSES, UNWIND_MAPPINGS, UNWIND_FILES, UNWIND_WANTED, UNWIND_CUT = (
    "unwind_process", "unwind_mapping", "unwind_file", "unwind_wanted", "unwind_cut"
)  # fmt: skip
"""Maps by which user stacks are walked without frame pointers, which the session fills
(`symbols/unwinding/unwind_tables.py`).

Where programs can look at a process's mappings themselves, the third has the u32 number of an object for each file, by
u64 inode, u64 and u32 seconds and nanoseconds of its last change, u32 device in between (`UNWIND_FILE`). Elsewhere the
first has for each process, by u64 number, u32 first and u32 count of its entries in the second; that has pages of
entries by address, u64 start, u64 end, u64 that turns addresses into file offsets, u32 number of the object. The
fourth is written by programs: a file that is not known, with u64 process and u64 address at which that has it, or u64 1
for a process of which something is not known. The last counts the stacks for which a table was not there (u64).
"""

UNWIND_FILE = struct.Struct("<QQII")
"""Inode, seconds of its last change, device as the kernel numbers it, nanoseconds of the change; all 0 for the vdso."""

UNWIND_OBJECTS, UNWIND_BLOCKS, UNWIND_ROWS, UNWIND_RULES = (
    "unwind_object", "unwind_block", "unwind_row", "unwind_rule"
)  # fmt: skip
"""The tables of objects: for each u32 number what `UNWIND_OBJECT` has, and pages of what `symbols/dwarf/unwind_rows.py`
makes. Number 0 is an object without any. In the last pages of rows are frame descriptions as they are in files, of
objects whose rows are still being made, where programs look at mappings themselves."""

UNWIND_OBJECT = struct.Struct("<IIIIIIqqqqII")
"""First row, first block, count of blocks, first rule. Of an object without rows: the first pair of addresses of its
descriptions, and how many there are; what turns file offsets into addresses as pairs have them, counted from -2^31;
the place from which pairs count descriptions; and those of the two beginnings that signals' frames and outermost ones
have in common, -1 if there are none. And the number of the interpreter of Python in it (`python_frames.py`), 0 if
there is none; and 1 if its code keeps frame pointers that lead from one stack to another."""

UNWIND_PAGE = 4096
"""Bytes of entries in an element of an array of pages."""

SITES = 8192
"""Sites of static probes that a program of all processes can have."""

NAMES_MAP, NAMES_ROOM = "names", 16384
"""The map of interned strings, for names that an expression needs as characters, and the elements in it for names that
are found while tracing."""

SITE_ARGUMENT = 24
"""Bytes in a row of sites that say where an argument is: u8 how (ABSENT: it is 0; VALUE; MEMORY: at the address that
follows; UNKNOWN: it cannot be had), u8 bytes less one, u8 bits above it, u8 is signed, u8 shift of the second register,
u8 bits below it, u16 offsets of two registers in struct pt_regs (NO_REGISTER: none), six bytes of zeros, and i64 what
is added to them."""

ABSENT, IS_VALUE, IN_MEMORY, UNKNOWN = range(4)

NO_REGISTER = 0xFFFF


def sites_row_size(words: int, arguments: int) -> int:
    """Bytes of a row with so many words of a mask and arguments."""
    return whole_words(20 + 4 * words) + SITE_ARGUMENT * arguments
