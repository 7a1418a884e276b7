"""Tables of Arrow: the records that the library gives, for layouts drawn by chance, and files cut anywhere."""

import errno
import io
import os
from types import SimpleNamespace

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.files.drawn_records import PROBE, PROBES, STRINGS, drawn_records
from support.files.records import PROBES as SPEC_PROBES
from support.files.table_rows import rows_of

from sonde.library.arrow_aggregations import AggregationTables
from sonde.library.arrow_batches import KINDS, EventRow, RecordBatches
from sonde.library.arrow_schema import FIXED, table_columns
from sonde.library.arrow_values import fitting, object_type
from sonde.library.data import table_files
from sonde.library.data.table_files import ParquetParts, StreamFile
from sonde.library.errors import Error
from sonde.library.events import Aggregation
from sonde.library.histograms import Quantize
from sonde.library.objects import object_value
from sonde.library.record_reader import record_reader
from sonde.library.scalars import Average, Count
from sonde.library.values import Values
from sonde.model.records import AggregationSpec, Field, MemberSpec, TypeSpec
from sonde.model.spec import TracingSpec
from sonde.report.symbolizer import NoNames

OFFSET = 1_000_003
VALUES = Values(NoNames())


def spec_of(*layouts):
    return TracingSpec((), (), layouts, (), STRINGS, (*SPEC_PROBES, PROBE))


def batches_of(spec):
    made = RecordBatches(table_columns(spec, VALUES, OFFSET), STRINGS, VALUES, OFFSET)
    made.learn(spec.probes)
    return made


@pytest.mark.long
@given(drawn_records())
def test_rows_are_those_of_the_records(drawn):
    """Two ways from the same bytes: columns at once, and the library's events one by one."""
    spec = spec_of(drawn.layout)
    batches = batches_of(spec)
    batches.add(drawn.layout, memoryview(drawn.data), drawn.stride)
    table = batches.take()
    table.validate(full=True)
    read = record_reader(drawn.layout, STRINGS, drawn.stride, PROBES, VALUES)(memoryview(drawn.data))
    columns = table_columns(spec, VALUES, OFFSET)
    statements = columns.statements[drawn.layout.number]
    expected = []
    # Statements of a record have its time: a statement's rows stand together, in the order of the statements.
    for place, statement in enumerate(statements):
        for each in read[place :: len(statements)]:
            values = zip(statement.columns, each.values, strict=True)
            found = {columns.schema.names[at]: fitting(value, columns.schema.types[at]) for at, value in values}
            time = each.time + OFFSET if drawn.layout.time is not None else None
            row = {"event": "record", "time": time, "cpu": each.cpu, "probe": str(each.probe), **found}
            expected.append(dict.fromkeys(columns.schema.names) | row)
    assert rows_of(table) == expected


@pytest.fixture
def schema():
    fields = [("number", pa.int64()), ("text", pa.dictionary(pa.int32(), pa.string()))]
    return pa.schema(fields, {"sonde.realtime_offset": "0"})


def table_of(schema, first, count):
    texts = pa.array([f"t{first % 3}"] * count, pa.string()).dictionary_encode()
    return pa.Table.from_arrays([pa.array(range(first, first + count)), texts], schema=schema)


def test_a_stream_cut_before_any_write_is_whole_up_to_there(schema, tmp_path, monkeypatch):
    """What is on the disk before each write is what SIGKILL leaves."""
    path = tmp_path / "a.arrow"
    states = []
    own = table_files._write_at

    def noted(*words):
        states.append(path.read_bytes())
        own(*words)

    monkeypatch.setattr(table_files, "_write_at", noted)
    file = StreamFile(str(path), schema)
    counts = (3, 1, 7)
    written = 0
    for count in counts:
        file.write(table_of(schema, written, count))
        written += count
    file.close()
    states.append(path.read_bytes())
    ends = {sum(counts[:each]) for each in range(4)}
    found = []
    for state in states[2:]:  # From the schema on.
        rows = pa.ipc.open_stream(io.BytesIO(state)).read_all()
        assert rows.column("number").to_pylist() == [*range(rows.num_rows)]
        found.append(rows.num_rows)
    assert set(found) == ends
    assert found == sorted(found)


def test_parts_have_their_names_when_they_are_whole(schema, tmp_path):
    folder = tmp_path / "a.parquet"
    file = ParquetParts(str(folder), schema)
    file.write(table_of(schema, 0, 3))
    file.settle()
    file.write(table_of(schema, 3, 5))
    assert pa.parquet.read_table(folder).num_rows == 3
    file.close()
    assert pa.parquet.read_table(folder).column("number").to_pylist() == [*range(8)]
    assert len([*folder.iterdir()]) == 2
    file = ParquetParts(str(folder), schema)
    file.settle()
    # A folder that takes no files is told before anything is written to it.
    assert [each.suffix for each in folder.iterdir()] == [".open"]
    file.close()
    assert pa.parquet.read_table(folder).num_rows == 0


