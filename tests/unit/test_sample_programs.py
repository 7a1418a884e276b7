"""Programs that perf events fire: the sample as args[0], what sample() makes of them, and what is refused."""

import os
import re

import pytest

from sonde import arch
from sonde.bpf import instructions as bpf
from sonde.codegen.basis.settings import Settings
from sonde.codegen.compiler import Compilation
from sonde.frontends.d.check.checker import compile_sources
from sonde.frontends.d.errors import in_d
from sonde.frontends.d.source import ProgramSource
from sonde.model.errors import SourceError
from sonde.model.target import Target
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


def spec(text, **settings):
    """A program compiled for the providers of a machine without anything but software events."""
    registry = Registry(TARGET, btf=os.devnull, tracefs=os.devnull, kallsyms=None)
    program = compile_sources([ProgramSource(text)], registry, libraries=[library()])
    return Compilation(
        program, Settings(**settings), TARGET, lambda keyword, tag: None, lambda probe: (), {None: text.splitlines()}
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


@pytest.mark.parametrize("name", OFFSETS)
def test_a_member_of_the_sample_is_one_load_of_the_context(name):
    made = program(f"profile-97 /args[0]->{name} == 12345/ {{ exit(0); }}")
    assert loads_of_context(made.code) >= {OFFSETS[name]}
    assert made.reads_address == (name == "addr")


def test_the_library_names_all_members():
    text = library().text
    declared = re.search(r"struct sampleinfo \{(.*?)\}", text, re.DOTALL)[1]
    assert set(re.findall(r"(\w+)[,;]", re.sub(r"/\*.*?\*/", "", declared, flags=re.DOTALL))) == set(OFFSETS)


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
