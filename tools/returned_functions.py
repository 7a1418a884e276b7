#!/usr/bin/env python3
"""Probe the return of every function of real programs: none is changed. `returned_functions.py [ENGINE [NAME ...]]`.

The names are those of PROGRAMS; the engines kernel, embedded and both, which is what is done without any. Each program
runs three times alone and once with all returns of one of its objects probed, with fixed addresses, and waits at its
end until tracing has ended. Its output and exit status, and the code and data of all its objects, must be the same;
words of data that differ between the runs alone, as times do, are left out. The status is 1 if anything differs.
"""

import ctypes
import os
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEAD = struct.Struct("=3Q")
WORD = 8
PATIENCE = 900
"""Seconds that a program may take."""

_FIXED = 0x0040000
"""ADDR_NO_RANDOMIZE of personality(2)."""

PYTHON = """
import collections, json, re
class Tree:
    def __init__(self, depth): self.below = [Tree(depth - 1) for _ in range(2)] if depth else []
    def count(self): return 1 + sum(each.count() for each in self.below)
words = re.findall(r"[a-z]+", "the quick brown fox jumps over the lazy dog " * 3)
print(json.dumps(collections.Counter(words)), Tree(5).count(), 7 ** 77, sorted({1.5, 2, 3 / 7}))
try: {}["absent"]
except KeyError as error: print(repr(error))
raise SystemExit(5)
"""
SHELL = r"""
f() { local n=$1; if [ "$n" -lt 2 ]; then r=1; else f $((n - 1)); r=$((r * n)); fi; }
f 9; echo "$r"; a=(x "y z" w); for each in "${a[@]}"; do printf '<%s>' "${each/y/Y}"; done; echo
[[ abc123 =~ ([a-z]+)([0-9]+) ]] && echo "${BASH_REMATCH[2]}"; trap 'echo gone' EXIT
case $r in *[!0-9]*) exit 1;; 362880) exit 6;; esac
"""
SQL = """
create table t(a integer primary key, b text); create index i on t(b);
with recursive n(x) as (select 1 union all select x + 1 from n where x < 40)
insert into t select x, printf('%05d', x * 7919 % 97) from n;
select count(*), sum(a), group_concat(b) from (select * from t where b like '%4%' order by b);
delete from t where a % 3 = 0; select b, count(*) over (order by a) from t limit 5; select no_such();
"""
CXX = r"""
#include <iostream>
#include <map>
#include <regex>
#include <sstream>
#include <stdexcept>
int main() {
    std::map<std::string, double> found;
    for (int i = 0; i < 20; i++) {
        std::ostringstream text;
        text << i * 1.5 << ' ' << std::hex << i;
        found[text.str()] = i;
    }
    for (auto &each : found) std::cout << each.first << '=' << each.second << '\n';
    try { std::stoi("none"); } catch (const std::exception &error) { std::cout << error.what() << '\n'; }
    std::cout << std::regex_replace("a1b22", std::regex("[0-9]+"), "<$&>") << std::endl;
    return 3;
}
"""
C = """
typedef struct tree { struct tree *l, *r; int key; double weight; } tree;
static int sum(tree *t) { return t ? sum(t->l) + t->key + sum(t->r) : 0; }
int main(int n, char **v) { tree a = {0, 0, n, 1.5}; tree b = {&a, 0, 2, 2.5};
    for (int i = 0; i < 9; i++) b.weight *= a.weight + v[0][0]; return sum(&b) + (b.weight > 3); }
int wrong(void) { return undeclared; }
"""

PROGRAMS = {
    "python3": ("a.out", ["/usr/bin/python3", "-S", "-c", PYTHON]),
    "bash": ("a.out", ["/bin/bash", "--norc", "-c", SHELL]),
    "cc1": ("a.out", ["CC1", "-quiet", "-O2", "source.c", "-o", "-"]),
    "sqlite3": ("libsqlite3*", ["/usr/bin/sqlite3", "-batch", "-init", "/dev/null", ":memory:", SQL]),
    "libstdc++": ("libstdc*", ["./program"]),
    "libcrypto": ("libcrypto*", ["/usr/bin/openssl", "sha256", "-hmac", "key", "source.c"]),
}
"""The object whose functions are probed, and the command."""


