"""General probes: clauses compiled once, called by tail call from programs of other types."""

import struct

import pytest
from support.bpf.embedded_world import World
from support.bpf.perf_programs import execution, load, program
from support.d.compiled import TARGET, compilation

from sonde.arch import system_calls
from sonde.bpf import maps, probe_context, programs
from sonde.formats import perf_events as perf
from sonde.formats.perf_ring import PerfRingReader
from sonde.formats.perf_samples import decode_sample
from sonde.model.named_maps import ACTIVE
from sonde.runtime.maps.creation import create
from sonde.runtime.perf.attributes import Attributes
from sonde.runtime.perf.events import OpenPerfEvent
from sonde.runtime.perf.packet_pieces import SkbPacket, XdpPacket
from sonde.runtime.perf.sample import Sample
from sonde.runtime.programs.overflow import Overflows
from sonde.runtime.programs.program_types import CALLERS
from sonde.runtime.structures import THREAD_STATUS
from sonde.runtime.verifier.contexts import CONTEXTS, field_named, find

__all__ = ["execution"]

_U64 = (1 << 64) - 1

GENERAL = TARGET._replace(features=TARGET.features | {"general_probes"})

CALL = """
    r2 = map[programs]
    r3 = {index}
    call bpf_tail_call
    r0 = 77
    exit
"""
"""Returns 77 if the tail call fails."""

PROBES = "syscall::read:entry, syscall::read:return"

CLAUSES = PROBES + " { @seen[arg0, arg1, arg2, arg3, arg4, arg5] = count(); @errors[errno] = count(); }"


def pt_regs(**values):
    places = {
        "bp": 32, "bx": 40, "r10": 56, "r9": 64, "r8": 72, "ax": 80, "cx": 88, "dx": 96, "si": 104, "di": 112,
        "ip": 128, "cs": 136, "sp": 152,
    }  # fmt: skip
    registers = bytearray(168)
    for name, value in values.items():
        struct.pack_into("=Q", registers, places[name], value)
    return bytes(registers)


class Probes:
    """A world with one compiled clause program in the program array, element 0, and callers of any type."""

    def __init__(self, source=CLAUSES):
        self.world = World()
        self.environment = self.world.environment
        self.task = bytearray(4096)
        self.world.task.address = self.world.place(self.task)
        self.array = self.world.map(maps.PROG_ARRAY, 4, 4, 4)
        self.spec = compilation(source, GENERAL).spec()
        self.maps = {m.name: create(m, self.world.memory, self.world.table) for m in self.spec.maps}
        self.maps["programs"] = self.array
        assert self.maps["state"].update(bytes(4), struct.pack("=II", ACTIVE, 0).ljust(self.size("state"), b"\0")) == 0
        (clauses,) = (each for each in self.spec.programs if each.kind == programs.PROBE)
        self.array.set(0, self.load(clauses))

    def size(self, name):
        return self.maps[name].spec.value_size

    def load(self, spec):
        return load(self.world, spec, self.maps)

    def caller(self, kind, index=0):
        return self.load(program(kind, CALL.format(index=index)))

    def seen(self, name="seen"):
        """{key words: count} of an aggregation."""
        aggregation = next(a for a in self.spec.aggregations if a.name == name)
        values = dict(self.maps[aggregation.map].items())
        found = {}
        for key, value in values.items():
            words = tuple(int.from_bytes(key[f.offset : f.offset + f.size], "little") for f in aggregation.keys)
            found[words] = struct.unpack_from("=Q", value)[0]
        return found


def sys_enter(probes):
    registers = probes.world.place(pt_regs(di=3, si=0x7000, dx=5, r10=6, r8=7, r9=8, cx=99))
    probes.environment.tracepoint = "sys_enter"
    context = probes.world.place(struct.pack("=12Q", registers, 1, *[0] * 10))
    return probes.caller(programs.RAW_TRACEPOINT).run(context)


def trace_event(probes):
    probes.environment.tracepoint = "sys_enter"
    probes.world.task.registers = probes.world.place(pt_regs(di=3, si=0x7000, dx=5, r10=6, r8=7, r9=8))
    return probes.caller(programs.TRACEPOINT).run(probes.world.place(struct.pack("=8Q", 0, 1, 2, 2, 2, 2, 2, 2)))


def trace_event_of_a_return(probes):
    probes.environment.tracepoint = "sys_exit"
    probes.world.task.registers = probes.world.place(pt_regs(ax=-2 & 0xFFFF_FFFF_FFFF_FFFF))
    return probes.caller(programs.TRACEPOINT).run(probes.world.place(struct.pack("=QQq", 0, 1, -2)))


def raw_tracepoint(probes):
    probes.environment.tracepoint = "sched_process_exec"
    return probes.caller(programs.RAW_TRACEPOINT).run(probes.world.place(struct.pack("=12Q", *range(1, 13))))


def typed_tracepoint(probes):
    probes.environment.tracepoint = "signal_deliver"
    return probes.caller(programs.TRACING).run(probes.world.place(struct.pack("=12Q", *range(1, 13))))


