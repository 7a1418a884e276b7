"""Random programs in the machine of the embedded engine, by either execution."""

import os
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

from sonde.bpf import instructions as i
from sonde.bpf import maps, programs
from sonde.engines.kernel.ring import KernelRing
from sonde.runtime.environment import Environment
from sonde.runtime.helpers.table import SUPPORTED, make_helpers
from sonde.runtime.machine.linking import link
from sonde.runtime.machine.memory import MachineMemory
from sonde.runtime.machine.translation.translator import translate
from sonde.runtime.maps.base import MapTable
from sonde.runtime.maps.creation import create
from sonde.runtime.perf.packet_pieces import SkbPacket, XdpPacket
from sonde.runtime.verifier.contexts import CONTEXTS, field_named, find
from support.bpf.bpf_interpreter import Interpreter
from support.bpf.outcomes import Outcome, elements, is_shown, records_of

MAPS = frozenset({
    maps.HASH, maps.ARRAY, maps.PERCPU_HASH, maps.PERCPU_ARRAY, maps.LRU_HASH, maps.RINGBUF, maps.ARRAY_OF_MAPS,
    maps.PROG_ARRAY,
})  # fmt: skip
EXECUTIONS = {"interpreter": Interpreter, "translator": translate}
ETHERNET_HEADER = 14
PACKETS = frozenset({programs.XDP, programs.SCHED_CLS, programs.SOCKET_FILTER})


class Thread(NamedTuple):
    """The task that programs see."""

    tid: int = 1001
    pid: int = 1000
    comm: bytes = b"random"
    uid: int = 0
    gid: int = 0
    address: int = 0
    registers: int = 0


def helpers_of(code):
    """The numbers of the helpers that the code calls."""
    return {one.imm for one in code if one.opcode == i.JMP | i.CALL and one.src == i.CALL_HELPER}


def can_run(sample):
    """Whether the engine has all helpers that the program calls, and all its maps."""
    return helpers_of(sample.code) <= SUPPORTED and all(spec.kind in MAPS for spec in sample.maps)


@contextmanager
def single_processor():
    """Stay on CPU 0, as programs of the engine always are."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {0})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def rewritten(sample):
    """The code with its accesses to a packet's context rewritten to the engine's structure."""
    code = list(sample.code)
    if sample.kind in PACKETS:
        for at in sample.context_accesses:
            code[at] = rewritten_access(sample.kind, code[at])
    return code


def rewritten_access(kind, one):
    size, is_write = i.BYTES_OF_SIZE[one.opcode & 0x18], one.opcode & 7 != i.LDX
    access = find(CONTEXTS[kind], one.offset, size, is_write, one.opcode & 0xE0 == i.MEMSX)
    return one._replace(opcode=one.opcode & ~0x18 | i.SIZE_OF_BYTES[access.size], offset=access.at)


@contextmanager
def environment(sample):
    """Memory, maps by name and the Environment for one run."""
    memory = MachineMemory()
    table = MapTable()
    try:
        yield Environment(memory, table, Thread()), {spec.name: create(spec, memory, table) for spec in sample.maps}
    finally:
        table.close()


def run(sample, execute=Interpreter, code=None):
    """The outcome of one run; `code` in the place of the sample's own, rewritten already."""
    spec = sample.spec()._replace(code=i.encode(rewritten(sample) if code is None else code))
    with environment(sample) as (world, made), ExitStack() as stack:
        linked = link(spec, made, lambda stamp: 0, world.functions)
        execution = execute(linked, world.memory, make_helpers(helpers_of(sample.code), world), world.functions)
        stack.callback(execution.close)
        data = bytearray(sample.data)
        result = execution.run(_context(sample, data, world))
        records = ()
        if "ring" in made:
            ring = KernelRing(made["ring"].descriptor, 4096)
            stack.callback(ring.close)
            records = records_of(bytes(ring.read()))
        contents = {name: elements(one.spec, one.items()) for name, one in made.items() if is_shown(one.spec)}
        if sample.kind == programs.SOCKET_FILTER:
            # The kernel shows zeros where the header was.
            data[:ETHERNET_HEADER] = bytes(ETHERNET_HEADER)
        return Outcome(result & 0xFFFFFFFF, bytes(data), contents, records)


def _context(sample, data, world):
    """The address of the context for these bytes, which are it or the packet."""
    if sample.kind not in PACKETS:
        return world.memory.add(data)
    # A socket filter sees the packet behind the header of the link (bpf_prog_test_run_skb, net/bpf/test_run.c).
    start = ETHERNET_HEADER if sample.kind == programs.SOCKET_FILTER else 0
    address = world.memory.add(memoryview(data)[start:])
    table = CONTEXTS[sample.kind]
    packet = memoryview(data)[start:]
    world.packet = XdpPacket(packet) if sample.kind == programs.XDP else SkbPacket(packet)
    values = {"data": address, "data_meta": address, "data_end": address + len(packet), "len": len(packet)}
    values |= {"ingress_ifindex": 1, "ifindex": 1}
    context = bytearray(CONTEXTS[programs.SCHED_CLS].size)
    for name, value in values.items():
        if any(field.name == name for field in table.fields):
            field = field_named(table, name)
            width = field.width or field.size
            context[field.at : field.at + width] = value.to_bytes(width, "little")
    return world.memory.add(context)
