"""Arguments of static probes that are where no program can read them, and processes that have ended."""

import os

import pytest
from support.command.command import sonde, unwrapped
from support.machine import compilers, packages
from support.machine.access import needs

pytestmark = [needs("CAP_BPF", "CAP_PERFMON"), packages.needs("gcc")]
NOTE = r"""
__asm__(".pushsection .note.stapsdt,\"\",\"note\"\n.balign 4\n.4byte 992f-991f,994f-993f,3\n991: .asciz \"stapsdt\"\n"
        "992: .balign 4\n993: .8byte at_{name}\n.8byte 0\n.8byte 0\n.asciz \"prov\"\n.asciz \"{name}\"\n.asciz \"{operands}\"\n"
        "994: .balign 4\n.popsection\n");
__attribute__((noinline)) void {name}(int n) {{ __asm__ volatile("at_{name}: nop" : : "D"(n)); }}
"""  # noqa: E501
SOURCE = (
    NOTE.format(name="floating", operands="8f@%xmm3 4@%edi")
    + NOTE.format(name="plain", operands="4@%edi")
    + "int main(void) { for (int i = 0; i < 7; i++) { floating(5); plain(6); } return 0; }\n"
)
ENGINES = ["kernel", "embedded"]


@pytest.fixture(scope="module")
def program():
    return compilers.built("floating.c", SOURCE, "gcc", "-O1")


@pytest.mark.share(1)
@pytest.mark.parametrize("engine", ENGINES)
def test_an_argument_of_floating_point_is_refused_with_its_register(program, engine):
    why = "it is of floating point, and the kernel does not tell what is in register xmm3"
    text = "prov$target:::floating { @[arg0] = count(); }"
    done = sonde("--engine", engine, "-q", "-c", program, "-n", text, status=1)
    assert f"a.out:floating:floating: {why}" in unwrapped(done.stderr)
    text = f"usdt:{program}:prov:floating {{ @[arg0] = count(); }}"
    done = sonde("bt", "--engine", engine, "-c", program, "-e", text, status=1)
    assert f"prov:floating cannot be had: {why}" in unwrapped(done.stderr)


@pytest.mark.share(1)
@pytest.mark.parametrize("engine", ENGINES)
def test_others_of_the_probe_and_of_a_pattern_are_read(program, engine):
    done = sonde("--engine", engine, "-q", "-c", program, "-n", "prov$target:::floating { @[arg1] = count(); }")
    assert done.stdout.split() == ["5", "7"]
    done = sonde("--engine", engine, "-q", "-c", program, "-n", "prov$target::: { @[arg0] = count(); }")
    assert done.stdout.split() == ["6", "7"]


@pytest.mark.share(1)
@pytest.mark.parametrize("engine", ENGINES)
def test_a_zombie_is_not_traced(engine):
    pid = os.fork()
    if not pid:
        os._exit(0)
    try:
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        for words in (["-n", "BEGIN {}"], ["-l", "-n", "pid$target:a.out::entry"]):
            done = sonde("--engine", engine, "-p", str(pid), *words, status=1)
            assert f"failed to grab pid {pid}: it has ended and only waits for its parent" in unwrapped(done.stderr)
    finally:
        os.waitpid(pid, 0)