def overflow(probes):
    event = OpenPerfEvent(Attributes(config=perf.SOFTWARE_CPU_CLOCK, sample_type=perf.SAMPLE_PERIOD), 7)
    event.map(1)
    event.attach(probes.caller(programs.PERF_EVENT))
    sample = Sample({"period": 4000, "addr": 55}, registers=pt_regs(ip=0x401000, cs=0x33))
    return Overflows(probes.environment).overflow(event, sample)


def packet_context(kind, **values):
    table = CONTEXTS[kind]
    context = bytearray(table.size)
    for name, value in values.items():
        field = field_named(table, name)
        context[field.at : field.at + field.size] = value.to_bytes(field.size, "little")
    return context


def xdp(probes):
    probes.environment.packet = XdpPacket(memoryview(bytes(60)), (memoryview(bytes(40)),))
    context = packet_context(programs.XDP, ingress_ifindex=4, rx_queue_index=2)
    return probes.caller(programs.XDP).run(probes.world.place(context))


def classifier(probes):
    probes.environment.packet = SkbPacket(memoryview(bytes(60)), (memoryview(bytes(1)),))
    context = packet_context(programs.SCHED_CLS, ifindex=4, protocol=8, mark=11)
    return probes.caller(programs.SCHED_CLS).run(probes.world.place(context))


def function(probes):
    return probes.caller(programs.KPROBE).run(probes.world.place(pt_regs(di=3, si=4, dx=5, cx=6, r8=7, r9=8, r10=99)))


FIRINGS = {
    "system_call": (sys_enter, (3, 0x7000, 5, 6, 7, 8), 0),
    "trace_event": (trace_event, (3, 0x7000, 5, 6, 7, 8), 0),
    "trace_event_of_a_return": (trace_event_of_a_return, (_U64 - 1, _U64 - 1, 0, 0, 0, 0), 0),
    "raw_tracepoint": (raw_tracepoint, (1, 2, 0, 0, 0, 0), 0),
    "typed_tracepoint": (typed_tracepoint, (1, 2, 0, 0, 0, 0), 0),
    "perf_event_overflow": (overflow, (0, 0x401000, 4000, 55, 0, 0), 0),
    "xdp": (xdp, (100, 4, 2, 0, 0, 0), 2),
    "sched_cls": (classifier, (61, 4, 8, 11, 0, 0), 0xFFFFFFFF),
    "kprobe": (function, (3, 4, 5, 6, 7, 8), 0),
}


@pytest.mark.share(12)
@pytest.mark.parametrize("firing", FIRINGS)
def test_the_callers_context_is_converted(firing):
    fire, arguments, result = FIRINGS[firing]
    probes = Probes()
    assert fire(probes) == result
    assert probes.seen() == {arguments: 1}


def test_d_clauses_compiled_once_run_from_any_kind_of_probe():
    probes = Probes()
    for fire, _, _ in FIRINGS.values():
        fire(probes)
    fire(probes)
    assert sum(probes.seen().values()) == len(FIRINGS) + 1
    assert {key for key, count in probes.seen().items()} == {arguments for _, arguments, _ in FIRINGS.values()}


def test_a_returning_system_call_has_its_result_and_error():
    probes = Probes()
    registers = probes.world.place(pt_regs(di=3))
    probes.environment.tracepoint = "sys_exit"
    caller = probes.caller(programs.RAW_TRACEPOINT)
    for result in (17, -2):
        caller.run(probes.world.place(struct.pack("=Qq10Q", registers, result, *[0] * 10)))
    minus = (1 << 64) - 2
    assert probes.seen() == {(17, 17, 0, 0, 0, 0): 1, (minus, minus, 0, 0, 0, 0): 1}
    assert probes.seen("errors") == {(0,): 1, (2,): 1}


def test_a_call_of_the_32_bit_table_has_its_own_arguments():
    probes = Probes()
    probes.world.memory.write(probes.world.task.address + THREAD_STATUS, struct.pack("=I", system_calls.COMPAT_BIT))
    registers = pt_regs(bx=1 << 40 | 1, cx=2, dx=3, si=4, di=5, bp=6, r8=99)
    probes.environment.tracepoint = "sys_enter"
    context = struct.pack("=12Q", probes.world.place(registers), 4, *[0] * 10)
    probes.caller(programs.RAW_TRACEPOINT).run(probes.world.place(context))
    assert probes.seen() == {(1, 2, 3, 4, 5, 6): 1}


@pytest.mark.parametrize("is_there", [True, False])
def test_a_functions_further_arguments_are_on_the_stack(is_there):
    probes = Probes(PROBES + " { @seen[arg5, arg6, arg7, arg8, arg9] = count(); }")
    if is_there:
        probes.world.task.put(0x7000_0000, struct.pack("=5Q", 0xBAD, 7, 8, 9, 10))
    probes.caller(programs.KPROBE).run(probes.world.place(pt_regs(r9=6, sp=0x7000_0000)))
    assert probes.seen() == {(6, 7, 8, 9, 10) if is_there else (6, 0, 0, 0, 0): 1}


