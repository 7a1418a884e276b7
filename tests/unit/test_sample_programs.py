"""Programs that perf events fire: the sample as args[0], what sample() makes of them, and what is refused."""

import os
import re

import pytest
from support.d.d_checking import compile_sources

from sonde import arch
from sonde.bpf import instructions as bpf
from sonde.bpf.helpers import NUMBERS
from sonde.codegen.basis.settings import Settings
from sonde.codegen.compiler import Compilation
from sonde.formats import perf_events as perf
from sonde.frontends.d.errors import in_d
from sonde.frontends.d.source import ProgramSource
from sonde.model.errors import SourceError
from sonde.model.probe import PerfEvent
from sonde.model.sample_members import MEMBERS, refusal
from sonde.model.target import Target
from sonde.model.types import LONG, Member, Struct
from sonde.session.registry import Registry

TARGET = Target("x86_64", "6.18.0", frozenset(("raw_tp_cookie", "perf_cookie")))

# struct pt_regs, sample_period and addr: include/uapi/linux/bpf_perf_event.h, arch/x86/include/asm/ptrace.h.
OFFSETS = {
    "r15": 0, "r14": 8, "r13": 16, "r12": 24, "bp": 32, "bx": 40, "r11": 48, "r10": 56, "r9": 64, "r8": 72, "ax": 80,
    "cx": 88, "dx": 96, "si": 104, "di": 112, "orig_ax": 120, "ip": 128, "cs": 136, "flags": 144, "sp": 152, "ss": 160,
    "period": 168, "addr": 176,
}  # fmt: skip


def library():
    path = os.path.join(os.path.dirname(arch.__file__), arch.folder(), "library", "sample.d")
    with open(path, encoding="utf-8") as file:
        return ProgramSource(file.read(), path)


def spec(text, kernel_type=lambda keyword, tag: None, target=TARGET, **settings):
    """A program compiled for the providers of a machine without anything but software events."""
    registry = Registry(target, btf=os.devnull, tracefs=os.devnull, kallsyms=None)
    program = compile_sources([ProgramSource(text)], registry, libraries=[library()])
    return Compilation(
        program, Settings(**settings), target, kernel_type, lambda probe: (), {None: text.splitlines()}
    ).spec()


def program(text, **settings):
    (found,) = spec(text, **settings).programs
    return found


def loads_of_context(code):
    """The offsets of 64-bit loads through the register that keeps the context, from the entry on."""
    context, found = {1}, set()
    for each in bpf.decode(code):
        if each.opcode == bpf.ALU64 | bpf.MOV | bpf.X and each.src in context:
            context.add(each.dst)
        elif each.opcode == bpf.LDX | bpf.MEM | bpf.DW and each.src in context:
            found.add(each.offset)
    return found


@pytest.mark.share(19)
@pytest.mark.parametrize("name", OFFSETS)
def test_a_member_of_the_sample_is_one_load_of_the_context(name):
    made = program(f"profile-97 /args[0]->{name} == 12345/ {{ exit(0); }}")
    assert loads_of_context(made.code) >= {OFFSETS[name]}
    assert made.sample_fields == (perf.SAMPLE_ADDR if name == "addr" else 0)


OF_KERNEL = (
    "sample_flags", "period", "dyn_size", "type", "tid_entry", "time", "id", "cpu_entry", "ip", "callchain", "raw",
    "br_stack", "br_stack_cntr", "weight", "data_src", "txn", "regs_user", "regs_intr", "stack_user_size", "stream_id",
    "cgroup", "addr", "phys_addr", "data_page_size", "code_page_size", "aux_size",
)  # fmt: skip
"""struct perf_sample_data of Linux 6.18."""
TOGETHER = {"tid_entry": ["pid", "tid"], "cpu_entry": ["cpu"]}
UNREAD = (
    "callchain", "raw", "br_stack", "br_stack_cntr", "regs_user", "regs_intr", "stack_user_size", "stream_id",
    "aux_size",
)  # fmt: skip


def test_the_library_names_all_members():
    """Those of the context, and all of the kernel's own structure."""
    text = library().text
    declared = re.search(r"struct sampleinfo \{(.*?)\}", text, re.DOTALL)[1]
    found = set(re.findall(r"(\w+)[,;]", re.sub(r"/\*.*?\*/", "", declared, flags=re.DOTALL)))
    assert found == {*OFFSETS, *(name for each in OF_KERNEL for name in TOGETHER.get(each, [each]))}
    assert set(MEMBERS) == found - set(UNREAD) - (set(OFFSETS) - {"addr"})


def kernel_type(keyword, tag):
    """Of a kernel whose structures have the members at these places."""
    numbers = {"bpf_perf_event_data_kern": ["regs", "data"], "perf_sample_data": ["period", "dyn_size", "time"]}
    if tag not in numbers:
        return None
    members = [Member(name, LONG, 64 * place) for place, name in enumerate(numbers[tag])]
    return Struct(keyword, tag, 8 * len(members), lambda: members)


