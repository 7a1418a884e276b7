"""Small programs written by hand, as the specs an engine takes."""

from sonde.bpf import maps, programs
from sonde.bpf.assembler import assemble
from sonde.bpf.instructions import encode
from sonde.model.probe import Probe
from sonde.model.spec import MapSpec, ProbeSpec, ProgramSpec, TracingSpec

RING = MapSpec("ring", maps.RINGBUF, 0, 0, 1 << 16)
COUNTS = MapSpec("counts", maps.ARRAY, 4, 8, 64)

COUNT_BY_COOKIE = """
    call bpf_get_attach_cookie
    *(u32 *)(r10 -4) = r0
    goto count
count:
    r1 = map[counts]
    r2 = r10
    r2 += -4
    call bpf_map_lookup_elem
    if r0 == 0 goto out
    r1 = 1
    lock *(u64 *)(r0 +0) += r1
out:
    r0 = 0
    exit
"""
"""counts[cookie] += 1"""

COUNT_ZERO = COUNT_BY_COOKIE.replace("call bpf_get_attach_cookie", "r0 = 0")
"""counts[0] += 1"""

COUNT_STAMPED = COUNT_BY_COOKIE.replace("call bpf_get_attach_cookie", "r0 = 0x0 ll")
"""counts[stamp] += 1, the stamp at instruction 0"""


def program(name, kind, text, probes, **others):
    """A ProgramSpec of source text; `probes` are (firing, cookie) pairs."""
    code, references = assemble(text)
    served = tuple(
        ProbeSpec(Probe(n, "test", "", "", name, firing), cookie) for n, (firing, cookie) in enumerate(probes)
    )
    return ProgramSpec(name, kind, others.pop("attach_type", 0), encode(code), references, served, **others)


def tracing_spec(*program_specs, map_specs=(COUNTS, RING), rings=("ring",)):
    return TracingSpec(tuple(map_specs), tuple(program_specs), (), (), (), (), tuple(rings))


def raw_tracepoint(name, text, probes, **others):
    return program(name, programs.RAW_TRACEPOINT, text, probes, **others)


def counts(tracing):
    """The numbers in `counts` that are not zero, by index."""
    pairs = tracing.read_map("counts")
    numbers = {int.from_bytes(key, "little"): int.from_bytes(value, "little") for key, value in pairs}
    return {key: value for key, value in numbers.items() if value}
