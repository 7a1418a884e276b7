"""Members of psinfo_t and lwpsinfo_t that the kernel counts or keeps, against /proc and the calls that set them."""

import shlex
import sys

import pytest
from support.command.command import sonde

PROGRAM = """
import os, time
if not os.fork():
    end = time.process_time() + 0.2
    while time.process_time() < end:
        pass
    os._exit(0)
os.wait()
os.setpriority(os.PRIO_PROCESS, 0, 7)
os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
since_boot = float(open("/proc/self/stat").read().rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
first, boot, second = time.time(), time.clock_gettime(time.CLOCK_BOOTTIME), time.time()
spent = time.process_time()
os.getppid()
words = [first - boot + since_boot, second - boot + since_boot, spent, time.process_time()]
os.write(1, (" ".join(map(str, [*words, os.times().children_user + os.times().children_system])) + "\\n").encode())
"""

SHOWN = """
syscall::getppid:entry /pid == $target && curlwpsinfo->pr_nice == 7/ {
    printf("%d.%09d %d.%09d %d.%09d %s %d %d\\n", curpsinfo->pr_start.tv_sec, curpsinfo->pr_start.tv_nsec,
    curlwpsinfo->pr_time.tv_sec, curlwpsinfo->pr_time.tv_nsec, curpsinfo->pr_ctime.tv_sec, curpsinfo->pr_ctime.tv_nsec,
    stringof(curlwpsinfo->pr_clname), curpsinfo->pr_lwp.pr_lwpid == tid,
    curlwpsinfo->pr_start.tv_sec == curpsinfo->pr_start.tv_sec); }
"""


def test_times_and_class(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    lines = [
        line.split()
        for line in sonde("-qc", shlex.join([sys.executable, str(script)]), "-n", SHOWN).stdout.splitlines()
        if line
    ]
    (traced,) = (line for line in lines if "B" in line)
    (own,) = (line for line in lines if "B" not in line)
    began, spent, of_children = map(float, traced[:3])
    earliest, latest, before, after, ended = map(float, own)
    # /proc has ticks of 10 ms; sonde and the process have read the clocks' distance at different times.
    assert earliest - 0.1 <= began <= latest + 0.1
    assert before <= spent <= after
    assert abs(of_children - ended) <= 0.03
    assert traced[3:] == ["B", "1", "1"]


@pytest.mark.share(1)
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("BEGIN { trace(curpsinfo->pr_size); }", "curthread->mm->total_vm"),
        ("BEGIN { trace(curlwpsinfo->pr_oldpri); }", "pr_pri"),
        ("tcp:::send { trace(args[1]->cs_pid); }", "sockets do not know"),
        ("tcp:::send { trace(args[3]->tcps_active); }", "connect-established"),
    ],
)
def test_members_that_linux_does_not_have_are_told_with_the_reason(text, reason):
    message = " ".join(sonde("-en", text, status=1).stderr.split())
    assert "translator does not define conversion for member" in message
    assert reason in message
    assert "write ." not in message