def test_what_the_kernel_keeps_behind_the_context_is_read_by_a_helper_and_asked_of_perf():
    made = program("profile-97 /args[0]->time == 12345/ { exit(0); }", kernel_type=kernel_type)
    assert made.sample_fields == perf.SAMPLE_TIME
    calls = [each.imm for each in bpf.decode(made.code) if each.opcode == bpf.JMP | bpf.CALL]
    assert calls.count(NUMBERS["probe_read_kernel"]) == 2


@pytest.mark.parametrize("name", UNREAD)
def test_what_no_program_reads_is_refused_by_name_with_the_reason(name):
    with pytest.raises(SourceError, match=f"does not define conversion for member: {name}$") as caught:
        spec(f"profile-97 {{ trace(args[0]->{name}); }}")
    assert caught.value.hint


@pytest.mark.parametrize("name", ["weight", "data_src", "txn"])
@pytest.mark.parametrize("probe", ["profile-97", "tick-1s", "cpc:::page_faults-all-1", "perf:software::faults-1"])
def test_what_the_processor_measures_is_refused_for_other_events(probe, name):
    with pytest.raises(SourceError, match=f"has no {name}: the processor measures it") as caught:
        spec(f"{probe} {{ trace(args[0]->{name}); }}", kernel_type=kernel_type)
    assert (caught.value.position.file, caught.value.position.line) == (None, 1)
    for source in ("cpu", "hardware", "hw-cache"):
        assert not refusal(name, PerfEvent(source, (0, 0, 0), 1))


def test_a_kernel_that_prepares_no_sample_before_programs_run_is_told_of():
    for types in (lambda keyword, tag: None, lambda keyword, tag: Struct("struct", tag, 0, list)):
        with pytest.raises(SourceError, match=r"args\[0\]->cgroup is the kernel's own.*needs Linux 6\.3"):
            spec("profile-97 { trace(args[0]->cgroup); }", kernel_type=types)


def test_the_embedded_engine_has_what_is_in_the_context_alone():
    target = TARGET._replace(features=frozenset(("interpreted",)))
    with pytest.raises(SourceError, match="the embedded engine's samples have no cgroup") as caught:
        spec("profile-97 { trace(args[0]->cgroup); }", kernel_type=kernel_type, target=target)
    assert "CAP_BPF" in caught.value.hint


@pytest.mark.parametrize(
    "clause",
    ["args[0]->nothing", "args[0]", "*args[0]", "args[1]->ip", "args[0].ip", "this->kept = args[0]", "args[0] + 8",
     "print(args[0])", "trace(*args[0])", "args[0]->ip = 1"],
)  # fmt: skip
def test_the_sample_is_nothing_but_its_members(clause):
    """So no program ever sees the context's address, behind which the kernel has something else."""
    with pytest.raises(SourceError):
        spec(f"profile-97 {{ {clause}; }}")


@pytest.mark.parametrize(
    ("text", "probe"),
    [
        ("BEGIN { sample(); }", "dtrace:::BEGIN"),
        ("END { sample(); }", "dtrace:::END"),
        ("ERROR { sample(); }", "dtrace:::ERROR"),
        ("profile-97, BEGIN { sample(); }", "dtrace:::BEGIN"),
        ("BEGIN { if (pid) { sample(); } }", "dtrace:::BEGIN"),
    ],
)
def test_only_perf_events_have_a_sample(text, probe):
    with pytest.raises(SourceError, match=probe) as caught:
        spec(text)
    assert in_d(caught.value).tag == "D_SAMPLE_PROBE"
    assert "profile" in caught.value.hint


@pytest.mark.parametrize("text", ["sample(1);", "this->x = sample();", "@ = sample();"])
def test_sample_is_an_action_without_arguments(text):
    with pytest.raises(SourceError):
        spec(f"profile-97 {{ {text} }}")


@pytest.mark.parametrize("probe", ["profile-97", "tick-1s", "cpc:::cpu_clock-all-1000000", "perf:software::faults-1"])
def test_a_program_says_whether_it_lets_samples_through(probe):
    assert not program(f"{probe} {{ exit(0); }}").samples
    made = spec(f"{probe} {{ sample(); }}")
    assert made.programs[0].samples
    assert not made.records, "an action that records nothing"


def test_sample_may_stand_where_nothing_may_be_recorded():
    assert spec("profile-97 { this->s = speculation(); speculate(this->s); sample(); commit(this->s); }")
    assert spec("profile-97 { commit(1); sample(); }")


def test_kernel_and_user_stacks_are_no_keys_of_one_aggregation():
    with pytest.raises(SourceError, match="different types") as caught:
        spec("profile-97 { @[stack()] = count(); @[ustack()] = count(); }")
    assert in_d(caught.value).tag == "D_KEY_TYPE"
    assert spec("profile-97 { @[stack(2)] = count(); @[stack(3)] = count(); }")


def stamps(text, **settings):
    return [stamp.kind for stamp in program(text, **settings).stamps]


def test_probes_are_told_apart_by_numbers_where_events_are_inherited():
    """The kernel gives what a process starts the program, but not the cookie."""
    clocks = "profile-?99 { @[probename] = count(); }"
    assert stamps(clocks) == []
    assert stamps(clocks, scope="processes") == ["cookie"]
    counted = "cpc:::*faults-all-1 { @[probename] = count(); }"
    assert stamps(counted) == ["cookie"]
    assert stamps(counted, scope="system") == []
