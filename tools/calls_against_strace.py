#!/usr/bin/env python3
"""System calls as the embedded engine tells of them, compared with strace's. `calls_against_strace.py [CALLS]`

Programs that make the same calls in each run (tools/calls_program.c, which is denied many of them by filters of its
own, and some of the system's) are run below strace and, again, below sonde: by -c with and without a filter, with all
calls held, by notification, and by -p. Compared are, of each thread and in order, name, arguments as the registers have
them, as many as strace shows, result and errno: in each way at least so many calls (50,000) of the program of this
directory, and those of the system's. The status is 1 if any is different.
"""

import collections
import errno
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

from sonde.arch.x86_64.syscalls import CALLS  # noqa: E402 - of the checkout

PATIENCE = 120
WANTED = 50_000
A_SEED = 1500
"""The calls that the program is asked for of each kind, which are some five times as many in all."""

START = "import sys; sys.argv[0] = 'sonde'; from sonde.cli.start import main; sys.exit(main())"
ARGUMENTS = ", ".join(f"arg{n}" for n in range(6))
ENTRY = f'syscall:::entry {{ printf("%d E %s %x %x %x %x %x %x\\n", tid, probefunc, {ARGUMENTS}); }} '
RETURN = 'syscall:::return { printf("%d R %s %x %d\\n", tid, probefunc, arg1, errno); } '
WAYS = {
    "entries": (ENTRY, ()), "calls": (ENTRY + RETURN, ()), "unfiltered": (ENTRY + RETURN, ("-xseccomp=no",)),
    "held": (ENTRY + RETURN + "syscall:::return { @[ustack(2)] = count(); }", ()), "attached": (ENTRY + RETURN, ()),
}  # fmt: skip

PROGRAMS = [
    "find /usr/include -name *.h -newer /etc/passwd",
    "ls -lR /usr/include/linux",
    "grep -rc printf /usr/include/linux",
    "sort /etc/passwd /etc/services /nothing",
    'perl -e \'open F, "<", $_ or print $! for glob "/etc/* /nothing"\'',
    "tar cf /dev/null /usr/include/linux",
    "as /dev/null -o x.o",
    "sqlite3 d.db 'create table t(a); insert into t values (1)'",
    "/usr/bin/python3 -c 'import os; print([n for n in range(99) if os.path.exists(str(n))])'",
    "gawk 'BEGIN { while (getline < \"/etc/services\") n++; print n }'",
]
"""Of the system: each is told of where two runs below strace already differ, and is then not compared."""

MARKER = "getpriority"
MARKED = (77, 77)

CODES = {name: number for number, name in errno.errorcode.items()} | {
    "ERESTARTSYS": 512, "ERESTARTNOINTR": 513, "ERESTARTNOHAND": 514, "ERESTART_RESTARTBLOCK": 516, "ENOTSUPP": 524,
    "EWOULDBLOCK": 11, "EDEADLOCK": 35, "EOPNOTSUPP": 95, "EHWPOISON": 133,
}  # fmt: skip
OTHER_NAMES = dict(re.findall(r"^\d+ (\w+)=(\w+)", CALLS, re.MULTILINE))
"""Of calls whose trace events are named after a function: those that strace has."""

UNRETURNED = {"rt_sigreturn"}
"""It restores all registers, and so has neither arguments nor a result for the kernel's trace events either."""

RESTARTS = {512, 513, 514, 516}
LINE = re.compile(r"^(\w+)\((.*?)( <unfinished \.\.\.>)?\)?\s+= (.*)$")
MASK = (1 << 64) - 1


