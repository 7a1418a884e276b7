"""Runs as tables of Arrow: made of records, or of what was recorded at once."""

import polars
import pyarrow as pa
import pytest
from support.files.table_rows import rows_of

import sonde

PROGRAM = """
syscall::write:entry { @calls[execname] = count(); printf("%d %s", arg2, execname); trace(probefunc); ustack(2); }
syscall::write:return { trace(*(int *)0); }
END { tracemem(alloca(3), 2); exit(3); }
"""


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    path = tmp_path_factory.mktemp("tables") / "run"
    with sonde.trace(
        PROGRAM, ["/bin/sh", "-c", "echo a; echo bcd"], engine="embedded", options={"record": str(path)}
    ) as run:
        run.wait()
    return str(path)


def run_of(recording, output):
    return sonde.trace(PROGRAM, engine="embedded", options={"replay": recording}, output=output)


@pytest.mark.long
def test_both_ways_give_one_table(recording):
    tables = []
    for output in (None, "arrow"):
        with run_of(recording, output) as run:
            tables.append(run.to_arrow())
        assert run.exit_status == 3
    assert tables[0].schema.names == tables[1].schema.names
    assert tables[0].schema.types == tables[1].schema.types
    one, other = ([_plain(row) for row in rows_of(table)] for table in tables)
    assert sorted(map(repr, one)) == sorted(map(repr, other))
    assert tables[0].column("arg2").drop_null().to_pylist() == [2, 4]
    assert tables[0].column("event").to_pylist().count("error") == 2


def _plain(row):
    # Events that are no records have the time at which they are told.
    return {name: value for name, value in row.items() if name != "time" or row["event"] == "record"}


@pytest.mark.long
@pytest.mark.parametrize("output", [None, "arrow"])
def test_readers_of_arrow_take_runs_and_aggregations(recording, output):
    with run_of(recording, output) as run:
        frame = polars.DataFrame(run)
    assert frame["arg2"].sum() == 6
    assert frame["event"].to_list().count("record") == 7
    calls = pa.table(run.aggregations["calls"])
    assert calls.drop_columns(["time"]).to_pylist() == [{"execname": "sh", "count": 2}]


def test_integers_of_data_frames_stay_integers(recording):
    with run_of(recording, "arrow") as run:
        frame = run.to_pandas()
    assert str(frame["arg2"].dtype) == "Int64"
    assert frame["arg2"].sum() == 6
    assert str(frame["execname"].dtype) == "category"
    assert run.aggregations["calls"].to_pandas()["count"].sum() == 2


def test_batches_have_the_names_of_aggregations(recording):
    with run_of(recording, "arrow") as run:
        events = [*run]
    batches = [each for each in events if isinstance(each, sonde.TableBatch)]
    assert {each.name for each in batches} == {None, "calls"}
    assert len([each for each in events if isinstance(each, sonde.ProbeError)]) == 2


def test_text_is_no_table(recording):
    with run_of(recording, "text") as run, pytest.raises(sonde.Error, match="gives text"):
        run.to_arrow()
