"""Every script in examples/, run against a workload whose counts are known."""

import re
from pathlib import Path

import pytest
from support.command.example_run import EXAMPLES, NAME, rows, run

from sonde.library.testing.reading import read_cases

CASES = sorted((EXAMPLES / "tests").glob("*.sonde.toml"))

WIDE = ("strace.d",)
"""Scripts whose formats are lines of another program's."""


def test_the_cases_are_collected(request):
    """By the plugin: without it the suite would pass without them."""
    assert request.config.pluginmanager.has_plugin("sonde"), "install the package again: pip install -e '.[test]'"
    assert len(CASES) >= 20


def test_every_example_is_tested_and_explained():
    """By a file of cases (docs/testing.md), or here where the workload needs more than a command."""
    here = Path(__file__).parent.glob("test_examples*.py")
    tested = {name for path in here for name in re.findall(r'"([a-z0-9-]+\.d)"', path.read_text())}
    tested |= {case.script.removeprefix("../") for path in CASES for case in read_cases(str(path))}
    for path in EXAMPLES.glob("*.d"):
        assert path.name in tested
        text = path.read_text()
        assert f"Run: sonde -s {path.name}" in text
        lines = text.partition("*/")[0] if path.name in WIDE else text
        assert max(map(len, lines.splitlines())) <= 80
    assert len(tested) >= 20


def test_slow_syscalls(tmp_path):
    """The seven that sleep long enough, and of those whom a busy machine wakes late none that was not slow."""
    workload = """
times = []
for seconds in [0.06] * 7 + [0.001] * 13:
    begin = time.monotonic()
    time.sleep(seconds)
    times.append(time.monotonic() - begin)
print(NAME, "all", sum(taken >= 0.05 for taken in times))
"""
    found = rows(run("slow-syscalls.d", workload, tmp_path, "50"))
    ((_, most),) = (row for row in found if row[0] == "all")
    slow = [row for row in found if row[1] == "clock_nanosleep"]
    assert 7 <= len(slow) <= int(most)
    assert all(int(milliseconds) >= 50 and result == "0" for _, _, milliseconds, result in slow)
    assert sum(int(milliseconds) >= 60 for _, _, milliseconds, _ in slow) >= 7


def test_processes(tmp_path):
    output = run("processes.d", 'for n in range(5): subprocess.run(["true"])', tmp_path)
    lines = [line.split() for line in output.splitlines()]
    forked = {words[2] for words in lines if words[1:2] == ["fork"] and words[-1] == NAME}
    assert len(forked) == 5
    executed = {words[0] for words in lines if words[1:2] == ["exec"] and words[2].endswith("/true")}
    ended = {words[0] for words in lines if words[1:3] == ["exit", "true"]}
    assert forked == executed & forked == ended & forked


@pytest.mark.long
def test_hot_stacks(tmp_path):
    workload = """
end = time.monotonic() + 0.5
source = os.open("/dev/zero", os.O_RDONLY)
while time.monotonic() < end: os.read(source, 1 << 20)
"""
    output = run("hot-stacks.d", workload, tmp_path)
    counts = [int(line) for line in output.splitlines() if line.strip().isdigit()]
    frames = [line.strip() for line in output.splitlines() if "`" in line]
    assert 1 <= len(counts) <= 10
    assert counts == sorted(counts)
    assert any(frame.startswith("vmlinux`") and "read" in frame for frame in frames)


@pytest.mark.long
def test_cpu_flame(tmp_path):
    """The picture has what END has taken from the output."""
    workload = """
end = time.monotonic() + 0.5
source = os.open("/dev/zero", os.O_RDONLY)
while time.monotonic() < end: os.read(source, 1 << 20)
"""
    output = run("cpu-flame.d", workload, tmp_path, "--flame", "cpu.html", "--folded", "cpu.txt")
    assert output.strip() == ""
    assert "Flame graph of @" in (tmp_path / "cpu.html").read_text()
    stacks = [line for line in (tmp_path / "cpu.txt").read_text().splitlines() if line.startswith(NAME + ";")]
    assert any("read" in stack and "vmlinux`" in stack for stack in stacks)


@pytest.mark.skipif(not Path("/proc/sys/abi/vsyscall32").exists(), reason="this kernel runs no 32-bit programs")
def test_calls32(tmp_path):
    """int $0x80 in a 64-bit process goes through the 32-bit table as well: 20 is getpid there, writev in the other."""
    workload = r"""
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(b"\x53\xb8\x14\x00\x00\x00\xcd\x80\x5b\xc3")
call = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
for n in range(131): assert call() == os.getpid()
"""
    assert rows(run("calls32.d", workload, tmp_path)) == [["getpid", "131"]]


def test_rates(tmp_path):
    """The lines add up to what happened, though each second's counts are cleared."""
    workload = "for n in range(20011): os.getppid()\ntime.sleep(1.2)\nfor n in range(20011): os.getppid()"
    output = run("rates.d", workload, tmp_path)
    lines = [[int(word) for word in line.split()] for line in output.splitlines() if re.fullmatch(r"[\d ]+", line)]
    assert len(lines) >= 2
    assert sum(line[0] for line in lines) >= 2 * 20011
    assert sum(line[1] for line in lines) > 0
