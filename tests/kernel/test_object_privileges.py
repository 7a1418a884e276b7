"""What objects may attach to with CAP_BPF and CAP_PERFMON alone, and what is said of the rest."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from support.bpf.bpf_objects import BOTH, COMPILERS, compiled
from support.command import other_user
from support.command.command import build, environment
from support.machine import packages
from support.machine.access import needs
from support.symbols.static_programs import assembler

pytestmark = needs("CAP_SETUID", "CAP_SYS_ADMIN")

TWO = ("bpf", "perfmon")

PROGRAM = (
    assembler("")
    + """
#include <unistd.h>
#include <time.h>
__attribute__((noinline)) int work(int n)
{
    __asm__ volatile("nop" ::: "memory");
    return n + 1;
}
int main(void)
{
    clock_t end;
    for (int i = 0; i < 7; i++) {
        __asm__ volatile("probe demo step 0 4@%0" : : "r"(i));
        if (!work(i)) return 1;
        getppid();
    }
    for (end = clock() + CLOCKS_PER_SEC / 5; clock() < end;) ;
    return 0;
}
"""
)

COUNTER = """
u64 number;
SEC("%s") int program(void *context) { __sync_fetch_and_add(&number, 1); return 0; }
"""

LINE = """
extern long bpf_fetch_variables(void *context, void *place, u64 size);
char lines[] SEC("config") = "exec=%s\\nline=work n\\n";
struct { int n; } place; u64 number;
SEC("line") int program(void *context)
{
    if (!bpf_fetch_variables(context, &place, sizeof place))
        __sync_fetch_and_add(&number, 1);
    return 0;
}
"""


@pytest.fixture(scope="module")
def folder():
    """A directory that nobody may read, with the program that is traced."""
    packages.require(COMPILERS[_compiler()][0])
    place = tempfile.mkdtemp(prefix="sonde-privileges-")
    try:
        build(Path(place), "traced", PROGRAM, "-g", "-fcf-protection=none")
        os.chmod(place, 0o755)
        yield place
    finally:
        shutil.rmtree(place)


def _compiler():
    """One that is there, the first if none is."""
    return next((each.values[0] for each in BOTH if not each.marks[0].args[0]), BOTH[0].values[0])


def run(source, folder, capabilities=TWO, name="program.o"):
    path = shutil.copy(compiled(source, _compiler()), f"{folder}/{name}")
    os.chmod(path, 0o644)
    words = ("--object", path, "--dump", "-c", f"{folder}/traced")
    return other_user.run(*words, capabilities=capabilities, environment=environment())


def number(done):
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return int(next(line.split(" = ")[1] for line in done.stdout.splitlines() if line.startswith("number = ")))


EXACT = {
    "uprobe/{}:work": 7, "uretprobe/{}:work": 7, "uprobe/{}:work+1": 7, "uprobe.s/{}:work": 7,
    "uprobe.multi/{}:wor*": 7, "uretprobe.multi/{}:wor*": 7, "usdt/{}:demo:step": 7,
}  # fmt: skip
"""Sections and how often they are fired by the program."""


@pytest.mark.share(1)
@pytest.mark.parametrize("section", EXACT)
def test_probes_of_programs_need_two_capabilities(section, folder):
    assert number(run(COUNTER % section.format(f"{folder}/traced"), folder)) == EXACT[section]


@pytest.mark.share(1)
@pytest.mark.parametrize("section", ["raw_tp/sys_enter", "tp_btf/sys_enter", "perf_event/997hz", "perf_event/1ms"])
def test_tracepoints_and_clocks_need_two_capabilities(section, folder):
    assert number(run(COUNTER % section, folder)) > 6


def test_probe_lines_need_two_capabilities(folder):
    assert number(run(LINE % f"{folder}/traced", folder)) == 7


@pytest.mark.share(1)
@pytest.mark.parametrize("section", ["tracepoint/syscalls/sys_enter_getppid", "tp/sched/sched_switch"])
def test_trace_events_name_the_third_that_they_need(section, folder):
    """Their numbers are in tracefs, which root alone may read where it is as it was mounted."""
    done = run(COUNTER % section, folder)
    if os.stat("/sys/kernel/tracing").st_mode & 5:
        assert number(done) >= 1
        return
    assert done.returncode == 1
    assert "which this user may not read" in done.stderr
    assert "CAP_DAC_READ_SEARCH besides CAP_BPF and CAP_PERFMON" in done.stderr
    assert number(run(COUNTER % section, folder, (*TWO, "dac_read_search"))) >= 1


OTHERS = (
    "raw_tp/sys_enter", "tp_btf/sys_enter", "perf_event/997hz", "tp/sched/sched_switch", "fentry/do_nanosleep",
    "kprobe/do_nanosleep",
)  # fmt: skip


@pytest.mark.share(1)
@pytest.mark.parametrize("section", [*EXACT, *OTHERS])
def test_nobody_is_told_to_get_what_he_has(section, folder):
    """Whatever is refused: what helps is something else."""
    done = run(COUNTER % section.format(f"{folder}/traced"), folder)
    assert "give it the capabilities CAP_BPF and CAP_PERFMON\n" not in done.stderr


def test_kernels_without_links_of_uprobes_name_the_third(folder, monkeypatch):
    """A perf event of a uprobe, which older kernels take, needs CAP_SYS_ADMIN, too."""
    from sonde.engines.kernel import uprobes
    from sonde.engines.kernel.failures import explain

    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setattr("sonde.engines.kernel.failures.capabilities", lambda: frozenset(TWO))
    said = explain(PermissionError(13, ""), "cannot attach", uprobes._FOR_EVENTS).text
    assert said.endswith("give it the capabilities CAP_BPF, CAP_PERFMON and CAP_SYS_ADMIN")


D_PROBES = {
    "pid$target:traced:work:entry": 7, "pid$target:traced:work:return": 7, "pid$target:traced:work:1": 7,
    "demo$target:traced:main:step": 7, "syscall::getppid:entry": 7,
}  # fmt: skip


@pytest.mark.share(1)
@pytest.mark.parametrize("probe", D_PROBES)
def test_d_needs_no_more(probe, folder):
    text = f'{probe} /pid == $target/ {{ @ = count(); }} END {{ printa("%@d", @); }}'
    done = other_user.run("-qn", text, "-c", f"{folder}/traced", capabilities=TWO, environment=environment())
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) == D_PROBES[probe]