def test_another_tracepoint_has_its_own_arguments():
    probes = Probes()
    probes.environment.tracepoint = "sched_switch"
    probes.caller(programs.RAW_TRACEPOINT).run(probes.world.place(struct.pack("=12Q", *range(1, 13))))
    assert probes.seen() == {(1, 2, 3, 4, 5, 6): 1}


def test_the_cookie_tells_which_of_its_probes_fired():
    probes = Probes(PROBES + " { @names[probename] = count(); }")
    caller = probes.caller(programs.KPROBE)
    context = probes.world.place(pt_regs())
    for cookie in (0, 1, 1, 2):
        caller.run(context, cookie)
    assert sorted(probes.seen("names").values()) == [1, 2], "and a cookie of none is no probe's"


def test_a_type_that_is_not_declared_may_not_call():
    assert programs.SYSCALL not in CALLERS[programs.PROBE]
    probes = Probes()
    assert probes.caller(programs.SYSCALL).run(probes.world.place(bytes(65535))) == 77
    assert probes.seen() == {}


@pytest.mark.parametrize(
    ("kind", "field"), [(programs.XDP, 12), (programs.PROBE, probe_context.COUNT), (programs.TRACEPOINT, 8)],
    ids=["xdp", "probe", "tracepoint"],
)  # fmt: skip
def test_every_type_may_be_called_from_its_own_with_the_context_as_it_is(kind, field):
    probes = Probes()
    probes.array.set(1, probes.load(program(kind, f"r0 = *(u32 *)(r1 +{field})\nexit")))
    context = bytes(range(256)) * 32
    at = find(CONTEXTS[kind], field, 4).at
    assert probes.caller(kind, 1).run(probes.world.place(context)) == int.from_bytes(context[at : at + 4], "little")


def test_a_general_probe_calls_on_and_the_callers_verdict_stays():
    """XDP, then a probe, then another: the packet passes whatever they return."""
    probes = Probes()
    probes.array.set(1, probes.caller(programs.PROBE, index=0))
    first = probes.caller(programs.XDP, index=1)
    probes.environment.packet = XdpPacket(memoryview(bytes(9)))
    context = probes.world.place(packet_context(programs.XDP))
    assert first.run(context) == 2
    assert probes.seen() == {(9, 0, 0, 0, 0, 0): 1}
    regions = len(probes.world.memory.regions)
    assert first.run(context) == 2
    assert len(probes.world.memory.regions) == regions, "converted contexts go when the run ends"


def test_tail_calls_across_types_are_counted_like_others():
    probes = Probes()
    probes.array.set(1, probes.caller(programs.PROBE, index=1))
    assert probes.caller(programs.KPROBE, 1).run(probes.world.place(pt_regs())) == 77
    assert probes.environment.tail_calls == 0
    assert probes.environment.kind == 0


OUTPUT = """
    r2 = map[events]
    w3 = -1
    r4 = *(u64 *)(r1 +168)
    if r4 s> 9 goto plain
    goto out
plain:
    r4 <<= 32
    r3 |= r4
    r4 = r10
    r4 += -8
    *(u64 *)(r4 +0) = 0x21
    r5 = 8
    call bpf_perf_event_output
    exit
out:
    r0 = 5
    exit
"""
"""Outputs arg0 bytes of the packet, if they are at least ten."""


def test_a_general_probe_outputs_bytes_of_the_packet_that_fired_it():
    probes = Probes()
    event = OpenPerfEvent(Attributes(), 7)
    reader = PerfRingReader(event.map(1))
    events = probes.maps["events"] = probes.world.map(maps.PERF_EVENT_ARRAY, 4, 4, 1)
    events.set(0, event)
    probes.array.set(1, probes.load(program(programs.PROBE, OUTPUT)))
    caller = probes.caller(programs.XDP, 1)
    probes.environment.packet = XdpPacket(memoryview(b"head of packet,"), (memoryview(b"and its rest"),))
    caller.run(probes.world.place(packet_context(programs.XDP)))
    (record,) = reader.read()
    assert decode_sample(record.body, perf.SAMPLE_RAW).raw[8:35] == b"head of packet,and its rest"


def test_every_declared_caller_has_a_context_table():
    for called, callers in CALLERS.items():
        assert {called, *callers} <= {*CONTEXTS, programs.TRACING}, "which has a table for each tracepoint"
        assert called not in callers


def test_the_probes_context_is_what_its_documentation_says():
    table = CONTEXTS[programs.PROBE]
    ends = {f.name: (f.offset, f.size) for f in table.fields}
    assert ends == {
        "registers": (0, 168), "arguments": (168, 80), "cookie": (248, 8), "count": (256, 4), "errno": (260, 4),
        "probe": (264, 4), "kind": (268, 4),
    }  # fmt: skip
    assert probe_context.SIZE == 272
