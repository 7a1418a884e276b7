"""args[0] of packet probes: every field of frames made by hand, whole and cut off anywhere."""

import struct

import pytest
from support.d import d_run
from support.d.d_run import Run, text
from support.packets.frames import FRAMES, NUMBERS, TEXTS, Reading

from sonde.bpf.programs import XDP
from sonde.engines.kernel.commands import PROG_TEST_RUN
from sonde.engines.kernel.features import FOR_PROGRAMS, detect
from sonde.engines.kernel.syscalls import address_of, bpf
from sonde.frontends.d.programs.libraries import libraries
from sonde.machine.system import current_target
from sonde.model.options import OptionTable

LIBRARIES = libraries(OptionTable())

PASS = {3: 0xFFFFFFFF, XDP: 2}
"""What a program returns that lets the packet pass, by its type."""


@pytest.fixture(autouse=True)
def target(monkeypatch):
    """A test run takes a program for tcx on kernels without it, too."""
    monkeypatch.setattr(d_run, "_target", current_target(detect(FOR_PROGRAMS) | {"tcx"}))


def clause(names, form):
    return f'packet:lo:ingress: {{ printf("{form * len(names)}", {", ".join(f"args[0]->{name}" for name in names)}); }}'


def sizes(frame, xdp):
    """All lengths of the frame that a test run takes: with one at tcx it wants IP's header whole (6.18)."""
    least = 14 if xdp else {b"\x08\x00": 34, b"\x86\xdd": 54}.get(frame[12:14], 14)
    return range(least, len(frame) + 1)


def run_for(run, frame):
    """Run the program for a frame; the values of its record."""
    (program,) = (each for each in run.tracing._programs if each.spec.kind in PASS)
    data, attributes = bytearray(frame), bytearray(80)
    struct.pack_into("=I4xI", attributes, 0, program.descriptor, len(data))
    struct.pack_into("=QQI", attributes, 16, address_of(data), 0, 1)
    bpf(PROG_TEST_RUN, attributes)
    assert struct.unpack_from("=I", attributes, 4) == (PASS[program.spec.kind],)
    (values,) = run.values()
    return values


@pytest.mark.share(1)
@pytest.mark.parametrize("xdp", ["", "generic"])
def test_numbers_of_frames_that_end_anywhere(xdp):
    with Run(clause(NUMBERS, "%d"), libraries=LIBRARIES, xdp=xdp) as run:
        run.activate()
        for name, frame in FRAMES.items():
            for size in sizes(frame, xdp):
                found = dict(zip(NUMBERS, run_for(run, frame[:size]), strict=True))
                expected = Reading(frame[:size])
                assert found == {each: expected[each] for each in NUMBERS}, (name, size)


@pytest.mark.share(1)
@pytest.mark.every_kernel
@pytest.mark.parametrize("xdp", ["", "generic"])
def test_addresses_as_text(xdp):
    with Run(clause(TEXTS, "%s"), libraries=LIBRARIES, xdp=xdp) as run:
        run.activate()
        for name, frame in FRAMES.items():
            for size in {14, 30, 50, 54, len(frame)} & set(sizes(frame, xdp)):
                expected = Reading(frame[:size])
                found = [text(each).decode() for each in run_for(run, frame[:size])]
                assert found == [expected[each] for each in TEXTS], (name, size)


def test_xdp_of_kernels_without_fragments_reads_the_packet_directly(monkeypatch):
    monkeypatch.setattr(d_run, "_target", d_run._target._replace(release="5.15.0"))
    with Run(clause(NUMBERS, "%d"), libraries=LIBRARIES, xdp="generic") as run:
        assert not any(code[:1] == b"\x85" and code[4:8] == b"\xbd\0\0\0" for code in calls(run))
        run.activate()
        for name, frame in FRAMES.items():
            for size in (*range(14, 60, 3), len(frame)):
                expected = Reading(frame[:size])
                found = dict(zip(NUMBERS, run_for(run, frame[:size]), strict=True))
                assert found == {each: expected[each] for each in NUMBERS}, (name, size)


def calls(run):
    code = run.spec.programs[0].code
    return [code[at : at + 8] for at in range(0, len(code), 8)]
