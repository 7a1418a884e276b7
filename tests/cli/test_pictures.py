"""--flame and the profiles for other viewers, of what a command of known stacks does."""

import json
import os
import signal
import subprocess

import pytest
from support.command.command import build
from support.command.running import run, start
from support.machine.access import missing

from sonde.formats import folded, pprof, speedscope

PROGRAM = r"""
#include <stdio.h>
__attribute__((noinline)) long leaf(long n) {
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(3 /* close */), "D"(1000 + n) : "rcx", "r11", "memory");
    return result;
}
__attribute__((noinline)) long deep(long n) { return n ? deep(n - 1) + 1 : leaf(n) + 1; }
__attribute__((noinline)) long wide(long n) { return leaf(n) + 1; }
int main(int count, char **words) {
    for (int i = 0; i < 7; i++) deep(3);
    for (int i = 0; i < (count > 1 ? 22 : 11); i++) wide(i);
    return 0;
}
"""

DEEP, WIDE = ("main", "deep", "deep", "deep", "deep", "leaf"), ("main", "wide", "leaf")

LEAF = "syscall::close:entry /pid == $target && arg0 >= 1000/"

TRACED = f"{LEAF} {{ @[execname, ustack()] = count(); }}"


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    flags = ("-O0", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls")
    return build(tmp_path_factory.mktemp("stacks"), "stacks", PROGRAM, *flags)


@pytest.fixture(params=["kernel", "embedded"])
def engine(request):
    lacking = missing("CAP_BPF", "CAP_PERFMON") if request.param == "kernel" else ""
    if lacking:
        pytest.skip(lacking)
    return ("--engine", request.param)


def stacks(profile):
    """What each stack has come to, by the names from main on."""
    found = {}
    for stack, value in profile.stacks.items():
        names = [profile.frames[frame].name for frame in stack]
        shown = tuple(names[names.index("main") :] if "main" in names else names)
        found[shown] = found.get(shown, 0) + value
    return found


def data_of(path):
    """What a picture's script draws."""
    return json.loads(path.read_text().split('type="application/json">')[1].split("</script>")[0])


def traced(*words):
    done = run(*words)
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.long
def test_all_formats_tell_the_same(engine, program, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outputs = (
        "--flame",
        "a.html",
        "--flame",
        "a.svg",
        "--folded",
        "a.txt",
        "--speedscope",
        "a.json",
        "--pprof",
        "a.pb.gz",
    )
    done = traced(*engine, "-c", program, "-n", TRACED, *outputs)
    counted = {DEEP: 7, WIDE: 11}
    assert stacks(folded.read((tmp_path / "a.txt").read_text())) == counted
    assert stacks(speedscope.read((tmp_path / "a.json").read_text())) == counted
    profile = pprof.read((tmp_path / "a.pb.gz").read_bytes())
    assert stacks(profile) == counted
    assert profile.time > 10**18
    assert profile.duration > 0
    assert {profile.frames[stack[0]].name for stack in profile.stacks} == {"stacks"}
    for name in ("a.html", "a.svg"):
        data = data_of(tmp_path / name)
        names = [data["frames"][frame][0] for frame in data["nodes"][1]]
        widths = dict(zip(names, data["nodes"][2], strict=True))
        assert {name: widths[name] for name in ("all", "stacks", "main", "wide", "deep")} == {
            "all": 18, "stacks": 18, "main": 18, "wide": 11, "deep": 7
        }  # fmt: skip
    assert done.stderr.splitlines()[1:] == [
        "sonde: flame graph: a.html (2 stacks)", "sonde: flame graph: a.svg (2 stacks)",
        "sonde: folded stacks: a.txt (2 stacks)", "sonde: speedscope profile: a.json (2 stacks)",
        "sonde: pprof profile: a.pb.gz (2 stacks)",
    ]  # fmt: skip


@pytest.mark.long
def test_what_is_cleared_is_in_the_picture(engine, program, tmp_path):
    """A picture is of the whole run, whatever the program prints."""
    clauses = TRACED + "syscall::close:return /pid == $target && ++n % 5 == 0/ { trunc(@); } END { trunc(@); }"
    path = tmp_path / "a.txt"
    done = traced(*engine, "-qc", program, "-n", clauses, "--folded", str(path))
    assert done.stdout.strip() == ""
    assert stacks(folded.read(path.read_text())) == {DEEP: 7, WIDE: 11}


@pytest.mark.long
def test_each_aggregation_has_a_file(program, tmp_path):
    clauses = (
        LEAF
        + """{ @a[ustack(2)] = count(); @b[ustack(1)] = sum(arg0 - 1000); @c = count();
        @["x", ustack(1)] = quantize(arg0); @d[ustack(1)] = min(0); }"""
    )
    words = ("--engine", "embedded", "-qc", program, "-n", clauses)
    traced(*words, "--folded", str(tmp_path / "f.txt"), "--speedscope", str(tmp_path / "s.json"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["f._.txt", "f.a.txt", "f.b.txt", "f.d.txt", "s.json"]
    assert stacks(folded.read((tmp_path / "f.a.txt").read_text())) == {("deep", "leaf"): 7, ("wide", "leaf"): 11}
    # 0 + 1 + ... + 10; and a quantize counts values.
    assert stacks(folded.read((tmp_path / "f.b.txt").read_text())) == {("leaf",): 55}
    assert stacks(folded.read((tmp_path / "f._.txt").read_text())) == {("x", "leaf"): 18}
    assert (tmp_path / "f.d.txt").read_text() == ""
    assert [each["name"] for each in json.loads((tmp_path / "s.json").read_text())["profiles"]] == [
        "@a",
        "@b",
        "@",
        "@d",
    ]


def test_what_has_no_width_is_counted(program, tmp_path):
    clauses = LEAF + "{ @a[ustack(1)] = sum(1000 - arg0); @b = count(); }"
    done = traced("--engine", "embedded", "-c", program, "-n", clauses, "--flame", f"@a:{tmp_path}/x.svg")
    message = f"sonde: flame graph: {tmp_path}/x.svg (0 stacks; 1 left out, whose value is not above 0)"
    assert done.stderr.splitlines()[-1] == message


@pytest.mark.long
def test_two_runs_are_compared(program, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ("--engine", "embedded", "-q", "-n", TRACED, "-c")
    traced(*words, program, "--folded", "a.txt")
    traced(*words, f"{program} more", "--flame", "d.html", "--flame-diff", "a.txt", "--speedscope", "b.json")
    data = data_of(tmp_path / "d.html")
    names = [data["frames"][frame][0] for frame in data["nodes"][1]]
    numbers = dict(zip(names, zip(data["nodes"][2], data["nodes"][3], strict=True), strict=True))
    assert numbers["wide"] == (22, 11)
    assert numbers["stacks"] == numbers["main"] == (29, 18)
    assert data["title"] == "Flame graph of @ compared with a.txt"
    assert stacks(speedscope.read((tmp_path / "b.json").read_text())) == {DEEP: 7, WIDE: 22}


@pytest.mark.long
def test_two_aggregations_are_compared(program, tmp_path):
    clauses = LEAF + "{ @first[ustack()] = count(); }" + LEAF + "{ @second[ustack()] = count(); }"
    path = tmp_path / "d.html"
    traced("--engine", "embedded", "-qc", program, "-n", clauses, "--flame", str(path), "--flame-diff", "@first")
    assert "Flame graph of @second compared with @first" in path.read_text()


def test_an_interrupted_trace_has_its_picture(tmp_path):
    lacking = missing("CAP_BPF", "CAP_PERFMON")
    if lacking:
        pytest.skip(lacking)
    path = tmp_path / "a.txt"
    clauses = (
        'BEGIN { printf("ready\\n"); } syscall::getppid:entry /pid == $target/ { @[stack(), ustack(3)] = count(); }'
    )
    shell = subprocess.Popen(["sleep", "60"])
    process = start("-qp", str(shell.pid), "-n", clauses, "--folded", str(path))
    try:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate()
        assert process.returncode == 0, errors
        assert path.read_text() == ""
    finally:
        for each in (process, shell):
            each.kill()
            each.wait()


KEYED = "BEGIN { @s[ustack()] = count(); @n = count(); exit(0); }"


@pytest.mark.share(1)
@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (["--flame", "@n:a.html"], "--flame: @n is not keyed by stack() or ustack()",
         "such as: profile-997 { @[ustack()] = count() }"),
        (["--folded", "no/where"], "failed to open folded stacks 'no/where': No such file or directory", ""),
        (["--flame-diff", "a"], "--flame-diff says what a flame graph is compared with: --flame FILE is wanted, too",
         ""),
        (["--flame", "a.svg", "--flame-diff", "b"], "failed to open b: No such file or directory", ""),
        (["--heatmap", "a.html"], "--heatmap: no aggregation of the program is a quantize, lquantize or llquantize",
         "such as: syscall::read:return { @ = quantize(arg0) }"),
    ],
)  # fmt: skip
def test_what_cannot_be_drawn_is_told_before_tracing(words, message, hint, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run("--engine", "embedded", "-c", "true", "-qn", KEYED, *words)
    assert done.returncode == 1
    assert done.stderr == f"sonde: {message}\n" + (f"  {hint}\n" if hint else "")
    assert os.listdir(tmp_path) == []


def test_a_file_that_cannot_be_compared_with_is_told(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("no number\n")
    done = run("--engine", "embedded", "-c", "true", "-qn", KEYED, "--flame", "x.svg", "--flame-diff", "a.txt")
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "sonde: a.txt cannot be used: line 1 has no number behind its stack",
        "  folded stacks, speedscope's JSON and pprof's profiles can be read",
    ]
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.long
def test_stacks_that_may_be_cut_off_are_told(engine, program, tmp_path):
    clauses = LEAF + "{ @[ustack()] = count(); }"
    path = tmp_path / "x.html"
    done = traced(*engine, "-c", program, "-xustackframes=4", "-n", clauses, "--flame", str(path))
    assert done.stderr.splitlines()[-1] == f"sonde: flame graph: {path} (2 stacks; 2 cut at 4 frames)"
    assert "2 cut at 4 frames" in data_of(path)["subtitle"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("raw", "a.raw", "--flame", "a.html"),
         "raw makes no pictures: the names of what has run are known only while it is traced"),
        (("--object", "a.o", "--heatmap", "a.html"),
         "--object has no pictures: --flame, --heatmap and the like are of D's aggregations"),
    ],
)  # fmt: skip
def test_what_has_no_pictures_says_so(words, message):
    done = run(*words)
    assert (done.returncode, done.stderr.splitlines()[0]) == (1, f"sonde: {message}")


@pytest.mark.long
def test_a_file_that_takes_no_more_is_told_and_the_others_are_written(program, tmp_path):
    words = ("--folded", "/dev/full", "--speedscope", str(tmp_path / "a.json"))
    done = run("--engine", "embedded", "-c", program, "-n", TRACED, *words)
    assert done.returncode == 1
    assert done.stderr.splitlines()[1:] == [
        f"sonde: speedscope profile: {tmp_path}/a.json (2 stacks)",
        "sonde: failed to write '/dev/full': No space left on device",
    ]
    assert stacks(speedscope.read((tmp_path / "a.json").read_text())) == {DEEP: 7, WIDE: 11}


def test_a_saved_program_has_pictures(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if lacking := missing("CAP_BPF", "CAP_PERFMON"):
        pytest.skip(lacking)
    clauses = "syscall::getppid:entry { @s[stack()] = count(); @q = quantize(pid); } BEGIN { exit(0); }"
    traced("-n", clauses, "--save", "saved.json")
    traced("--spec", "saved.json", "-q", "--flame", "a.svg", "--heatmap", "b.html")
    assert data_of(tmp_path / "a.svg")["title"] == "Flame graph of @s"
    assert data_of(tmp_path / "b.html")["title"] == "Heat map of @q"


@pytest.mark.long
def test_a_trace_that_fails_leaves_a_file_as_it_was(tmp_path):
    (tmp_path / "old.txt").write_text("main 1\n")
    words = ("--folded", str(tmp_path / "old.txt"), "--speedscope", str(tmp_path / "new.json"))
    done = run("--engine", "embedded", "-c", "/no/such/command", "-qn", KEYED, *words)
    assert done.returncode == 1
    assert (tmp_path / "old.txt").read_text() == "main 1\n"
    assert not (tmp_path / "new.json").exists()


PHASES = r"""
#include <unistd.h>
int main(void) {
    for (int phase = 0; phase < 3; phase++) {
        for (int i = 0; i < 40; i++) close(phase == 1 ? 5000 : 2000 + i);
        usleep(400000);
    }
    return 0;
}
"""


def test_a_heat_map_shows_values_over_time(engine, tmp_path):
    """2,000 to 2,047, then 5,000, then the first again; none is lost, whatever is cleared."""
    program = build(tmp_path, "phases", PHASES)
    clauses = """syscall::close:entry /pid == $target && arg0 >= 1000/ { @[execname] = quantize(arg0); }
        syscall::nanosleep:entry,syscall::clock_nanosleep:entry /pid == $target/ { clear(@); trunc(@); }"""
    path = tmp_path / "h.html"
    words = ["--heatmap", str(path), "--heatmap", str(tmp_path / "h.svg")]
    if "kernel" in engine:
        # Looks have a rate of their own, however rarely the ring is read.
        words.append("-xswitchrate=1s")
    done = traced(*engine, "-c", program, "-xheatrate=50ms", "-n", clauses, *words)
    data = data_of(path)
    assert data == data_of(tmp_path / "h.svg")
    assert [label for label, _ in data["rows"]] == ["1,024", "2,048", "4,096"]
    assert [name for name, _ in data["series"]] == ["all", "phases"]
    numbers = data["series"][0][1]
    cells = [numbers[at : at + 3] for at in range(0, len(numbers), 4)]
    columns = {row: [column for column, place, _ in cells if place == row] for row in (0, 1, 2)}
    assert [sum(number for _, row, number in cells if row == place) for place in (0, 1, 2)] == [80, 0, 40]
    assert min(columns[0]) < min(columns[2]) <= max(columns[2]) < max(columns[0])
    # The phases are 0.4 s apart.
    between = data["edges"][min(columns[2]) + 1] - data["edges"][min(columns[0])]
    assert between > 4 * 10**8
    assert len(data["edges"]) > 4
    assert f"sonde: heat map: {path} (120 values in {len(data['edges']) - 1} columns)" in done.stderr.splitlines()
