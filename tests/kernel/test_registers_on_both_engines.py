"""The registers of a process, at each kind of event: the embedded engine says of all of them what the kernel says.

What a stop's record does not tell must be fetched; addresses are the same in each run, as the command's are not random.
"""

import subprocess
import sys

import pytest
from support.command.command import build
from support.machine import packages

from sonde.arch import call_registers, registers

COMMAND = """
#include <signal.h>
#include <unistd.h>
#include <sys/wait.h>

static void handle(int number) { write(2, "signal", number != SIGUSR1); }

int main(void)
{
    struct sigaction action = { .sa_handler = handle };
    sigaction(SIGUSR1, &action, 0);
    for (int n = 0; n < 3; n++) {
        if (!fork()) {
            execl("/nowhere", "nowhere", (char *)0);
            execl("/bin/true", "true", (char *)0);
        }
        wait(0);
        kill(getpid(), SIGUSR1);
        write(1, "said\\n", 5);
    }
    return 0;
}
"""

PROBES = (
    "syscall::write:entry", "syscall::write:return", "rawtp:::sched_process_fork", "rawtp:::sched_process_exec",
    "rawtp:::sched_process_exit", "rawtp:::signal_generate", "rawtp:::signal_deliver", "proc:::start",
    "proc:::exec-failure",
)  # fmt: skip

MEMBERS = registers.SIZE // 8

SETS = {
    "all": range(MEMBERS),
    "those told at a call's entry": sorted(at // 8 for at in call_registers.TOLD_ENTERING),
    "those told at its return": sorted(at // 8 for at in call_registers.TOLD_LEAVING),
    "the third argument's": [registers.CALL_ARGUMENTS[2] // 8],
}
"""Each is a reason to hold the threads, or none."""

ARITHMETIC = {registers.FLAGS // 8: "~0x8d5", registers.R11 // 8: "~0x8d5"}
"""Of the flags, which r11 has in a call, all but those that arithmetic with a process's number has left."""


@pytest.fixture(scope="module")
def command(tmp_path_factory):
    packages.require("setarch", "gcc")
    return f"setarch -R {build(tmp_path_factory.mktemp('registers'), 'signalled', COMMAND)}"


def shown(command, probe, numbers, engine, companion=""):
    """Per firing a line with the registers, behind setarch and its addresses, but for the process's number."""
    kept = [f"uregs[{n}] & {ARITHMETIC.get(n, -1)}" for n in numbers]
    values = ", ".join(f"uregs[{n}] == pid ? 0 : {kept[at]}" for at, n in enumerate(numbers))
    text = (
        f'{probe}{companion} /progenyof($target) && execname != "setarch"/ '
        f'{{ printf("registers{" %x" * len(numbers)}\\n", {values}); }}'
    )
    words = [sys.executable, "-m", "sonde", "-q", "--engine", engine, "-n", text, "-c", command]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert "drop" not in done.stderr
    return sorted(line for line in done.stdout.splitlines() if line.startswith("registers"))


@pytest.mark.share(1, 8)
@pytest.mark.parametrize("what", SETS)
@pytest.mark.parametrize("probe", PROBES)
def test_registers_are_those_of_the_kernel_engine(command, probe, what):
    """Alone, and in a general program."""
    expected = shown(command, probe, SETS[what], "kernel")
    assert expected
    assert shown(command, probe, SETS[what], "embedded") == expected
    assert shown(command, probe, SETS[what], "embedded", ",tick-1h") == expected
