"""No reader of a table loses digits of an integer: pandas makes floats of columns with missing values, unless it is
told of its own types, and of integers within structures that may be missing."""

import io

import pandas as pd
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.files.records import PROBES

from sonde.formats.bpf_ring import RING_HEADER
from sonde.library.arrow_batches import KINDS, EventRow, RecordBatches
from sonde.library.arrow_extra import frame_of
from sonde.library.arrow_schema import table_columns
from sonde.library.values import Values
from sonde.model.records import PROBE_AT, Field, MemberSpec, PrintAction, RecordLayout, TraceAction, TypeSpec
from sonde.model.spec import TracingSpec
from sonde.report.symbolizer import NoNames

WIDTHS = [(size, signed) for size in (1, 2, 4, 8) for signed in (False, True)]
EDGES = [0, -1, 1 << 53, (1 << 53) + 1, (1 << 63) - 1, 1 << 63, (1 << 64) - 2]
TYPES = (
    TypeSpec("integer", "uint64_t", 8),
    TypeSpec("integer", "int64_t", 8, True),
    TypeSpec("struct", "struct", 8, members=(MemberSpec("deep", 0, 0),)),
    TypeSpec("array", "uint64_t[1]", 8, element=0),
    TypeSpec(
        "struct", "struct s", 40,
        members=(MemberSpec("low", 0, 0), MemberSpec("high", 1, 64), MemberSpec("inner", 2, 128),
                 MemberSpec("", 2, 192), MemberSpec("each", 3, 256), MemberSpec("bits", 0, 0, 61)),
    ),
)  # fmt: skip
HEAD = 16


def layout_of(number, *actions, names):
    return RecordLayout(number, HEAD + 48, actions, names=names)


LAYOUTS = [
    *(layout_of(place, TraceAction(Field(HEAD, size, "int", signed)), names=(f"n{size}{signed}",))
      for place, (size, signed) in enumerate(WIDTHS)),
    layout_of(len(WIDTHS), PrintAction(4, Field(HEAD, 40, "bytes")), names=("object",)),
    layout_of(len(WIDTHS) + 1, TraceAction(Field(HEAD, 16, "user_symbol", detail="usym")), names=("symbol",)),
]  # fmt: skip


def fitting(number, size, signed):
    return int.from_bytes((number & (1 << 64) - 1).to_bytes(8, "little")[:size], "little", signed=signed)


def table_of(numbers):
    """Records of each layout, and rows of other things among them, in which their columns are missing."""
    spec = TracingSpec((), (), tuple(LAYOUTS), (), (), PROBES, types=TYPES)
    values = Values(NoNames(), TYPES)
    batches = RecordBatches(table_columns(spec, values, 0), (), values, 0)
    batches.learn(PROBES)
    for layout in LAYOUTS:
        for number in numbers:
            word = (number & (1 << 64) - 1).to_bytes(8, "little")
            record = bytearray(HEAD) + word * 6
            record[PROBE_AT : PROBE_AT + 4] = PROBES[0].id.to_bytes(4, "little")
            batches.add(layout, memoryview(bytes(RING_HEADER) + record), RING_HEADER + len(record))
    batches.event(EventRow(KINDS.index("exit"), 1, "exit(0)", 0))
    return batches.take()


def columns_of(frame):
    """The values of each column that are there."""
    return {name: [each for each in frame[name] if each is not None and each is not pd.NA] for name in frame.columns}


def by_parquet(table):
    file = io.BytesIO()
    pq.write_table(table, file)
    return pd.read_parquet(file)


def by_stream(table):
    file = io.BytesIO()
    with pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)
    return pa.ipc.open_stream(file.getvalue()).read_all().to_pandas()


@pytest.mark.parametrize("read", [by_parquet, by_stream, frame_of])
@given(st.lists(st.integers(-(1 << 63), (1 << 64) - 1), min_size=1, max_size=3))
@example(EDGES)
def test_every_integer_has_all_of_its_digits(read, numbers):
    found = columns_of(read(table_of(numbers)))
    for size, signed in WIDTHS:
        assert [int(each) for each in found[f"n{size}{signed}"]] == [fitting(each, size, signed) for each in numbers]
        assert not any(isinstance(each, float) for each in found[f"n{size}{signed}"])
    for value, number in zip(found["object"], numbers, strict=True):
        word = number & (1 << 64) - 1
        assert (value["low"], value["high"]) == (word, fitting(number, 8, True))
        assert (value["inner"]["deep"], value["deep"], [*value["each"]]) == (word, word, [word])
        assert value["bits"] == word & (1 << 61) - 1
    assert [each["address"] for each in found["symbol"]] == [each & (1 << 64) - 1 for each in numbers]


def test_rows_without_a_structure_have_none():
    table = table_of(EDGES)
    table.validate(full=True)
    for name in ("object", "symbol"):
        assert table.column(name).null_count == table.num_rows - len(EDGES)
    file = io.BytesIO()
    pq.write_table(table, file)
    file.seek(0)
    assert polars.read_parquet(file)["object"].null_count() == table.num_rows - len(EDGES)
