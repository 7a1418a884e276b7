"""Patterns that meet functions which cannot be probed: these are left out, and one line says how many."""

import pytest
from support.command.command import build, sonde, unwrapped
from support.machine import packages
from support.machine.access import needs

from sonde.model.probe import Internal, Probe
from sonde.report.refused_probes import refused_probes

pytestmark = [needs("CAP_BPF", "CAP_PERFMON"), packages.needs("gcc")]
# What the kernel's decoder of instructions does not know, as an opcode that no processor has, tells when it is to be
# probed; what is known not to be probed, as a lock prefix, is left out before.
SOURCE = r"""
__asm__(".text\n.globl work_unknown, work_locked\n.type work_unknown, @function\nwork_unknown: .byte 0xc4, 0xe3, 0xf9, 0x80, 0xc2, 0x10\nret\n"
        ".size work_unknown, . - work_unknown\n.type work_locked, @function\nwork_locked: lock incl counted(%rip)\nret\n"
        ".size work_locked, . - work_locked\n");
int counted;
void work_locked(void);
__attribute__((noinline)) void work_plain(void) { __asm__ volatile(""); }
int main(void) { for (int i = 0; i < 7; i++) { work_plain(); work_locked(); } return counted != 7; }
"""  # noqa: E501


@pytest.fixture
def program(tmp_path):
    return build(tmp_path, "program", SOURCE)


@pytest.mark.share(2)
@pytest.mark.parametrize("description", ["pid$target:a.out:work_*:entry", "uprobe:{}:work_*:entry"])
def test_a_pattern_leaves_out_what_cannot_be_probed(program, description):
    text = f"{description.format(program)} {{ @[probefunc] = count(); }}"
    done = sonde("-c", program, "-n", text)
    assert done.stdout.split() == ["work_plain", "7"]
    said = unwrapped(done.stderr)
    assert "leaves out the entry of a function: one that begin with an instruction that the kernel cannot probe" in said
    if "pid" in description:
        assert "a probe is left out, which the kernel does not take: pid" in said
        assert "work_unknown:entry" in said


def test_a_pattern_of_bpftrace(program):
    done = sonde("bt", "-c", program, "-e", f"uprobe:{program}:work_* {{ @[func] = count(); }}")
    assert "@[work_plain]: 7" in done.stdout
    assert done.stderr.count("WARNING: ") >= 1
    assert "leaves out the entry of a function" in unwrapped(done.stderr)


def test_the_embedded_engine_probes_what_the_kernel_does_not_know(program):
    text = "pid$target:a.out:work_*:entry { @[probefunc] = count(); }"
    done = sonde("--engine", "embedded", "-c", program, "-n", text)
    assert done.stdout.split() == ["work_plain", "7"]
    assert "leaves out the entry of a function" in unwrapped(done.stderr)


def test_named_alone_it_is_an_error(program):
    done = sonde("-c", program, "-n", "pid$target:a.out:work_unknown:entry {}", status=1)
    assert "work_unknown:entry: the kernel cannot probe this instruction" in unwrapped(done.stderr)


def test_how_many_are_left_out():
    probes = [Probe(number, "pid1", "a.out", f"f{number}", "entry", Internal("")) for number in range(5)]
    assert refused_probes(probes[:1]) == "a probe is left out, which the kernel does not take: pid1:a.out:f0:entry"
    assert refused_probes(probes).startswith("5 probes are left out, ")
    assert refused_probes(probes).endswith("pid1:a.out:f2:entry and 2 more")
