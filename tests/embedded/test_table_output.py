"""`-o FILE.arrow` and `.parquet`: the tables have what the same recording gives as lines of JSON."""

import ast
import json
import subprocess
import sys
from itertools import groupby

import polars
import pyarrow as pa
import pytest
from support.files.table_rows import rows_of

PROGRAM = """
syscall::write:entry {
    @calls[execname, probefunc] = count();
    @sizes = quantize(arg2);
    @stacks[ustack()] = count();
    printf("%d %s", arg2, execname);
    trace(probefunc);
    tracemem(copyin(arg1, 2), 2);
    ustack();
}
syscall::write:return { trace(*(int *)0); }
syscall::exit_group:entry { printf("no value\\n"); exit(4); }
"""
COMMAND = "/bin/sh -c 'echo a; echo bcd; echo a'"


def sonde(folder, *words):
    command = [sys.executable, "-m", "sonde", "--engine", "embedded", "-q", *words]
    return subprocess.run(command, capture_output=True, cwd=folder, check=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """One recorded run, replayed into each format."""
    made = tmp_path_factory.mktemp("tables")
    done = sonde(made, "--record", "run", "--record-reads", "-o", "text", "-c", COMMAND, "-n", PROGRAM)
    assert done.returncode == 4, done.stderr
    for words in (
        ("-o", "t.arrow"),
        ("-o", "t.parquet"),
        ("-o", "p.parquet", "-xparquet=parts"),
        ("-o", "q.parquet/"),
        ("-fjson", "-ol", "--folded", "f"),
        ("-o", "d.arrow", "--folded", "g"),
    ):
        done = sonde(made, "--replay", "run", *words, "-n", PROGRAM)
        assert done.returncode == 4, done.stderr
    return made


@pytest.mark.long
def test_rows_are_the_lines_of_json(folder):
    lines = [json.loads(line) for line in (folder / "l").read_text().splitlines()]
    table = pa.ipc.open_stream(folder / "t.arrow").read_all()
    shift = int(table.schema.metadata[b"sonde.realtime_offset"])
    rows = rows_of(table)
    assert rows[-1]["event"] == "exit"
    assert rows[-1]["number"] == 4
    expected = [
        {"time": each["time"] + shift, "cpu": each["cpu"], "probe": each["probe"], **plain(each["values"])}
        for each in lines if each["type"] == "record"
    ]  # fmt: skip
    names = {name for each in expected for name in each}
    found = [
        plain({name: row[name] for name in row if name in names and row[name] is not None})
        for row in rows if row["event"] == "record"
    ]  # fmt: skip
    # Statements of one record have one time: here they may stand in another order.
    assert [sorted(map(repr, map(_sorted, group))) for _, group in groupby(found, lambda each: each["time"])] == [
        sorted(map(repr, map(_sorted, group))) for _, group in groupby(expected, lambda each: each["time"])
    ]
    errors = [row["text"] for row in rows if row["event"] == "error"]
    assert errors == [each["text"] for each in lines if each["type"] == "error"]
    assert len(errors) == 3


def _sorted(row):
    return sorted(row.items())


def plain(values):
    """Values of a row or a line, in one form."""
    return {name: _plain(value) for name, value in values.items()}


def _plain(value):
    match value:
        case bytes():
            return value.hex()
        case list():
            return [plain({name: each for name, each in frame.items() if each}) for frame in value]
        case _:
            return value


def asked(*questions):
    """The answers of duckdb. It tells of its own leaks at the end of a process, so it has one for itself."""
    code = "import duckdb, sys; print([duckdb.sql(each).fetchall() for each in sys.argv[1:]])"
    done = subprocess.run([sys.executable, "-c", code, *questions], capture_output=True, check=True)
    return ast.literal_eval(done.stdout.decode())


@pytest.mark.long
def test_each_reader_has_the_totals_that_are_printed(folder):
    frames = [
        polars.read_ipc_stream(folder / "t.arrow"), polars.read_parquet(folder / "t.parquet"),
        polars.read_parquet(folder / "p.parquet" / "*.parquet"),
    ]  # fmt: skip
    assert {frame["arg2"].sum() for frame in frames} == {8}
    named = polars.read_parquet(folder / "q.parquet" / "*.parquet")
    assert named["arg2"].to_list() == frames[-1]["arg2"].to_list()
    assert (folder / "q.calls.parquet").is_dir()
    questions = []
    for path in ("t", "p"):
        ending = ".parquet/*.parquet" if path == "p" else ".parquet"
        questions += (
            f"select sum(arg2), count(*) from '{folder}/{path}{ending}' where event = 'record'",
            f"select execname, probefunc, count from '{folder}/{path}.calls{ending}'",
        )
    assert asked(*questions) == [[(8, 13)], [("sh", "write", 3)]] * 2
    text = (folder / "text").read_text()
    assert "sh                                                  write" in text.replace("\t", " ")
    stacks = pa.ipc.open_stream(folder / "t.stacks.arrow").read_all()
    folded = [line.rpartition(" ")[2] for line in (folder / "f").read_text().splitlines()]
    assert sum(stacks.column("count").to_pylist()) == sum(map(int, folded)) == 3
    # What a picture shows is data as well, of the same run.
    drawn = pa.ipc.open_stream(folder / "d.stacks.arrow").read_all()
    lines = [json.loads(line) for line in (folder / "l").read_text().splitlines()]
    told = [row for each in lines if each.get("names") == ["stacks"] for row in each["rows"]]
    assert sum(drawn.column("count").to_pylist()) == sum(row["values"][0] for row in told) == 3
    assert (folder / "g").read_text() == (folder / "f").read_text()
    (shown,) = rows_of(pa.ipc.open_stream(folder / "t.sizes.arrow").read_all())
    assert shown["quantize"] == [{"low": 2, "high": 3, "count": 2}, {"low": 4, "high": 7, "count": 1}]


@pytest.mark.long
def test_a_stream_goes_to_the_standard_output_and_parquet_does_not(folder):
    done = sonde(folder, "-f", "arrow", "-n", "BEGIN { trace(7); @a = count(); exit(0); }")
    table = pa.ipc.open_stream(done.stdout).read_all()
    assert table.column("7").to_pylist()[0] == 7
    assert b"aggregation @a has no place in a stream" in done.stderr
    refused = sonde(folder, "-f", "parquet", "-n", "BEGIN { exit(0); }")
    assert refused.returncode == 1
    assert b"is not written to the standard output" in refused.stderr
