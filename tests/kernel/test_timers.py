"""profile-n and tick-n: on which CPUs, how often, with which program counters."""

import itertools
import os
import statistics
import subprocess
from contextlib import contextmanager

import pytest
from support.command.command import build, sonde, table

from sonde.machine.system import online_cpus

SPIN = r"""
#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    cpu_set_t set; CPU_ZERO(&set); CPU_SET(atoi(argv[1]), &set); sched_setaffinity(0, sizeof set, &set);
    for (volatile long i = 0;; i++) ;
}
"""


@contextmanager
def busy(directory, cpus):
    """One spinning process on each of the CPUs."""
    program = build(directory, "spin", SPIN)
    processes = [subprocess.Popen([program, str(cpu)]) for cpu in cpus]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


@pytest.mark.long
def test_profile_fires_on_each_cpu_and_tick_on_one(tmp_path):
    """At their rates over a second in which every CPU works."""
    cpus = [cpu for cpu in online_cpus() if cpu in os.sched_getaffinity(0)]
    if list(cpus) != list(online_cpus()):
        pytest.skip("not every CPU can be kept busy")
    text = ('profile-199 { @p["profile", cpu] = count(); } tick-50 { @t["tick", cpu] = count(); } '
            "tick-1s { exit(0); }")  # fmt: skip
    with busy(tmp_path, cpus):
        seen = table(sonde("-qn", text).stdout)
    assert {key[1] for key in seen if key[0] == "profile"} == {str(cpu) for cpu in cpus}
    assert all(170 <= number <= 205 for key, number in seen.items() if key[0] == "profile"), seen
    assert [number for key, number in seen.items() if key[0] == "tick" and 45 <= number <= 51], seen
    assert len([key for key in seen if key[0] == "tick"]) == 1


@pytest.mark.share(2)
@pytest.mark.parametrize(
    ("name", "period"), [("tick-2ms", 2_000_000), ("tick-400hz", 2_500_000), ("tick-20000us", 20_000_000)]
)
def test_units_of_time_mean_what_they_say(name, period):
    """The median of the times between ticks, of which a loaded machine skips and delays some."""
    text = f'{name} {{ printf("%d\\n", timestamp); n++; }} {name} /n == 50/ {{ exit(0); }}'
    times = [int(line) for line in sonde("-qn", text).stdout.split()]
    found = statistics.median(after - before for before, after in itertools.pairwise(times))
    assert 0.9 * period < found < 1.1 * period


def test_one_of_the_program_counters_is_zero(tmp_path):
    """arg0 is an address in the kernel, arg1 one in the process, never both; a spinning process has the second."""
    text = 'profile-499 /execname == "spin"/ { @[arg0 != 0, arg1 != 0] = count(); } tick-500ms { exit(0); }'
    with busy(tmp_path, online_cpus()[:1]):
        out = sonde("-qn", text).stdout
    seen = table(out)
    # A quarter of a second has 125 of them; others want the CPU, too.
    assert seen[("0", "1")] > 10
    assert not {key for key in seen if key in (("0", "0"), ("1", "1"))}


def test_tick_fires_on_the_chosen_cpu(tmp_path):
    """With -xcpu=N everything else is silent, and tick fires there. It is kept busy: a sleeping one may not tick."""
    cpu = online_cpus()[-1]
    with busy(tmp_path, [cpu]):
        done = sonde(f"-xcpu={cpu}", "-qn", "tick-10ms { @[cpu] = count(); } tick-300ms { exit(0); }")
    assert list(table(done.stdout)) == [(str(cpu),)]


def test_a_cpu_that_is_not_there_is_refused():
    done = sonde("-xcpu=4000", "-qn", "BEGIN { exit(0); }", status=1)
    assert done.stderr.count("\n") <= 2
    assert "4000" in done.stderr
