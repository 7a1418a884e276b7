"""Files that perf writes, replayed: what perf itself tells of them is what aggregations over them give."""

import os
import re
import subprocess
from collections import Counter

import pytest
from support.command.command import sonde, start, unwrapped
from support.machine import compilers, packages

import sonde as library

pytestmark = packages.needs("perf")

WORK = ["sh", "-c", "ls / >/dev/null; cat /etc/passwd >/dev/null & wait; (exit 3); grep -c root /etc/passwd >/dev/null"]
EVENTS = ["-e", "sched:*,syscalls:*", "-g"]
FEWER = ["-e", "sched:*,syscalls:sys_*_openat,syscalls:sys_*_close,syscalls:sys_*_read,syscalls:sys_*_mmap", "-g"]
"""To open all of them takes perf half a minute."""
DEEPEST = 64
HEAD = re.compile(r"^(.+?)\s+(\d+)\s+\[(\d+)\]\s+([\w:-]+):\s*(.*)$")


def record(path, *words, work=WORK, **options):
    """perf record; with `to` the file of its standard output."""
    to = options.get("to")
    done = subprocess.run(
        ["perf", "record", "-q", "-o", "-" if to else path, *words, "--", *work],
        stdout=to or subprocess.DEVNULL, stderr=subprocess.PIPE, text=not to,
    )  # fmt: skip
    assert not done.returncode, done.stderr


def script(path, fields):
    words = ["perf", "script", "-i", path, "-G", "-F", fields]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()


ALL = pytest.param("all", marks=(pytest.mark.long, pytest.mark.whole))


