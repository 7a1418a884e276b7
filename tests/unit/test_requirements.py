"""What is said where a kernel is too old: one sentence, with what is missing and the version that has it."""

import os
from types import SimpleNamespace

import pytest

from sonde.bpf import maps, programs
from sonde.bpf.helpers import NUMBERS
from sonde.engines.kernel import commands, features, requirements, tracing
from sonde.engines.kernel.commands import ProgramCode
from sonde.engines.kernel.maps import create
from sonde.engines.kernel.refusals import refusal
from sonde.library.compiling import without_btf
from sonde.model.errors import EngineError, ProgramError
from sonde.model.spec import MapSpec, ProgramSpec, TracingSpec

INVALID = OSError(22, "Invalid argument")


@pytest.fixture
def kernel(monkeypatch):
    """Makes this kernel one of another release, which refuses all maps and programs, these with a log."""

    def become(release, log=""):
        monkeypatch.setattr(os, "uname", lambda: SimpleNamespace(release=release, machine="x86_64"))

        def refuse(*arguments):
            written = next((each for each in arguments if isinstance(each, bytearray)), bytearray())
            text = log.encode()[: len(written)]
            written[: len(text)] = text
            raise INVALID

        monkeypatch.setattr(commands, "create_map", refuse)
        monkeypatch.setattr(commands, "load_program", refuse)
        monkeypatch.setattr(commands, "load_btf", lambda _: os.open("/dev/null", os.O_RDONLY))

    return become


def why_no_map(spec):
    with pytest.raises(EngineError) as raised:
        create(spec, 1)
    return raised.value.text


def program(kind=programs.RAW_TRACEPOINT, attach_to=None):
    return ProgramSpec("p", kind, 0, bytes(8), (), (), lines=((0, "x.d:3"),), attach_to=attach_to)


def why_no_program(spec):
    return refusal(spec, ProgramCode("p", spec.kind, 0, spec.code), INVALID)


def test_maps(kernel):
    kernel("5.4.0-42-generic")
    ring, threads = (
        MapSpec("records", maps.RINGBUF, 0, 0, 4096),
        MapSpec("threads", maps.TASK_STORAGE, 4, 8, 0, typed=True),
    )
    expected = (
        "cannot create map records: records need ring buffers, which came with Linux 5.8; this is 5.4.0-42-generic"
    )
    assert why_no_map(ring) == expected
    assert "thread-local variables need task storage, which came with Linux 5.11" in why_no_map(threads)
    kernel("5.10.7")
    assert "thread-local variables need task storage" in why_no_map(threads)
    assert why_no_map(ring).endswith("this kernel (5.10.7) does not support it (Invalid argument)")


@pytest.mark.parametrize(
    ("helper", "release", "expected"),
    [
        ("loop", "5.15.0", "need bpf_loop, which came with Linux 5.17; this is 5.15.0"),
        ("get_attach_cookie", "5.14.2", "need bpf_get_attach_cookie, which came with Linux 5.15; this is 5.14.2"),
        ("task_storage_get", "5.10.1", "need bpf_task_storage_get, which came with Linux 5.11; this is 5.10.1"),
        (
            "probe_write_user",
            "6.12.1",
            "copyout() and copyoutstr() need bpf_probe_write_user, which this kernel has not or",
        ),
        ("loop", "6.1.0", "need bpf_loop, which this kernel has not or forbids"),
        ("perf_event_reserve", "6.18.0", "needs bpf_perf_event_reserve, which the embedded engine alone has"),
        ("tcp_sock", "6.1.0", "needs bpf_tcp_sock, which this kernel has not or does not allow"),
    ],
)
@pytest.mark.parametrize(
    "words", ["invalid func unknown#{}", "unknown func bpf_x#{}", "program of this type cannot use helper bpf_x#{}"]
)
def test_helpers(kernel, helper, release, expected, words):
    kernel(release, f"0: (85) call unknown\n{words.format(NUMBERS[helper])}\nprocessed 1 insns\n")
    error = why_no_program(program())
    assert error.text.startswith("the kernel refuses program p: ")
    assert expected in error.text
    assert "\n" not in error.text
    assert (error.log, error.place) == ("", "x.d:3")


def test_other_refusals_keep_their_log(kernel):
    kernel("5.4.0", "0: (79) r0 = *(u64 *)(r1 +8)\ninvalid bpf_context access\n")
    error = why_no_program(program())
    assert error.text == "the kernel refuses program p: invalid bpf_context access"
    assert error.log


def test_types_of_programs(kernel):
    kernel("5.4.0")
    expected = "arguments of rawtp probes need tp_btf, which came with Linux 5.5; this is 5.4.0"
    assert why_no_program(program(programs.TRACING)).text == f"the kernel refuses program p: {expected}"
    kernel("5.10.0")
    assert "tp_btf" not in why_no_program(program(programs.TRACING)).text


def test_types_of_the_kernel_cannot_be_found(kernel):
    kernel("5.10.0")
    with pytest.raises(EngineError, match=r"need programs of type syscall, which came with Linux 5.14; this is 5.10.0"):
        tracing.KernelTracing(TracingSpec((), (program(programs.TRACING, "btf_trace_x"),), (), (), (), (), ()))


def test_versions_are_those_that_doctor_tells():
    since = {feature.name: feature.since for feature in features.FEATURES}
    told = {name: version for name, (_, version) in requirements._HELPERS.items()}
    assert since["bpf_loop"] == told["loop"]
    assert since["perf_cookie"] == told["get_attach_cookie"]
    assert since["probe_write_user"] == told["probe_write_user"]
    assert since["ringbuf"] == requirements.MAPS[maps.RINGBUF].since
    assert since["task_storage"] == requirements.MAPS[maps.TASK_STORAGE].since
    assert since["tp_btf"] == requirements.PROGRAMS[programs.TRACING].since


@pytest.mark.parametrize(("btf", "exists", "told"), [(None, False, True), (None, True, False), ("there", False, False)])
def test_a_kernel_without_types(monkeypatch, btf, exists, told):
    monkeypatch.setattr(os.path, "exists", lambda _: exists)
    error = without_btf(ProgramError("no struct", "somewhere"), btf)
    assert error.text == "no struct"
    assert error.hint.startswith("somewhere")
    assert ("CONFIG_DEBUG_INFO_BTF" in error.hint) == told
