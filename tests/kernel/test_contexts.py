"""The tables of context accesses allow what this kernel's verifier allows, for every offset and size."""

import os

import pytest

from sonde.bpf import instructions as i
from sonde.bpf import programs
from sonde.engines.kernel import commands
from sonde.engines.kernel.commands import ProgramCode
from sonde.runtime.verifier.contexts import CONTEXTS, ContextError, find

ABSENT = {"flow_keys": range(144, 152), "sk": range(168, 176)}
"""Members of struct __sk_buff that point to what the embedded engine has none of."""

TYPES = {
    programs.RAW_TRACEPOINT: range(112),
    programs.TRACEPOINT: [*range(40), *range(8170, 8210)],
    programs.PERF_EVENT: range(200),
    programs.KPROBE: range(180),
    programs.SOCKET_FILTER: range(200),
    programs.SCHED_CLS: range(200),
    programs.XDP: range(30),
}


def kernel_allows(kind, access):
    code = i.encode([i.mov_imm(0, 0), access, i.mov_imm(0, 0), i.exit_()])
    try:
        os.close(commands.load_program(ProgramCode("context", kind, 0, code)))
    except PermissionError:
        return False
    return True


def table_allows(kind, offset, size, is_write=False, is_signed=False):
    try:
        find(CONTEXTS[kind], offset, size, is_write, is_signed)
    except ContextError:
        return False
    return True


def offsets(kind):
    absent = {offset for places in ABSENT.values() for offset in places}
    is_packet = kind in (programs.SOCKET_FILTER, programs.SCHED_CLS)
    return [offset for offset in TYPES[kind] if not (is_packet and offset in absent)]


@pytest.mark.share(6)
@pytest.mark.parametrize("kind", TYPES, ids=lambda kind: programs.NAMES[kind])
def test_reads_are_those_of_the_kernel(kind):
    different = [
        (offset, size)
        for offset in offsets(kind)
        for size in (1, 2, 4, 8)
        if kernel_allows(kind, i.load(size, 2, 1, offset)) != table_allows(kind, offset, size)
    ]
    assert different == []


@pytest.mark.parametrize("kind", TYPES, ids=lambda kind: programs.NAMES[kind])
def test_signed_reads_are_those_of_the_kernel(kind):
    different = [
        (offset, size)
        for offset in offsets(kind)
        for size in (1, 2, 4)
        if kernel_allows(kind, i.load(size, 2, 1, offset, signed=True))
        != table_allows(kind, offset, size, is_signed=True)
    ]
    assert different == []


@pytest.mark.share(6)
@pytest.mark.parametrize("kind", TYPES, ids=lambda kind: programs.NAMES[kind])
def test_writes_are_those_of_the_kernel(kind):
    different = [
        (offset, size)
        for offset in offsets(kind)
        for size in (1, 2, 4, 8)
        if kernel_allows(kind, i.store_reg(size, 1, offset, 0)) != table_allows(kind, offset, size, True)
    ]
    assert different == []