class Directory:
    """What all runs share: the library that is preloaded, the programs that are compiled, and their sources."""

    def __init__(self, path):
        self.path = Path(path)
        (self.path / "source.c").write_text(C)
        (self.path / "source.cc").write_text(CXX)
        self.library = str(self.path / "segments.so")
        source = ROOT / "tools" / "segments_at_end.c"
        subprocess.run(["gcc", "-w", "-shared", "-fPIC", "-O1", "-o", self.library, source], check=True)
        subprocess.run(["g++", "-O1", "-o", self.path / "program", self.path / "source.cc"], check=True)
        found = subprocess.run(["gcc", "-print-prog-name=cc1"], stdout=subprocess.PIPE, text=True, check=True)
        self.cc1 = found.stdout.strip()

    def command(self, words):
        return [self.cc1 if word == "CC1" else word for word in words]


class Outcome:
    """What a program has said, how it has ended, and its segments: by address whether it is code, and the bytes."""

    def __init__(self, output, errors, status, dump):
        self.said = output, errors, status
        self.segments, self._all, self._files = segments(dump)

    def has_no_file(self, word):
        """Whether it is an address of the heap, a stack or other memory that is of no file, or was; or its end."""
        address, (first, last) = int.from_bytes(word, "little"), self._all
        for each in (address, address - 1):
            if first <= each < last and not any(low <= each < high for low, high in self._files):
                return True
        return False


class Process:
    """A program that has begun and waits before its main()."""

    def __init__(self, directory, words):
        self.ready, there = os.pipe()
        here, self.go = os.pipe()
        self.dump = directory.path / "segments"
        environment = {
            "PATH": "/usr/bin:/bin", "HOME": "/", "LC_ALL": "C", "PYTHONHASHSEED": "0",
            "LD_PRELOAD": directory.library, "SEGMENTS": f"{there},{here},{self.dump}",
        }  # fmt: skip
        libc = ctypes.CDLL(None)

        def prepare():
            # The dynamic linker notes which CPU it has found.
            os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
            libc.personality(_FIXED)

        self.process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=(directory.path / "output").open("wb"),
            stderr=(directory.path / "errors").open("wb"), env=environment, cwd=directory.path,
            pass_fds=(there, here), preexec_fn=prepare,
        )  # fmt: skip
        for each in (there, here):
            os.close(each)
        self.directory = directory.path
        self.rest(b"b")

    def rest(self, what):
        """Wait until it does."""
        if (found := os.read(self.ready, 1)) != what:
            raise RuntimeError(f"{self.process.args[0]} has ended before it was at {what!r}: {found!r}")

    def go_on(self):
        os.write(self.go, b"x")

    def end(self):
        """Its outcome, once it has written its segments and ended."""
        self.go_on()
        status = self.process.wait(PATIENCE)
        os.close(self.ready)
        os.close(self.go)
        texts = [(self.directory / name).read_bytes() for name in ("output", "errors")]
        return Outcome(*texts, status, self.dump.read_bytes())


def segments(data):
    """By address; where what is mapped begins and ends; and the ranges of files."""
    found, at = {}, 0
    while True:
        start, size, is_code = HEAD.unpack_from(data, at)
        at += HEAD.size
        if not size:
            break
        found[start] = bool(is_code), data[at : at + size]
        at += size
    mapped = re.findall(rb"^([0-9a-f]+)-([0-9a-f]+) \S+ \S+ \S+ (\d+) ", data[at:], re.MULTILINE)
    ranges = [(int(low, 16), int(high, 16)) for low, high, _ in mapped]
    files = [range_ for range_, (_, _, inode) in zip(ranges, mapped, strict=True) if inode != b"0"]
    user = [high for _, high in ranges if high < 1 << 47]
    return found, (ranges[0][0], max(user)), files


def alone(directory, words):
    process = Process(directory, words)
    process.go_on()
    process.rest(b"e")
    return process.end()


