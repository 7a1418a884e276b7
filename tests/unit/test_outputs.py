"""Which way a program's records go, and what the code does on it."""

import pytest
from support.d.compiled import TARGET, calls, code, compilation, spec
from support.d.d_checking import DEFAULTS, compile_sources

from sonde.bpf import instructions as bpf
from sonde.bpf import maps
from sonde.codegen.basis.outputs import AUTO, LARGEST_RECORD, MIXED, PERF, PERF_RESERVE, RINGBUF, chosen
from sonde.codegen.basis.settings import Settings
from sonde.codegen.compiler import Compilation
from sonde.frontends.d.source import ProgramSource
from sonde.library.transports import transports
from sonde.model.errors import SourceError
from sonde.model.named_maps import PERF_RINGS, WRITING
from sonde.session.registry import Registry

OLD = TARGET._replace(release="5.4.0-150-generic", features=frozenset())


@pytest.mark.parametrize(
    ("wanted", "target", "expected"),
    [
        (AUTO, TARGET, RINGBUF),
        (AUTO, TARGET._replace(release="5.8.0"), RINGBUF),
        (AUTO, TARGET._replace(release="what a file is called"), RINGBUF),
        (AUTO, OLD, PERF),
        # A kernel of a distribution may have them all the same.
        (AUTO, OLD._replace(features=frozenset(["ringbuf"])), RINGBUF),
        (PERF, TARGET, PERF),
        (RINGBUF, OLD, RINGBUF),
    ],
)
def test_what_the_kernel_has_decides_where_nothing_is_asked_for(wanted, target, expected):
    assert chosen(wanted, target) == expected


TEXT = 'string s; BEGIN { trace(1); printf("%s", s); if (pid) { trace(2); } }'


@pytest.mark.parametrize(
    ("settings", "rings", "helper", "told"),
    [
        ({}, ("ring",), "ringbuf_reserve", "a BPF ring buffer of 4194304 bytes"),
        ({"rings_per_cpu": True, "bufsize": 5000}, ("rings",), "ringbuf_reserve",
            "BPF ring buffers of 8192 bytes, one for each CPU"),
        ({"output": PERF, "bufsize": 5000}, (PERF_RINGS,), "perf_event_output",
            "perf rings of 8192 bytes, one for each CPU"),
        ({"output": PERF_RESERVE, "bufsize": 5000}, (PERF_RINGS,), "perf_event_reserve",
            "perf rings of 8192 bytes, one for each CPU"),
    ],
)  # fmt: skip
def test_a_program_has_the_maps_and_calls_of_its_way_and_no_others(settings, rings, helper, told):
    made = spec(TEXT, **settings)
    kinds = {each.kind for each in made.maps}
    assert made.rings == rings
    assert (maps.RINGBUF in kinds, maps.PERF_EVENT_ARRAY in kinds) == (rings == ("ring",), rings == (PERF_RINGS,))
    assert (WRITING in {each.name for each in made.maps}) == (rings == (PERF_RINGS,))
    found = {name: calls(code(TEXT, **settings), name)
             for name in ("ringbuf_reserve", "perf_event_output", "perf_event_reserve")}  # fmt: skip
    assert {name for name, count in found.items() if count} == {helper}
    assert found[helper] == 2, "one for what stands without branches, one for the branch"
    assert list(transports(made)) == [f"records come through {told}"]


def test_a_kernel_without_ring_buffers_gets_no_call_that_it_has_not():
    text = """
    string s;
    BEGIN { s = strjoin("a", s); trace(s); }
    BEGIN { speculate(speculation()); trace(1); }
    END { commit(1); }
    """
    made = compilation(text, OLD).spec()
    assert made.rings == (PERF_RINGS,)
    assert not any(calls(code(text, output=PERF, program=number), name)
                   for name in ("ringbuf_reserve", "ringbuf_output", "ringbuf_submit", "ringbuf_discard")
                   for number in range(2))  # fmt: skip


@pytest.mark.parametrize("output", [PERF, PERF_RESERVE])
def test_a_record_that_no_perf_ring_takes_is_refused_with_its_place(output):
    size = LARGEST_RECORD - 16
    text = "BEGIN {{ tracemem(0, {}); }}"
    assert spec(text.format(size // 8 * 8), output=output).records[0].size <= LARGEST_RECORD
    with pytest.raises(SourceError) as raised:
        spec(text.format(size + 8), output=output)
    assert "a perf ring takes no more than 65456" in raised.value.text
    assert raised.value.position is not None
    assert spec(text.format(size + 8)).records[0].size > LARGEST_RECORD


def test_only_what_ends_in_a_packet_goes_into_a_perf_ring_where_there_is_a_ring_buffer():
    assert chosen(AUTO, TARGET, has_packets=True) == MIXED
    assert chosen(AUTO, OLD, has_packets=True) == PERF
    registry = Registry(TARGET)
    text = "packet:lo:ingress: { trace(1); } packet:lo:ingress: { capture(); } BEGIN { trace(2); }"
    program = compile_sources([ProgramSource(text)], registry, DEFAULTS)
    made = Compilation(program, Settings(), TARGET, registry.tagged_type, registry.fields, {}).spec()
    assert made.rings == ("ring", PERF_RINGS)
    by_name = {program.name: bpf.decode(program.code) for program in made.programs}
    (packets,) = (code for name, code in by_name.items() if name != "BEGIN")
    found = {name: calls(packets, name) for name in ("ringbuf_reserve", "perf_event_output", "ringbuf_query")}
    assert found == {"ringbuf_reserve": 1, "perf_event_output": 1, "ringbuf_query": 1}
    assert not calls(by_name["BEGIN"], "perf_event_output")
    assert list(transports(made)) == [
        "records come through a BPF ring buffer of 4194304 bytes",
        "records that end in a packet come through perf rings of 4194304 bytes, one for each CPU",
    ]
