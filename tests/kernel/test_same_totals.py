"""One run, seen everywhere: in a Parquet file read by polars and by duckdb, by a Prometheus server, as folded stacks,
and in a notebook that replays what was recorded of it."""

import signal
from collections import Counter
from contextlib import closing

import duckdb
import nbclient
import nbformat
import polars
import pytest
from support.command.command import build
from support.command.prometheus import PrometheusServer
from support.machine import packages
from test_export import READER, Exported, port_that_is_free, started

PROGRAM = """
syscall::read:entry /pid == $target/ {
    @calls[execname, probefunc] = count(); @sizes = quantize(arg2); @bytes = sum(arg2); @stacks[ustack(9)] = count();
    trace(arg2);
}
"""
SIZES = [i % 64 for i in range(101)]


def in_notebook(folder):
    """What a notebook shows of the recorded run."""
    notebook = nbformat.v4.new_notebook()
    notebook.cells = [
        nbformat.v4.new_code_cell(each)
        for each in (
            "%load_ext sonde",
            f"%%sonde -x replay={folder}/run\n{PROGRAM}",
            "found = trace.aggregations\n"
            "sizes = {each.high: each.count for each in found['sizes'][()].buckets if each.count}\n"
            "folded = found['stacks'].flame_graph().folded\n"
            "values = trace.to_arrow().column('arg2').drop_null().to_pylist()\n"
            "int(found['calls']['reader', 'read']), int(found['bytes'][()]), sizes, folded, values",
        )
    ]
    nbclient.NotebookClient(notebook, timeout=None, kernel_name="python3").execute()
    return eval(notebook.cells[2].outputs[0].data["text/plain"])


@pytest.mark.long
@packages.needs("prometheus")
def test_all_show_the_same_totals(tmp_path):
    program = build(tmp_path, "reader", READER)
    path = tmp_path / "run.parquet"
    words = ("--record", str(tmp_path / "run"), "-o", str(path), "--folded", f"@stacks:{tmp_path}/folded")
    with (
        started(program) as process,
        closing(Exported("-p", str(process.pid), *words, "-n", PROGRAM)) as exported,
        closing(PrometheusServer(exported.address, tmp_path, port_that_is_free())) as server,
    ):
        server.wait("sonde_export_info")
        process.send_signal(signal.SIGUSR1)
        scraped = server.wait("sonde_calls_total == 101")
        by_server = {
            "calls": sum(scraped.values()),
            "bytes": server.query("sonde_bytes_total")[()],
            "stacks": sum(server.query("sonde_stacks_total").values()),
            "sizes": {float(dict(each)["le"]): n for each, n in server.query("sonde_sizes_bucket").items()},
        }
    records = polars.read_parquet(path)["arg2"].drop_nulls().to_list()
    assert records == SIZES
    assert duckdb.sql(f"select sum(arg2), count(arg2) from '{path}'").fetchall() == [(sum(SIZES), 101)]
    assert duckdb.sql(f"select sum(count) from '{tmp_path}/run.calls.parquet'").fetchall() == [(101,)]
    assert polars.read_parquet(tmp_path / "run.bytes.parquet")["sum"].to_list() == [sum(SIZES)]
    (buckets,) = polars.read_parquet(tmp_path / "run.sizes.parquet")["quantize"].to_list()
    sizes = {each["high"]: each["count"] for each in buckets if each["count"]}
    assert sum(sizes.values()) == 101
    assert by_server["sizes"] == {
        most: sum(count for high, count in sizes.items() if high <= most) for most in by_server["sizes"]
    }
    assert (by_server["calls"], by_server["bytes"], by_server["stacks"]) == (101, sum(SIZES), 101)
    folded = (tmp_path / "folded").read_text()
    assert sum(int(line.rpartition(" ")[2]) for line in folded.splitlines()) == 101
    calls, total, in_buckets, stacks, values = in_notebook(tmp_path)
    assert (calls, total, in_buckets, values) == (101, sum(SIZES), sizes, SIZES)
    assert Counter(stacks.splitlines()) == Counter(folded.splitlines())