class Place:
    """Where the programs run: a directory that is empty before each run, and the program."""

    def __init__(self, directory):
        self.work, self.program, self.gate = f"{directory}/work", f"{directory}/calls_program", f"{directory}/gate"
        self.results = Path(directory, "results")
        os.mkfifo(self.gate)
        source = str(ROOT / "tools" / "calls_program.c")
        subprocess.run(["gcc", "-O1", "-w", "-pthread", "-o", self.program, source], check=True)
        own = [] if os.getuid() == 0 else ["-U", "--map-current-user"]
        self.alone = ["unshare", *own, "-pfi", "--mount-proc", "setarch", "-R"]

    def environment(self):
        # The addresses of the stack depend on its length, which has to be the same in each run.
        return {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "HOME": self.work, "PYTHONHASHSEED": "0", "PERL_HASH_SEED": "0"}

    def words(self, asked):
        return [*self.alone, self.program, self.gate, *asked]

    def start(self, words, environment=None):
        shutil.rmtree(self.work, ignore_errors=True)
        os.mkdir(self.work)
        shutil.rmtree(self.results, ignore_errors=True)
        self.results.mkdir()
        return subprocess.Popen(
            words, cwd=self.work, env=environment or self.environment(), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def open_gate(self):
        """Let the program go on, which waits for the end of the pipe."""
        os.close(os.open(self.gate, os.O_WRONLY))


def by_strace(place, asked):
    """The calls of each thread, in the order in which the threads were made."""
    output = place.results / "of"
    # start() empties its directory.
    process = place.start(["strace", "-ff", "-o", str(output), "-e", "raw=all", *place.words(asked)])
    place.open_gate()
    process.wait(PATIENCE)
    found = {}
    for path in place.results.iterdir():
        found[int(path.suffix[1:])] = [call for line in path.read_text().splitlines() if (call := parsed(line))]
    return behind_marker(found)


def parsed(line):
    """(name, arguments, result, errno) of a line of strace's; the last two None where the call has not returned."""
    match = LINE.match(line)
    if match is None:
        return None
    name, arguments, _, result = match.groups()
    if name in UNRETURNED:
        return name, (), None, None
    given = tuple(int(each, 16) & MASK for each in arguments.split(", ") if each and each != "...")
    return (name, given, *outcome(result))


def outcome(text):
    if text == "?":
        return None, None
    unnumbered = re.match(r"-1 \(errno (\d+)\)", text)
    if unnumbered:
        return -int(unnumbered[1]) & MASK, int(unnumbered[1])
    named = re.match(r"(?:-1|\?) (E\w+)", text)
    if named:
        number = CODES[named[1]]
        return -number & MASK, errno.EINTR if number in RESTARTS else number
    return int(text.split()[0], 0) & MASK, 0


def behind_marker(found):
    """The calls of the thread that has made the marker, from there on, and those of threads that came later."""
    numbers = int(Path("/proc/sys/kernel/pid_max").read_text())
    for tid, calls in found.items():
        for place, call in enumerate(calls):
            if call[0] == MARKER and call[1][:2] == MARKED:
                # Numbers begin again at the largest.
                later = {(other - tid) % numbers: found[other] for other in found if other != tid}
                return [calls[place:], *(later[each] for each in sorted(later) if each < numbers // 2)]
    raise ValueError("the program has not made its marker")


def by_sonde(place, asked, way):
    """As by_strace; where only entries are asked for without results."""
    program, options = WAYS[way]
    trace = place.results / "trace"
    environment = {**place.environment(), "PYTHONPATH": str(ROOT / "src")}
    words = [
        sys.executable, "-c", START, "-q", "--engine", "embedded", "-b", "64m", "-o", str(trace), *options, "-n",
        f'BEGIN {{ printf("begun\\n"); }} {program}',
    ]  # fmt: skip
    if way == "attached":
        process = place.start(place.words(asked))
        pid = program_below(process.pid, place.program)
        sonde = subprocess.Popen([*words, "-x", "switchrate=50hz", "-p", str(pid)], env=environment, cwd=place.work)
        wait_until(lambda: trace.exists() and "begun" in trace.read_text())
    else:
        command = shlex.join(["env", "-u", "PYTHONPATH", *place.words(asked)])
        process = sonde = place.start([*words, "-c", command], environment)
    place.open_gate()
    process.wait(PATIENCE)
    if sonde.wait(PATIENCE):
        raise ValueError(f"sonde's status {sonde.returncode}")
    return behind_marker(told(trace.read_text().splitlines()))


def told(lines):
    """What sonde says of each thread's calls. The return of what makes a thread is no call of the thread made."""
    found, open_ = collections.defaultdict(list), {}
    for line in lines:
        words = line.split()
        if len(words) == 9 and words[1] == "E":
            calls = found[int(words[0])]
            open_[words[0]] = len(calls)
            arguments = () if words[2] in UNRETURNED else tuple(int(each, 16) for each in words[3:])
            calls.append((OTHER_NAMES.get(words[2], words[2]), arguments, None, None))
        elif len(words) == 5 and words[1] == "R" and words[0] in open_:
            place = open_.pop(words[0])
            name, arguments, _, _ = found[int(words[0])][place]
            if name != OTHER_NAMES.get(words[2], words[2]):
                raise ValueError(f"{name} returns as {words[2]}")
            found[int(words[0])][place] = (name, arguments, int(words[3], 16), int(words[4]))
    return found


def program_below(pid, program):
    """The process of the program that another starts."""
    found = []

    def look():
        found[:] = [pid]
        while found and os.readlink(f"/proc/{found[0]}/exe") != program:
            found[:] = map(int, Path(f"/proc/{found[0]}/task/{found[0]}/children").read_text().split())
        return bool(found) and "read" in Path(f"/proc/{found[0]}/wchan").read_text() + "read"

    wait_until(look)
    return found[0]


def wait_until(condition):
    limit = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > limit:
            raise ValueError("it takes too long")
        time.sleep(0.02)


def differences(expected, found, has_results):
    """What is different, thread by thread: a thread's first difference hides those behind it."""
    if len(expected) != len(found):
        yield f"{len(found)} threads, strace has {len(expected)}"
    for number, (theirs, ours) in enumerate(zip(expected, found, strict=False)):
        for place, (wanted, is_) in enumerate(zip(theirs, ours, strict=False)):
            is_ = (is_[0], is_[1][: len(wanted[1])], *is_[2:])
            if (is_ if has_results else is_[:2]) != (wanted if has_results else wanted[:2]):
                yield f"thread {number}, call {place}: {shown(is_)}, strace has {shown(wanted)}"
                break
        else:
            if len(theirs) != len(ours):
                yield f"thread {number}: {len(ours)} calls, strace has {len(theirs)}"


def shown(call):
    name, arguments, result, error = call
    return f"{name}({', '.join(map(hex, arguments))}) = {'?' if result is None else hex(result)} errno {error}"


def compare(place, asked, ways):
    """(number of calls, of failed ones, problems by way) of one program; None where it is not the same twice."""
    for _ in range(3):
        expected = by_strace(place, asked)
        if not list(differences(expected, by_strace(place, asked), True)):
            break
    else:
        return None
    calls = sum(map(len, expected))
    failed = sum(bool(call[3]) for thread in expected for call in thread)
    problems = {}
    for way in ways:
        problems[way] = list(differences(expected, by_sonde(place, asked, way), way != "entries"))
    return calls, failed, problems


def main(wanted=WANTED, ways=tuple(WAYS)):
    total = failed = wrong = seed = made = 0
    with tempfile.TemporaryDirectory(prefix="sonde-calls-") as directory:
        place = Place(directory)
        programs = [["exec", *shlex.split(each)] for each in PROGRAMS if shutil.which(shlex.split(each)[0])]
        while programs or made < wanted:
            seed += not programs
            asked = programs.pop(0) if programs else [str(seed), str(A_SEED)]
            found = compare(place, asked, ways)
            if found is None:
                print(f"{' '.join(asked)[:70]}: not the same twice below strace")
                continue
            total, failed = total + found[0], failed + found[1]
            made += found[0] * bool(seed)
            for way, problems in found[2].items():
                wrong += len(problems)
                for each in problems:
                    print(f"{' '.join(asked)[:70]}, {way}: {each}")
    print(f"{total} calls in each of {len(ways)} ways, {failed} of them with an error: {wrong} threads differ")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:2])))
