"""-p tells nothing of what happens before BEGIN, and knows everybody by his name of then."""

import subprocess

import pytest
from support.command.targets import program
from support.command.unprivileged import SONDE, without_privileges

BUSY = r"""
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
/* Forks, executes itself in the child, and calls getpgid with the round's number, until there is a file. */
int main(int argc, char **argv) {
    if (argc > 2) { syscall(SYS_getpgid, 1000000); return 3; }
    for (int i = 0; access(argv[1], F_OK); i++) {
        pid_t child = vfork();
        if (!child) { execl(argv[0], "inner", argv[1], "x", (char *)0); _exit(9); }
        waitpid(child, 0, 0);
    }
    return 0;
}
"""

TEXT = """
BEGIN { began = timestamp; printf("began\\n"); }
proc:::exec-success, proc:::exit, proc:::start, proc:::create, syscall:::entry, syscall:::return
{ @early[probename, timestamp < began] = count(); }
proc:::exec-success { @exec[execname] = count(); }
proc:::exit { @exit[execname] = count(); }
proc:::start { @start[execname] = count(); }
proc:::start /++n == 9/ { printf("going\\n"); }
"""


@pytest.mark.long
def test_nothing_fires_that_was_before(tmp_path):
    """The process makes others all the time that sonde takes to compile."""
    name = program(BUSY)
    short = name.rpartition("/")[2][:15]
    with subprocess.Popen([*without_privileges(), name, str(tmp_path / "end")]) as child:
        words = [*without_privileges(), SONDE, "--engine", "embedded", "-qn", TEXT, "-p", str(child.pid)]
        tracer = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            assert tracer.stdout.readline() == "began\n", tracer.stderr.read()
            assert tracer.stdout.readline() == "going\n", tracer.stderr.read()
        finally:
            (tmp_path / "end").touch()
        output, errors = tracer.communicate()
    assert errors == ""
    rows = [line.split() for line in output.split("\n") if line.strip()]
    early = [row for row in rows if len(row) == 3]
    assert {row[1] for row in early} == {"0"}, early
    counted = [row for row in rows if len(row) == 2]
    assert {row[0] for row in counted} == {short}
    execs, exits, starts = (int(row[1]) for row in counted)
    # One child may have been there, and the process itself ends.
    assert starts >= 9
    assert (execs - starts, exits - execs) in ((0, 1), (1, 0), (0, 2), (1, 1))