def test_a_folder_that_takes_no_files_is_told_at_once(schema, tmp_path, monkeypatch):
    def refused(folder, name):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), name)

    monkeypatch.setattr(table_files.Folder, "create", refused)
    with pytest.raises(Error, match=r"failed to open output file .*a\.parquet/\.part-000001\.open': Permission denied"):
        ParquetParts(str(tmp_path / "a.parquet"), schema)


def test_a_folder_with_parts_of_others_is_left_alone(schema, tmp_path):
    """Also those of sonde that are there."""
    folder = tmp_path / "a.parquet"
    ParquetParts(str(folder), schema).close()
    (folder / "part-0.parquet").write_bytes(b"others call theirs so")
    (folder / "notes").write_text("mine")
    pa.parquet.write_table(table_of(schema, 0, 3).replace_schema_metadata(None), folder / "part-000007.parquet")
    before = {path: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(Error, match=r"a\.parquet/part-000007\.parquet' is no table of an earlier trace") as refused:
        ParquetParts(str(folder), schema)
    assert "a folder of their own" in refused.value.remedy
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
    (folder / "part-000007.parquet").unlink()
    (folder / ".part-000003.open").write_bytes(b"PAR1")
    ParquetParts(str(folder), schema).close()
    assert sorted(each.name for each in folder.iterdir()) == ["notes", "part-0.parquet", "part-000001.parquet"]


def test_events_are_rows_among_the_records():
    batches = batches_of(spec_of())
    batches.event(EventRow(KINDS.index("loss"), 17, "17 drops", 17, 3))
    batches.event(EventRow(KINDS.index("error"), 5, "wrong", probe="a:b:c:d"))
    rows = rows_of(batches.take())
    assert [row["event"] for row in rows] == ["error", "loss"]
    assert (rows[1]["number"], rows[1]["text"], rows[1]["cpu"]) == (17, "17 drops", 3)
    assert batches.is_empty


KEYS = (Field(0, 8, "string"), Field(8, 4, "int", True))


def test_aggregations_are_keys_and_values():
    specs = (
        AggregationSpec("calls", "count", (), KEYS, 16, 1, "a", False),
        AggregationSpec("mean", "avg", (), KEYS, 16, 2, "b", False),
        AggregationSpec("sizes", "quantize", (), (), 0, 127, "c", False),
    )
    tables = AggregationTables(SimpleNamespace(aggregations=specs, arrays=(), types=()))
    shown = Aggregation(
        ("calls", "mean"), {("x", 1): (Count((3,)), None), ("\udcff", 2): (Count((5,)), Average((2, 5)))}
    )
    found = tables.tables(shown, 7)
    assert [list(row.values())[1:] for row in rows_of(found["calls"])] == [["x", 1, 3], ["\\xff", 2, 5]]
    assert [list(row.values())[1:] for row in rows_of(found["mean"])] == [["\\xff", 2, 2.5]]
    histogram = Quantize(tuple(2 * (64 <= place < 66) for place in range(127)))
    (row,) = rows_of(tables.tables(Aggregation(("sizes",), {(): (histogram,)}), 7)["sizes"])
    assert row["quantize"] == [each._asdict() for each in histogram.buckets]


TYPES = (
    TypeSpec("integer", "int", 4, True),
    TypeSpec("char", "char", 1, True),
    TypeSpec("array", "char[4]", 4, element=1),
    TypeSpec("enum", "enum e", 4, values=(("ONE", 1),)),
    TypeSpec("array", "int[2]", 8, element=0),
    TypeSpec("float", "double", 8),
    TypeSpec("struct", "struct", 0),
    TypeSpec(
        "struct", "struct s", 40,
        members=(MemberSpec("n", 0, 0), MemberSpec("text", 2, 32), MemberSpec("e", 3, 64), MemberSpec("l", 4, 96),
                 MemberSpec("d", 5, 160), MemberSpec("empty", 6, 224), MemberSpec("bit", 0, 224, 3)),
    ),
)  # fmt: skip


@given(st.binary(min_size=40, max_size=40).filter(lambda data: data[23] & 0x7F != 0x7F and data[27] & 0x7F != 0x7F))
def test_objects_have_a_type_of_their_own(data):
    wanted = object_type(TYPES, 7, len(data))
    value = object_value(TYPES, 7, data)
    found = pa.array([fitting(value, wanted)], wanted).to_pylist()[0]
    assert (found["n"], found["l"], found["bit"]) == (value["n"], value["l"], value["bit"])
    assert found["e"] == str(value["e"])
    assert found["d"] == value["d"]


def test_no_value_has_the_name_of_a_fixed_column():
    names = [name for name, _ in FIXED]
    assert len({*names}) == len(names)
