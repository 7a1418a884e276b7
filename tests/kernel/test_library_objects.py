"""BPF objects, and the files that a run writes, through the library."""

import subprocess
import sys

import pytest
from support.bpf.bpf_objects import BOTH, compiled

import sonde

GETPPIDS = [sys.executable, "-c", "import os; [os.getppid() for _ in range(37)]"]

SOURCE = """
const volatile u32 target; const volatile int step = 1; const volatile _Bool wanted;
struct { __uint(type, 1); __uint(max_entries, 64); __type(key, u32); __type(value, u64); } counts SEC(".maps");
u64 events, raw;
static __attribute__((always_inline)) int mine(void) { return bpf_get_current_pid_tgid() >> 32 == target; }
SEC("tracepoint/syscalls/sys_enter_getppid") int event(void *context)
{
    if (mine() && wanted) events += step;
    return 0;
}
SEC("raw_tp/sys_enter") int raw_entry(u64 *context)
{
    if (mine() && context[1] == 110) __sync_fetch_and_add(&raw, 1);
    return 0;
}
"""


def values(run):
    text = b"".join(event.text for event in run if isinstance(event, sonde.Text)).decode()
    return dict(line.split(" = ", 1) for line in text.splitlines() if " = " in line)


@pytest.fixture(params=BOTH)
def path(request):
    return compiled(SOURCE, request.param)


@pytest.mark.share(1)
def test_an_object_is_run_as_often_as_wanted(path):
    script = sonde.load_object(path, variables={"target": "$target", "step": 3, "wanted": True})
    assert script.programs == {"event": "tracepoint/syscalls/sys_enter_getppid", "raw_entry": "raw_tp/sys_enter"}
    assert not script.destructive
    assert all(script.verify())
    assert all("r1 = ctx" in verdict.listing for verdict in script.verify(listing=True))
    assert "call" in script.disassemble()
    for _ in range(2):
        with script.run(GETPPIDS) as run:
            found = values(run)
        assert (found["events"], found["raw"]) == ("111", "37")
        assert (run.exit_status, run.command_status) == (0, 0)


@pytest.mark.share(1)
def test_a_program_is_left_out(path):
    script = sonde.load_object(path, variables={"target": "$target"}, programs={"event": False})
    assert list(script.programs) == ["raw_entry"]
    with script.run(GETPPIDS) as run:
        assert values(run)["raw"] == "37"


def test_an_object_is_stopped_by_its_clock_and_by_its_block(path):
    with sonde.load_object(path).run(duration=0.2, maps=False) as run:
        assert run.wait() == 0
    with sonde.load_object(path).run() as run:
        pass
    assert run.exit_status == 0


@pytest.mark.share(1)
def test_what_an_object_writes_goes_to_a_file(path, tmp_path):
    script = sonde.load_object(path, variables={"target": "$target", "wanted": 1})
    with open(tmp_path / "out", "wb") as file, script.run(GETPPIDS, output=file) as run:
        assert run.wait() == 0
    assert "events = 37" in (tmp_path / "out").read_text()


def test_objects_that_cannot_be_used(path, tmp_path):
    with pytest.raises(sonde.ScriptError, match="no global variable nothing"):
        sonde.load_object(path, variables={"nothing": 1})
    other = tmp_path / "other"
    other.write_bytes(b"\x7fELF")
    with pytest.raises(sonde.ScriptError, match="cannot be loaded"):
        sonde.load_object(str(other))
    with pytest.raises(sonde.ScriptError, match="failed to open"):
        sonde.load_object(str(tmp_path / "nowhere"))


STATEMENTS = "syscall::getppid:entry /pid == $target/ { @calls[probefunc] = count(); trace(pid); }"


@pytest.mark.long
def test_files_of_a_run_are_those_of_the_command(tmp_path):
    """What --raw, --folded and `record` write, and events besides."""
    raw, folded, recording = (str(tmp_path / each) for each in ("raw", "folded", "perf.data"))
    stacks = STATEMENTS + " syscall::getppid:entry /pid == $target/ { @stacks[ustack()] = count(); }"
    files = sonde.Files(raw=raw, recording=recording, pictures=(("folded", f"{folded}"),))
    with sonde.trace(stacks, GETPPIDS, options={"output": "perf"}, files=files) as run:
        records = [event for event in run if isinstance(event, sonde.Record)]
    assert len(records) == 37
    for command in ("raw", "read"):
        shown = subprocess.run(
            [sys.executable, "-m", "sonde", command, "-q", raw if command == "raw" else recording],
            capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
        assert shown.count(str(records[0].values[0])) == 37
    counted = [line.rpartition(" ")[2] for line in (tmp_path / "folded").read_text().splitlines()]
    assert sum(map(int, counted)) == 37


def test_packets_of_a_run_go_to_their_file(tmp_path):
    path = str(tmp_path / "x.pcapng")
    sending = "import socket; [socket.socket(type=2).sendto(b'x', ('127.0.0.1', 9)) for _ in range(7)]"
    script = sonde.compile("packet:lo:ingress: { trace(cpu); capture(64); @ = count(); }")
    with script.run([sys.executable, "-c", sending], files=sonde.Files(captures=path)) as run:
        run.wait()
    assert run.aggregations["_"][()] >= 7
    assert (tmp_path / "x.pcapng").read_bytes()[:4] == b"\x0a\x0d\x0d\x0a"


def test_a_file_that_cannot_be_written_is_told_before_tracing(tmp_path):
    nowhere = str(tmp_path / "none" / "x")
    for files in (
        sonde.Files(raw=nowhere),
        sonde.Files(recording=nowhere),
        sonde.Files(pictures=(("flame", f"{nowhere}.svg"),)),
    ):
        program = "profile-97 { @[ustack()] = count(); }"
        with (
            pytest.raises(sonde.Error, match="failed to"),
            sonde.trace(program, duration=0.1, options={"output": "perf"}, files=files) as run,
        ):
            run.wait()
