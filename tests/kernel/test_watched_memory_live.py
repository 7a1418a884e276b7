"""Watchpoints: the processor tells of each access to a variable, of all threads of a process."""

import re
import subprocess

import pytest
from support.command.command import sonde
from support.machine import compilers, packages

SOURCE = """
#include <pthread.h>
volatile long counter;
__attribute__((noinline)) void touch(void) { counter = counter + 1; }
static void *other(void *unused) { for (int i = 0; i < 13; i++) counter = i; return unused; }
int main(void)
{
    pthread_t thread;
    for (int i = 0; i < 101; i++)
        touch();
    pthread_create(&thread, 0, other, 0);
    pthread_join(thread, 0);
    return 0;
}
"""


@pytest.fixture(scope="module")
def watched():
    """The command, and the addresses of its symbols."""
    packages.require("nm")
    program = compilers.built("watched.c", SOURCE, "gcc", "-no-pie", "-pthread")
    listed = subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout
    return program, {name: int(at, 16) for at, name in re.findall(r"^(\w+) \w (\w+)$", listed, re.MULTILINE)}


def test_each_write_of_each_thread_fires(watched):
    program, symbols = watched
    text = f"watchpoint:{symbols['counter']:#x}:8:w {{ @[pid == tid] = count(); }}"
    output = sonde("bt", "-e", text, "-c", program).stdout
    assert "@[true]: 101\n" in output
    assert "@[false]: 13\n" in output


def test_reads_count_and_instructions_fire(watched):
    program, symbols = watched
    text = f"w:{symbols['counter']}:8:rw {{ @rw = count(); }} w:{symbols['touch']}:8:x {{ @x = count(); }}"
    output = sonde("bt", "-e", text, "-c", program).stdout
    assert "@rw: 215\n" in output
    assert "@x: 101\n" in output


def test_d_has_the_place_and_the_address(watched):
    program, symbols = watched
    at = symbols["counter"]
    text = f"""BEGIN {{ n = 0; tens = 0; }}
               perf:breakpoint::{at:#x}-8-w-1 {{ @["all"] = count(); n += args[0]->addr == {at}; }}
               perf:breakpoint::{at:#x}-8-w-10 {{ tens++; }} END {{ printf("%d %d", n, tens); }}"""
    output = sonde("-qn", text, "-c", program).stdout
    assert output.startswith(("114 11", "114 10")), output
    assert re.search(r"all +114\n", output)


def test_what_cannot_be_watched_is_refused(watched):
    program, symbols = watched
    odd = sonde("bt", "-e", f"w:{symbols['counter'] + 1}:8:w {{ }}", "-c", program, status=1)
    assert "8 bytes are watched at a multiple of 8" in odd.stderr
    embedded = sonde("bt", "--engine", "embedded", "-e", f"w:{symbols['counter']}:8:w {{ }}", "-c", program, status=1)
    assert "kernel engine" in embedded.stderr
    many = ",".join(f"w:{symbols['counter'] + 8 * n}:8:w" for n in range(5))
    full = sonde("bt", "-e", f"{many} {{ @[probe] = count(); }}", "-c", program, status=1)
    assert "debug registers" in full.stderr


def test_a_watchpoint_that_is_taken_away_fires_no_more(watched):
    program, symbols = watched
    address = symbols["counter"]
    counted = []
    for text in ("", f"if ((int64)@ == 3) {{ unwatch({address}); }}", f"unwatch({address + 8});"):
        done = sonde("bt", "-q", "-c", program, "-e", f"watchpoint:{address:#x}:8:w {{ @ = count(); {text} }}")
        counted.append(int(done.stdout.split()[-1]))
    assert counted == [114, 3, 114]