def traced(directory, words, module, engine):
    """The outcome, and what sonde has said: how many probes there were, and how many returns were told."""
    process = Process(directory, words)
    text = (
        f'BEGIN {{ printf("begun\\n"); }} pid$target:{module}::return {{ @ = count(); @named[probefunc] = count(); }}'
    )
    start = "import sys; from sonde.cli.main import main; sys.exit(main())"
    sonde = subprocess.Popen(
        [sys.executable, "-c", start, "--engine", engine, "-n", text, "-p", str(process.process.pid)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={"PATH": "/usr/bin:/bin", "HOME": "/tmp", "PYTHONPATH": str(ROOT / "src")},
    )  # fmt: skip
    while "begun" not in (line := sonde.stdout.readline()):
        if not line:
            process.process.kill()
            raise RuntimeError(sonde.communicate()[1])
    process.go_on()
    process.rest(b"e")
    sonde.send_signal(2)
    printed, messages = sonde.communicate(timeout=PATIENCE)
    outcome = process.end()
    probes = sum(map(int, re.findall(r"matched (\d+) probes", messages)))
    functions = len(re.findall(r"^ +\S+ +\d+$", printed, re.MULTILINE))
    returns = re.search(r"^ +(\d+)$", printed, re.MULTILINE)
    told = f"{probes} return probes, {functions} of them fired, {returns[1] if returns else 0} returns"
    return outcome, told, messages


def differences(plain, found, moved):
    """What is not as it was in all runs alone. Addresses of memory that is of no file are counted in `moved`: pages of
    the tracer's may have others lie elsewhere."""
    if found.said != plain[0].said:
        yield f"it said {found.said}, not {plain[0].said}"
    for start, (is_code, data) in plain[0].segments.items():
        others = [each.segments.get(start, (is_code, b""))[1] for each in plain[1:]]
        now = found.segments.get(start, (is_code, b""))[1]
        if any(len(each) != len(data) for each in (*others, now)):
            yield f"the segment at {start:#x} has other sizes"
            continue
        if now == data:
            continue
        for at in range(0, len(data), WORD):
            word, changed = data[at : at + WORD], now[at : at + WORD]
            if changed == word or any(each[at : at + WORD] != word for each in others):
                continue
            if not is_code and plain[0].has_no_file(word) and found.has_no_file(changed):
                moved.append(start + at)
            else:
                yield f"{'code' if is_code else 'data'} at {start + at:#x} is {changed.hex()}, not {word.hex()}"


def compare(directory, name, engine):
    """One line; whether anything differs."""
    module, words = PROGRAMS[name]
    words = directory.command(words)
    if not shutil.which(str(directory.path / words[0])):
        print(f"{name}: {words[0]} is not installed", flush=True)
        return False
    plain = []
    for _ in range(3):
        plain.append(alone(directory, words))
        # Times in seconds differ.
        time.sleep(1.1)
    begun = time.monotonic()
    outcome, told, messages = traced(directory, words, module, engine)
    moved = []
    found = list(differences(plain, outcome, moved))
    size = sum(len(data) for _, data in outcome.segments.values())
    print(
        f"{name} on {engine}: {told}, {size >> 10} KiB of code and data, {time.monotonic() - begun:.0f} s: "
        f"{'the same' if not found else f'{len(found)} differences'}"
        + (f" but for {len(moved)} addresses" if moved else ""),
        *messages.splitlines()[1:],
        *found[:9],
        sep="\n  ",
        flush=True,
    )
    return bool(found)


def main(engine="both", *names):
    both = ("embedded", "kernel") if os.geteuid() == 0 else ("embedded",)
    engines = both if engine == "both" else (engine,)
    if unknown := {*engines} - {"embedded", "kernel"} or {*names} - {*PROGRAMS}:
        print(f"unknown: {shlex.join(sorted(unknown))}; the programs are {', '.join(PROGRAMS)}")
        return 2
    with tempfile.TemporaryDirectory() as path:
        directory = Directory(path)
        failed = [compare(directory, name, each) for name in names or PROGRAMS for each in engines]
    return int(any(failed))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
