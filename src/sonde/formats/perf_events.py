"""Numbers of perf's mapped ring buffers and their records (include/uapi/linux/perf_event.h)."""

from __future__ import annotations

import struct

TYPE_SOFTWARE, TYPE_TRACEPOINT = 1, 2
SOFTWARE_CPU_CLOCK = 0
SOFTWARE_DUMMY = 9
SOFTWARE_BPF_OUTPUT = 10

RECORD_MMAP = 1
RECORD_LOST = 2
RECORD_COMM = 3
RECORD_EXIT = 4
RECORD_FORK = 7
RECORD_SAMPLE = 9
RECORD_MMAP2 = 10
RECORD_LOST_SAMPLES = 13
RECORD_SWITCH, RECORD_SWITCH_OF_CPU = 14, 15
RECORD_KSYMBOL = 17

MISC_KERNEL, MISC_USER = 1, 2
"""Where a sample was taken: PERF_RECORD_MISC_*."""

MISC_COMM_EXEC = 1 << 13
"""A thread has another name since it has executed a program."""

MISC_MMAP_BUILD_ID = 1 << 14
"""A PERF_RECORD_MMAP2 has a build id in the place of device and inode."""

MISC_SWITCH_OUT = 1 << 13
"""A PERF_RECORD_SWITCH is of a thread that leaves a CPU, and not of one that has got it."""

MISC_SWITCH_OUT_PREEMPT = 1 << 14
"""It could go on, but another one was given the CPU."""

HEADER = struct.Struct("=IHH")
"""struct perf_event_header: u32 type, u16 misc, u16 size of the whole record."""

HEADER_SIZE = HEADER.size

CONTEXT_MAX = (1 << 64) - 4095
"""PERF_CONTEXT_MAX: from it on, the words of a call chain are marks that say whose addresses follow."""

MAX_RECORD = 0xFFF8
"""The largest multiple of 8 that the size of a header can hold."""

ATTRIBUTES_SIZE = 112
"""PERF_ATTR_SIZE_VER5, which every kernel with BPF on perf events knows."""

FORMAT_LOST = 1 << 4
"""PERF_FORMAT_LOST of attr.read_format, since Linux 6.0."""

FLAG_TASK, FLAG_SAMPLE_ID_ALL, FLAG_COMM_EXEC, FLAG_CONTEXT_SWITCH = 1 << 13, 1 << 18, 1 << 24, 1 << 26
"""Of the bits behind attr.read_format."""

# Bits of attr.sample_type.
SAMPLE_IP = 1 << 0
SAMPLE_TID = 1 << 1
SAMPLE_TIME = 1 << 2
SAMPLE_ADDR = 1 << 3
SAMPLE_READ = 1 << 4
SAMPLE_CALLCHAIN = 1 << 5
SAMPLE_ID = 1 << 6
SAMPLE_CPU = 1 << 7
SAMPLE_PERIOD = 1 << 8
SAMPLE_STREAM_ID = 1 << 9
SAMPLE_RAW = 1 << 10
SAMPLE_BRANCH_STACK = 1 << 11
SAMPLE_REGS_USER = 1 << 12
SAMPLE_STACK_USER = 1 << 13
SAMPLE_WEIGHT = 1 << 14
SAMPLE_DATA_SRC = 1 << 15
SAMPLE_IDENTIFIER = 1 << 16
SAMPLE_TRANSACTION = 1 << 17
SAMPLE_PHYS_ADDR = 1 << 19
SAMPLE_CGROUP = 1 << 21
SAMPLE_DATA_PAGE_SIZE = 1 << 22
SAMPLE_CODE_PAGE_SIZE = 1 << 23

FIXED_FIELDS = (
    (SAMPLE_IDENTIFIER, "identifier", "Q"),
    (SAMPLE_IP, "ip", "Q"),
    (SAMPLE_TID, "pid tid", "II"),
    (SAMPLE_TIME, "time", "Q"),
    (SAMPLE_ADDR, "addr", "Q"),
    (SAMPLE_ID, "id", "Q"),
    (SAMPLE_STREAM_ID, "stream_id", "Q"),
    (SAMPLE_CPU, "cpu reserved", "II"),
    (SAMPLE_PERIOD, "period", "Q"),
)
"""What a PERF_RECORD_SAMPLE begins with, in this order: the bit, the names and their codes of `struct`."""

TRAILER_FIELDS = (
    (SAMPLE_TID, "pid tid", "II"),
    (SAMPLE_TIME, "time", "Q"),
    (SAMPLE_ID, "id", "Q"),
    (SAMPLE_STREAM_ID, "stream_id", "Q"),
    (SAMPLE_CPU, "cpu reserved", "II"),
    (SAMPLE_IDENTIFIER, "identifier", "Q"),
)
"""What every other record ends with where attr.sample_id_all is set (struct sample_id)."""

LAST_FIELDS = (
    (SAMPLE_WEIGHT, "weight", "Q"),
    (SAMPLE_DATA_SRC, "data_src", "Q"),
    (SAMPLE_TRANSACTION, "txn", "Q"),
    (SAMPLE_PHYS_ADDR, "phys_addr", "Q"),
    (SAMPLE_CGROUP, "cgroup", "Q"),
    (SAMPLE_DATA_PAGE_SIZE, "data_page_size", "Q"),
    (SAMPLE_CODE_PAGE_SIZE, "code_page_size", "Q"),
)
"""What a PERF_RECORD_SAMPLE ends with, in this order, behind call chain, raw data and registers."""

SUPPORTED = SAMPLE_CALLCHAIN | SAMPLE_RAW | SAMPLE_REGS_USER | sum(bit for bit, _, _ in FIXED_FIELDS)
"""The bits of sample_type whose fields the reader understands and the embedded engine writes."""

READABLE = SUPPORTED | sum(bit for bit, _, _ in LAST_FIELDS)
"""Those whose fields the reader understands."""

# Offsets in struct perf_event_mmap_page, the first page of the mapping.
PAGE_CAPABILITIES = 40
PAGE_SIZE_FIELD = 72
PAGE_RESERVED = 96
PAGE_DATA_HEAD = 1024
PAGE_DATA_TAIL = 1032
PAGE_DATA_OFFSET = 1040
PAGE_DATA_SIZE = 1048
