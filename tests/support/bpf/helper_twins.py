"""The same program with the same maps in the kernel and in the embedded engine, run one after the other."""

import ctypes
import os
import struct
from contextlib import ExitStack, contextmanager

from sonde.bpf import programs
from sonde.bpf.instructions import decode
from sonde.engines.kernel import commands
from sonde.engines.kernel import maps as kernel_maps
from sonde.engines.kernel.commands import ProgramCode
from sonde.machine.system import possible_cpus
from sonde.runtime.environment import Environment
from sonde.runtime.helpers.table import make_helpers
from sonde.runtime.machine.linking import link
from sonde.runtime.machine.memory import MachineMemory
from sonde.runtime.maps.base import MapTable
from sonde.runtime.maps.creation import create as embedded_map
from support.bpf.bpf_interpreter import Interpreter
from support.bpf.handwritten import program
from support.bpf.kernel_machine import SLEEPABLE

CONTEXT = 64
"""Bytes that a run takes and gives back."""

_LIBRARY = ctypes.CDLL(None, use_errno=True)
CALL, PSEUDO_CALL = 0x85, 1


class OwnTask:
    """This process as a task: its memory is read where the kernel would read it."""

    uid, gid, address, registers = os.getuid(), os.getgid(), 0, 0

    def __init__(self):
        self.tid = self.pid = os.getpid()
        with open("/proc/self/comm", "rb") as file:
            self.comm = file.read().strip()

    def read_memory(self, address, size):
        data = ctypes.create_string_buffer(size)
        _transfer(_LIBRARY.process_vm_readv, ctypes.addressof(data), address, size)
        return data.raw

    def write_memory(self, address, data):
        source = ctypes.create_string_buffer(bytes(data), len(data))
        _transfer(_LIBRARY.process_vm_writev, ctypes.addressof(source), address, len(data))

    def user_stack(self, depth):
        return ()


def _transfer(call, local, remote, size):
    vectors = [(ctypes.c_void_p * 2)(address, size) for address in (local, remote)]
    if call(os.getpid(), *(item for each in vectors for item in (each, 1)), ctypes.c_ulong(0)) != size:
        raise OSError("not all of it is there")


class Twins:
    """`kernel` and `embedded` run the program with bytes as context and give r0 (low 32 bits) and the context after."""

    def __init__(self, specs, text, stack):
        spec = program("twin", programs.SYSCALL, text, [])
        self.kernel_maps = {each.name: kernel_maps.create(each, possible_cpus()) for each in specs}
        for made in self.kernel_maps.values():
            stack.callback(made.close)
        code = bytearray(spec.code)
        for index, name in spec.map_references:
            struct.pack_into("=I", code, 8 * index + 4, self.kernel_maps[name].descriptor)
        loaded = ProgramCode("twin", programs.SYSCALL, 0, bytes(code), flags=SLEEPABLE)
        try:
            self._descriptor = commands.load_program(loaded)
        except OSError:
            log = bytearray(1 << 16)
            try:
                commands.load_program(loaded, log)
            except OSError as error:
                raise AssertionError(log.partition(b"\0")[0].decode()) from error
            raise
        stack.callback(os.close, self._descriptor)
        memory, table, self.task = MachineMemory(), MapTable(), OwnTask()
        stack.callback(table.close)
        self.embedded_maps = {each.name: embedded_map(each, memory, table) for each in specs}
        environment = Environment(memory, table, self.task)
        linked = link(spec, self.embedded_maps, lambda stamp: 0, environment.functions)
        numbers = {each.imm for each in decode(spec.code) if each.opcode == CALL and each.src != PSEUDO_CALL}
        self._execution = Interpreter(linked, memory, make_helpers(numbers, environment), environment.functions)
        self._context = bytearray(CONTEXT)
        self._context_at = memory.add(self._context)
        self.memory = memory

    def kernel(self, context):
        data = bytearray(context.ljust(CONTEXT, b"\0"))
        result = commands.run_syscall_program(self._descriptor, data)
        return result, bytes(data)

    def embedded(self, context):
        self._context[:] = context.ljust(CONTEXT, b"\0")
        result = self._execution.run(self._context_at) & 0xFFFFFFFF
        return result, bytes(self._context)

    def both(self, *numbers):
        """Both results for a context of u64 numbers: (r0, u64 numbers of the context after)."""
        context = struct.pack(f"={len(numbers)}Q", *numbers)
        found = []
        for run in (self.kernel, self.embedded):
            result, data = run(context)
            found.append((result, struct.unpack(f"={CONTEXT // 8}Q", data)))
        return tuple(found)

    def read(self, name):
        """The kernel's elements of a map and the embedded engine's, in order; of a per-CPU map the first CPU's."""
        size = self.kernel_maps[name].spec.value_size
        both = self.kernel_maps[name].read(), self.embedded_maps[name].items()
        return tuple(sorted((key, value[:size]) for key, value in elements) for elements in both)


@contextmanager
def twins(specs, text):
    with ExitStack() as stack:
        yield Twins(specs, text, stack)