@pytest.fixture(scope="module", params=["file", "compressed", "pipe", ALL])
def recorded(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("perf") / "perf.data"
    if request.param == "pipe":
        with open(path, "wb") as to:
            record(path, *FEWER, to=to)
    elif request.param == "compressed":
        pytest.importorskip("zstandard", reason="needs package python3-zstandard")
        record(path, *FEWER, "-z")
    else:
        record(path, *(EVENTS if request.param == "all" else FEWER))
    return str(path)


def theirs(path):
    """How often each event happened to whom, where; and what perf tells of each."""
    found = [HEAD.match(line.strip()) for line in script(path, "comm,tid,cpu,event,trace")]
    return [(each[1], int(each[2]), int(each[3]), each[4], each[5]) for each in found if each]


def replayed(path, text, *words):
    """The lines of a script over the file, each split at bars."""
    done = sonde("--replay", path, "-qn", text, *words)
    return [line.split("|") for line in done.stdout.splitlines() if line]


def probe_of(event):
    """How perf's event is called here."""
    group, _, name = event.partition(":")
    if group != "syscalls":
        return f"sdt:{group}::{name}"
    side, _, call = name.removeprefix("sys_").partition("_")
    return f"syscall:vmlinux:{call}:{'entry' if side == 'enter' else 'return'}"


@pytest.mark.long
def test_counts_are_those_of_perf_script(recorded):
    expected = Counter((probe_of(event), name, tid, cpu) for name, tid, cpu, event, _ in theirs(recorded))
    text = (
        "sdt:sched::, syscall::: { @[probeprov, probemod, probefunc, probename, execname, tid, cpu] = count(); }"
        'END { printa("%s:%s:%s:%s|%s|%d|%d|%@d\\n", @); }'
    )
    found = {(row[0], row[1], int(row[2]), int(row[3])): int(row[4]) for row in replayed(recorded, text)}
    assert sum(expected.values()) > 200
    # The idle threads, which perf gives one name, have one for each CPU.
    found = Counter({(p, "swapper" if not tid else name, tid, cpu): n for (p, name, tid, cpu), n in found.items()})
    assert found == expected


@pytest.mark.long
def test_fields_are_those_that_perf_shows(recorded):
    switches = [text for _, _, _, event, text in theirs(recorded) if event == "sched:sched_switch"]
    expected = []
    for text in switches:
        before, after = text.split(" ==> ")
        one = re.match(r"(?:prev_comm=)?(.*)(?: prev_pid=|:)(\d+)(?: |$)", before)
        other = re.match(r"(?:next_comm=)?(.*)(?: next_pid=|:)(\d+)(?: |$)", after)
        expected.append([one[1], one[2], other[1], other[2]])
    text = 'sdt:sched::sched_switch { printf("%s|%d|%s|%d\\n", args->prev_comm, args->prev_pid, args->next_comm, '
    assert replayed(recorded, text + "args->next_pid); }") == expected
    assert expected


@pytest.mark.long
def test_arguments_and_results_of_calls_are_those_that_perf_shows(recorded):
    told = [text for _, _, _, event, text in theirs(recorded) if event == "syscalls:sys_enter_openat"]
    expected = [[str(int(each, 16) & 0xFFFFFFFF) for each in re.findall(r"\w+: (0x[0-9a-f]+)", text)] for text in told]
    text = 'syscall::openat:entry { printf("%d|%d|%d|%d\\n", arg0 & 0xffffffff, arg1 & 0xffffffff, arg2, arg3); }'
    assert replayed(recorded, text) == [each[:4] for each in expected]
    results = [text for _, _, _, event, text in theirs(recorded) if event == "syscalls:sys_exit_openat"]
    text = 'syscall::openat:return { printf("%d\\n", (int)arg1); }'
    found = [int(row[0]) for row in replayed(recorded, text)]
    assert [value & (1 << 64) - 1 for value in found] == [int(each, 16) for each in results]


@pytest.mark.long
def test_stacks_have_the_frames_that_perf_shows(recorded):
    """By the objects that they are in, of which one that is none has no name."""
    words = ["perf", "script", "-i", recorded, "-F", "event,ip,dso"]
    shown = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    expected = Counter()
    for block in shown.split("\n\n"):
        head, *frames = block.strip().splitlines() or [""]
        if head.startswith("syscalls:sys_enter_openat"):
            # A stack ends at the address 0, and no more of it is asked for.
            frames = frames[:DEEPEST]
            objects = (line.rpartition("(")[2].rstrip(")") for line in frames if int(line.split()[0], 16))
            expected[tuple("" if each == "[unknown]" else each.rpartition("/")[2] for each in objects)] += 1
    text = f'syscall::openat:entry {{ printf("-\\n"); ustack({DEEPEST}); }}'
    found = Counter()
    for block in sonde("--replay", recorded, "-qn", text).stdout.split("-\n"):
        frames = [line.strip() for line in block.splitlines() if line.strip()]
        if frames:
            found[tuple(re.split("[`+]", line)[0] if "`" in line or "+" in line else "" for line in frames)] += 1
    assert sum(expected.values()) > 10
    assert found == expected


SPINNING = r"""
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
static volatile long sum;
__attribute__((noinline)) void leaf(long n) { while (n--) sum += n; }
__attribute__((noinline)) void aligned(long n) {
    volatile int block[16] __attribute__((aligned(64)));
    block[n & 15] = n; leaf(n); block[1] = 0;
}
__attribute__((noinline)) void varying(long n) {
    volatile char *more = __builtin_alloca(n % 100 + 10);
    memset((char *)more, n, n % 100); aligned(n); more[0] = 0;
}
static void handler(int number) { varying(1000000); }
static int compare(const void *one, const void *other) { leaf(3000000); return *(char *)one - *(char *)other; }
int main() {
    struct itimerval often = {{0, 20000}, {0, 20000}};
    signal(SIGALRM, handler);
    setitimer(ITIMER_REAL, &often, 0);
    for (int n = 0; n < 24; n++) { char text[] = "unsorted"; qsort(text, 8, 1, compare); varying(4000000 + n); }
}
"""


@pytest.mark.long
def test_stacks_of_registers_and_bytes_have_the_functions_that_perf_shows(tmp_path):
    """Each sample's, of code without frame pointers. Of callers within libc perf finds some, and sonde those, too."""
    path = str(tmp_path / "perf.data")
    program = compilers.built("spinning.c", SPINNING, "gcc", "-O2", "-fno-ipa-cp", "-fno-inline")
    record(path, "-F", "499", "-e", "cpu-clock", "--call-graph", "dwarf,4096", work=[program])
    words = ["perf", "script", "--no-inline", "-i", path, "-F", "time,ip,sym,dso"]
    shown = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    theirs_, name = [], program.rpartition("/")[2]
    for block in filter(str.strip, shown.split("\n\n")):
        _, *lines = block.strip().splitlines()
        frames = [line.split(maxsplit=1)[1] for line in lines if not line.split()[0].startswith("ffff")]
        theirs_.append([frame.split(" ")[0] for frame in frames if frame.endswith(f"{name})")])
    text = 'profile-499 { printf("-\\n"); ustack(64); }'
    blocks = sonde("--replay", path, "-qn", text).stdout.split("-\n")[1:]
    ours = [re.findall(rf"{re.escape(name)}`(\w+)", block) for block in blocks]
    compared = [pair for pair in zip(theirs_, ours, strict=True) if pair[0]]
    assert len(compared) > 30
    assert len({tuple(each) for each in ours}) >= 3
    for expected, found in compared:
        assert found == expected
    with library.trace("profile-499 { @found[ustack()] = count(); }", options={"replay": path}) as run:
        run.wait()
    named = {tuple(frame.function for frame in stack) for (stack,) in run.aggregations["found"]}
    assert any(each[:2] == ("leaf", "compare") and each[-1] == "_start" for each in named)
    words = ["--folded", f"{path}.folded"]
    whole = sonde("--replay", path, "-qn", "profile-499 { @[ustack()] = count(); }", *words)
    assert f"{name}`main;{name}`varying;{name}`aligned;{name}`leaf" in (tmp_path / "perf.data.folded").read_text()
    assert "missing" not in whole.stdout + whole.stderr


@pytest.mark.share(1)
def test_schedulers_and_processes_probes_follow_from_the_events(recorded):
    events = theirs(recorded)
    switches = sum(event == "sched:sched_switch" for *_, event, _ in events)
    execs = Counter(name for name, _, _, event, _ in events if event == "sched:sched_process_exec")
    forks = sum(event == "sched:sched_process_fork" for *_, event, _ in events)
    exits = sum(event == "sched:sched_process_exit" for *_, event, _ in events)
    text = """
        sched:::off-cpu { @["off-cpu", ""] = count(); } sched:::on-cpu { @["on-cpu", ""] = count(); }
        proc:::exec-success { @["exec", execname] = count(); } proc:::lwp-exit { @["exit", ""] = count(); }
        proc:::create { @["fork", ""] = count(); } END { printa("%s|%s|%@d\\n", @); }
    """
    found = {(row[0], row[1]): int(row[2]) for row in replayed(recorded, text)}
    expected = {("off-cpu", ""): switches, ("on-cpu", ""): switches, ("fork", ""): forks, ("exit", ""): exits}
    assert found == expected | {("exec", name): count for name, count in execs.items()}


@pytest.mark.long
def test_samples_of_the_clock_fire_profile_probes(tmp_path):
    path = str(tmp_path / "perf.data")
    loop = ["sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"]
    record(path, "-F", "999", "-e", "cpu-clock", "-g", work=loop)
    expected = Counter(line.strip() for line in script(path, "ip"))
    text = 'profile-999 { @[arg0 ? arg0 : arg1] = count(); } END { printa("%x|%@d\\n", @); }'
    found = {row[0]: int(row[1]) for row in replayed(path, text)}
    assert sum(expected.values()) > 20
    assert {int(key, 16): count for key, count in found.items()} == {int(k, 16): n for k, n in expected.items()}
    names = Counter(line.strip().split("+")[0] for line in script(path, "ip,sym") if "unknown" not in line)
    text = "profile-999 /arg1/ { @[ustack(1)] = count(); }"
    shown = sonde("--replay", path, "-qn", text).stdout
    named = {line.strip().split("`")[1].split("+")[0] for line in shown.splitlines() if "libc.so.6`" in line}
    # Of several names of one function perf may show another one.
    assert 2 * len(named & {each.split(" ")[-1] for each in names}) > len(named)
    message = sonde("--replay", path, "-n", "profile-97 { @ = count(); }", status=1).stderr
    assert "it holds" in unwrapped(message)
    assert "profile-999" in message


@pytest.mark.long
def test_what_sonde_has_recorded_is_replayed(tmp_path):
    path = str(tmp_path / "perf.data")
    loop = "sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done'"
    sonde("record", "-q", "-g", "-o", path, "-n", "profile-997 /pid == $target/ { sample(); }", "-c", loop)
    expected = len(script(path, "ip"))
    assert expected > 20
    rows = replayed(path, 'profile-997 { @[execname] = count(); } END { printa("%s|%@d\\n", @); }')
    assert rows == [["sh", str(expected)]]


def test_a_file_of_a_killed_perf_says_what_is_missing(tmp_path):
    whole = tmp_path / "perf.data"
    record(str(whole), "-e", "sched:*")
    data = bytearray(whole.read_bytes())
    # Without features, as perf leaves it when it is killed.
    data[72:104] = bytes(32)
    cut = tmp_path / "killed.data"
    cut.write_bytes(bytes(data))
    message = sonde("--replay", str(cut), "-n", "sdt:sched::sched_switch { @ = count(); }", status=1).stderr
    assert "does not describe its trace events" in unwrapped(message)
    assert "Traceback" not in message


@pytest.mark.share(1)
def test_what_comes_through_a_pipe_is_what_a_file_has(recorded):
    text = "syscall:::, sched::: { @[probeprov, probefunc, probename, execname] = count(); @s[stack(3)] = count(); }"
    from_file = sonde("--replay", recorded, "-qn", text).stdout
    assert from_file.strip()
    with subprocess.Popen(["cat", recorded], stdout=subprocess.PIPE) as given:
        through = start("--replay", "-", "-qn", text, stdin=given.stdout, text=True)
        assert through.communicate() == (from_file, "")


@pytest.mark.long
@pytest.mark.parametrize("to_pipe", [False, True])
def test_two_events_that_count_the_same_fire_their_own_probes(tmp_path, to_pipe):
    """Each sample has the number of its event: of what it counts there may be several."""
    path = str(tmp_path / "perf.data")
    events = "page-faults/name=one/,page-faults/name=two/,page-faults/name=three,period=7/"
    words = ["perf", "record", "-q", "-c", "1", "-e", events, "-o", "-" if to_pipe else path, "--", "true"]
    with open(path if to_pipe else os.devnull, "wb") as output:
        subprocess.run(words, stdout=output, check=True)
    report = subprocess.run(
        ["perf", "report", "--stdio", "-i", path], capture_output=True, text=True, check=True
    ).stdout
    expected = {name: int(count) for count, name in re.findall(r"Samples: (\d+) +of event '(\w+)'", report)}
    done = sonde("-q", "--replay", path, "-n", "perf:::one-1, perf:::two-1, perf:::three-7 { @[probename] = count(); }")
    found = {name: int(count) for name, count in re.findall(r"(\w+)-\d +(\d+)", done.stdout)}
    assert found == {name: count for name, count in expected.items() if count}
    assert found
