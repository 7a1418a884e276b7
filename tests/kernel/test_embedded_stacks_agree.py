"""The numbers of stacks in a stack trace map are those that the kernel gives them."""

import os
import struct
from contextlib import contextmanager

import pytest
from support.bpf.handwritten import raw_tracepoint

from sonde.bpf import maps
from sonde.engines.kernel import commands
from sonde.engines.kernel import maps as kernel_maps
from sonde.engines.kernel.commands import ProgramCode
from sonde.engines.kernel.syscalls import current_cpu
from sonde.machine.system import possible_cpus
from sonde.model.spec import MapSpec
from sonde.runtime.machine.memory import MachineMemory
from sonde.runtime.maps.base import MapTable
from sonde.runtime.maps.creation import create

FAST_COMPARE, REUSE, USER = 1 << 9, 1 << 10, 1 << 8

PROGRAM = """
    r2 = map[stacks]
    r3 = {}
    call bpf_get_stackid
    exit
"""


@contextmanager
def loaded(text, made):
    """A function that runs the program and gives what it returns, with the kernel's stack of the running test."""
    spec = raw_tracepoint("stacks", text, [])
    code = bytearray(spec.code)
    for index, _ in spec.map_references:
        struct.pack_into("=I", code, 8 * index + 4, made.descriptor)
    descriptor = commands.load_program(ProgramCode("stacks", spec.kind, 0, bytes(code)))
    try:
        yield lambda: struct.unpack("=i", struct.pack("=I", commands.run_program(descriptor, current_cpu())))[0]
    finally:
        os.close(descriptor)


@pytest.mark.parametrize("entries", [1, 100, 4096])
def test_a_stacks_number_is_the_kernels(entries):
    spec = MapSpec("stacks", maps.STACK_TRACE, 4, 8 * 32, entries)
    for skip in range(5):
        kernel, table = kernel_maps.create(spec, possible_cpus()), MapTable()
        try:
            with loaded(PROGRAM.format(skip), kernel) as run:
                number = run()
            ((key, value),) = kernel.read()
            stack = [address for address in struct.unpack("=32Q", value) if address]
            embedded = create(spec, MachineMemory(), table)
            assert embedded.add(stack, 0) == number == struct.unpack("=I", key)[0]
            assert embedded.items() == [(key, value)]
        finally:
            kernel.close()
            table.close()


@pytest.mark.parametrize("flags", [0, FAST_COMPARE, REUSE, FAST_COMPARE | REUSE])
def test_a_map_that_is_full_answers_as_the_kernels(flags):
    spec = MapSpec("stacks", maps.STACK_TRACE, 4, 8 * 32, 1)
    kernel, table = kernel_maps.create(spec, possible_cpus()), MapTable()
    try:
        embedded = create(spec, MachineMemory(), table)
        # The program itself is on the stack: loaded anew it is another stack.
        for stack in ([1, 2, 3], [4, 5, 6]):
            with loaded(PROGRAM.format(flags), kernel) as run:
                for _ in range(2):
                    assert embedded.add(stack, flags) == run()
        assert len(embedded.items()) == len(kernel.read())
    finally:
        kernel.close()
        table.close()
