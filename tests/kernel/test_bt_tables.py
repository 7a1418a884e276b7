"""Programs of bpftrace's language as data: tables in files, and runs of the library, have what the text shows."""

import polars
import pyarrow as pa
import pytest
from support.command.command import sonde

import sonde as library

WORKLOAD = """
import os
open("/proc/self/comm", "w").write("asks")
for number in range(101):
    os.getpgid(0)
"""

PROGRAM = """
tracepoint:syscalls:sys_enter_getpgid /pid == cpid && comm == "asks"/ {
    @calls[comm] = count(); @sizes = lhist(args.pid, 0, 10, 5); @last[args.pid, comm] = (1, comm); @number = 7;
    @stacks[kstack(2)] = count(); @addresses[ntop(16777343)] = sum(3); @text = comm;
    printf("%d %s %s\\n", args.pid, comm, ntop(16777343));
    print((5, comm));
    print(kstack(2));
    time("%H");
}
"""


@pytest.fixture
def command(tmp_path):
    script = tmp_path / "asks.py"
    script.write_text(WORKLOAD)
    return f"python3 {script}"


def rows(path):
    return polars.read_parquet(path).drop("time").rows(named=True)


@pytest.mark.long
def test_tables_have_what_the_program_shows(command, tmp_path):
    path = tmp_path / "asks.parquet"
    done = sonde("bt", "-q", "-o", str(path), "-e", PROGRAM, "-c", command)
    assert done.stderr.count("time() is for output as text") == 1
    events = rows(path)
    records = [each for each in events if each["event"] == "record"]
    assert len(records) == 3 * 101
    assert events[-1]["event"] == "exit"
    formatted = [each for each in records if each["comm"] == "asks"]
    assert len(formatted) == 101
    assert {(each["args.pid"], each["ntop(16777343)"]) for each in formatted} == {(0, "127.0.0.1")}
    assert sum(each["(5, comm)"] == {"0": 5, "1": "asks"} for each in records) == 101
    stacks = [each["kstack(2)"] for each in records if each["kstack(2)"]]
    assert len(stacks) == 101
    beside = {
        name: rows(tmp_path / f"asks.{name}.parquet") for name in ("calls", "last", "number", "addresses", "text")
    }
    assert beside == {
        "calls": [{"comm": "asks", "count": 101}],
        "last": [{"args.pid": 0, "comm": "asks", "value": {"0": 1, "1": "asks"}}],
        "number": [{"value": 7}],
        "addresses": [{"ntop(16777343)": "127.0.0.1", "sum": 303}],
        "text": [{"value": "asks"}],
    }
    assert rows(tmp_path / "asks.sizes.parquet") == [{"lquantize": [{"low": 0, "high": 4, "count": 101}]}]
    (counted,) = rows(tmp_path / "asks.stacks.parquet")
    assert counted == {"kstack(2)": stacks[0], "count": 101}


@pytest.mark.long
def test_a_stream_has_the_same_records(command, tmp_path):
    path = tmp_path / "asks.arrow"
    sonde("bt", "-q", "-o", str(path), "-e", PROGRAM, "-c", command)
    table = pa.ipc.open_stream(path).read_all()
    assert table.column("event").to_pylist().count("record") == 3 * 101
    assert pa.ipc.open_stream(tmp_path / "asks.calls.arrow").read_all().column("count").to_pylist() == [101]


@pytest.mark.long
def test_a_name_with_a_slash_is_a_folder_of_parts(command, tmp_path):
    path = tmp_path / "asks.parquet"
    sonde("bt", "-q", "-o", f"{path}/", "-e", PROGRAM, "-c", command)
    assert {each.suffix for each in path.iterdir()} == {".parquet"}
    assert polars.read_parquet(path / "*.parquet")["event"].to_list().count("record") == 3 * 101
    assert polars.read_parquet(tmp_path / "asks.calls.parquet" / "*.parquet")["count"].to_list() == [101]


def test_formats_of_the_command_stay_its_own(command, tmp_path):
    path = tmp_path / "asks.arrow"
    sonde("bt", "-q", "-f", "json", "-o", str(path), "-e", PROGRAM, "-c", command)
    assert path.read_text().startswith('{"type": "printf"')
    done = sonde("bt", "--test", "-o", str(path), "-e", "test:it { }", status=1)
    assert "tests and measurements have no tables" in done.stderr


@pytest.mark.share(1)
@pytest.mark.parametrize("output", [None, "arrow"])
def test_a_run_of_the_library_has_them_too(command, output):
    with library.trace(PROGRAM, command, language="bpftrace", output=output) as run:
        table = run.to_arrow()
    assert table.column("event").to_pylist().count("record") == 3 * 101
    assert [each for each in table.column("comm").to_pylist() if each] == ["asks"] * 101
    found = run.aggregations
    assert found["calls"]["asks",] == 101
    assert found["number"][()] == 7
    assert found["last"][0, "asks"] == {"0": 1, "1": "asks"}
    assert found["addresses"]["127.0.0.1"] == 303
    (stack,) = found["stacks"]
    assert stack[0][0].function == "syscall_trace_enter" or not stack[0][0].function.startswith("__bpf_trace")
    assert found["last"].to_arrow().drop_columns(["time"]).to_pylist() == [
        {"args.pid": 0, "comm": "asks", "value": {"0": 1, "1": "asks"}}
    ]


def test_maps_are_events_where_the_program_shows_them(command):
    probe = 'tracepoint:syscalls:sys_enter_getpgid /pid == cpid && comm == "asks"/'
    program = f"{probe} {{ @[args.pid] = count(); @n++; print(@n); }}"
    with library.trace(program, command, language="bpftrace") as run:
        shown = [event for event in run if isinstance(event, library.Aggregation)]
    assert [each.rows for each in shown if each.names == ("n",)][-1] == {(): (101,)}
    assert [each.rows for each in shown if each.names == ("_",)] == [{(0,): (library.Count((101,)),)}]


@pytest.mark.long
def test_the_kernel_s_stack_is_that_of_the_text(command, tmp_path):
    """What stands between the probed code and the program is no part of it, in D neither."""
    program = 'syscall::getpgid:entry /execname == "asks"/ { stack(2); exit(0); }'
    with library.trace(program, command) as run:
        (record, *_) = [event for event in run if isinstance(event, library.Record)]
    text = sonde("-qn", program, "-c", command).stdout.split()
    assert [str(each) for each in record[0]] == text


def test_scripts_are_loaded_by_their_names(command, tmp_path):
    script = tmp_path / "asks.bt"
    script.write_text('tracepoint:syscalls:sys_enter_getpgid /pid == cpid && comm == "asks"/ { @ = count(); }')
    with library.load(str(script)).run(command) as run:
        run.wait()
    assert run.aggregations["_"][()] == 101
