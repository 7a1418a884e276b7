"""Scripts with -c and with -p show the named process and what descends from it, nobody else: beside a busy neighbour
that does the same, what is shown is the work of a process whose parent has ended."""

import os
import re
import signal
import subprocess
import sys
import time

import pytest
from support.command.example_run import EXAMPLES, SONDE
from support.places import SUPPORT

from sonde.engines.kernel.features import FEATURES, is_available

WORK = SUPPORT / "command/family_work.py"
SCRIPTS = {path.stem: path.read_text() for path in EXAMPLES.glob("*.d")}

EVERYBODY = {"connections", "conversations", "disk", "metrics", "packets"}
ALONE = {"exceptions", "function-times", "line-values"}
FAMILY = sorted(set(SCRIPTS) - EVERYBODY - ALONE)
OF_FUNCTIONS = "file-bytes"

CALLS = {"cputime", "syscall-latency"}
"""They show calls, not names."""

COUNTS = {"rates": 20_000, "runqueue": 2_000}
"""They show numbers alone, and no more than this of the family's: the neighbour's are more in a second."""

STACKS = {"hot-stacks", "locks"}


@pytest.fixture(scope="module", autouse=True)
def neighbour(tmp_path_factory):
    """Processes called `theirs` that never stop, and one that makes 100,000 calls a second."""
    where = tmp_path_factory.mktemp("theirs")
    busy = "import os, time\nfor _ in range(12_000): [os.getpriority(0, 0) for _ in range(1000)]; time.sleep(0.01)"
    commands = [[sys.executable, str(WORK), "theirs", "120"], [sys.executable, "-c", busy]]
    started = [
        subprocess.Popen(command, stdin=subprocess.PIPE, cwd=where, start_new_session=True) for command in commands
    ]
    started[0].stdin.write(b"go\n")
    started[0].stdin.flush()
    yield
    for each in started:
        os.killpg(each.pid, signal.SIGKILL)
        each.communicate()


def test_every_script_says_whom_it_shows():
    for name, text in SCRIPTS.items():
        heading = " ".join(re.sub(r"^ \* ?", "", text.partition("*/")[0], flags=re.M).split())
        if name in EVERYBODY:
            assert "Everybody's, also with -c or -p" in heading, name
            assert "progenyof" not in text
        elif name in ALONE:
            assert "Of the process of -c or -p alone" in heading, name
            assert "$target:" in text
        else:
            assert re.search(r"With -c or -p: .*(it|one) starts", heading), name
            assert "progenyof($target)" in text


def shown(script, output, tmp_path):
    """What the script has shown, be it in a file."""
    return (tmp_path / "folded").read_text() if script == "cpu-flame" else output


def check(script, text):
    if script == "wakeups":
        # Whoever is waiting may be woken by an interrupt, in the name of whom it interrupted.
        text = "".join(line[:16] + "\n" for line in text.splitlines())
    assert "theirs" not in text
    if script in CALLS:
        assert "getpgid" in text
        assert "getpriority" not in text
    elif script in COUNTS:
        column = 0 if script == "rates" else -1
        numbers = [int(line.split()[column]) for line in text.splitlines() if line.rstrip()[-1:].isdigit()]
        assert 0 < sum(numbers) < COUNTS[script]
    elif script in STACKS:
        assert "read_zero" not in text
    else:
        assert "mine" in text


def words(script, tmp_path):
    """The command line; the test is skipped where the kernel does not let its functions be probed."""
    needed = (feature for feature in FEATURES if feature.name in ("kprobe", "functions"))
    if script == OF_FUNCTIONS and not all(map(is_available, needed)):
        pytest.skip("this kernel does not let its functions be probed")
    found = [SONDE, "-s", str(EXAMPLES / f"{script}.d")]
    if script == "slow-syscalls":
        found += ["5", "-xargref"]
    return [*found, "--folded", str(tmp_path / "folded")] if script == "cpu-flame" else found


@pytest.mark.share(0, 8)
@pytest.mark.parametrize("script", FAMILY)
def test_of_a_command(script, tmp_path):
    command = f"'{sys.executable}' '{WORK}' mine 0.3"
    done = subprocess.run(
        [*words(script, tmp_path), "-c", command], input="go\n", capture_output=True, text=True,
        cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    check(script, shown(script, done.stdout, tmp_path))


@pytest.mark.share(0, 8)
@pytest.mark.parametrize("script", FAMILY)
def test_of_a_process(script, tmp_path):
    target = subprocess.Popen([sys.executable, str(WORK), "mine", "0.3"], stdin=subprocess.PIPE, cwd=tmp_path)
    begin = ["-n", 'BEGIN { printf("ready\\n"); }', "-p", str(target.pid)]
    tracer = subprocess.Popen(
        [*words(script, tmp_path), *begin], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path
    )
    lines = [tracer.stdout.readline()]
    while lines[-1] not in ("ready\n", ""):
        lines.append(tracer.stdout.readline())
    time.sleep(0.05)
    target.communicate(b"go\n")
    output, errors = tracer.communicate()
    assert tracer.returncode == 0, errors
    check(script, shown(script, "".join(lines) + output, tmp_path))
