"""The example for a Prometheus server, run with a workload whose counts are known and scraped."""

import subprocess
import sys
from contextlib import closing

from support.command.example_run import BEGINNING, EXAMPLES, NAME
from test_export import Exported

WORKLOAD = """
for _ in range(101): os.getpgid(0)
for _ in range(17):
    try: os.open("/nowhere", 0)
    except OSError: pass
reader, writer = os.pipe()
for _ in range(13): os.write(writer, bytes(7)); os.read(reader, 7)
"""


def test_metrics(tmp_path):
    program = tmp_path / "workload.py"
    program.write_text(BEGINNING + WORKLOAD)
    script = EXAMPLES / "metrics.d"
    with closing(Exported("-s", str(script), "--label-sets", "100000")) as exported:
        subprocess.run([sys.executable, program], check=True)
        work = ("execname", NAME)
        for _ in range(50):
            found = exported.scrape()
            if found.get(("sonde_failures_total", ("errno", "2"), work, ("probefunc", "openat")), 0) >= 17:
                break
        assert found["sonde_failures_total", ("errno", "2"), work, ("probefunc", "openat")] >= 17
        assert found["sonde_bytes_total", work, ("probefunc", "write")] == 13 * 7
        assert found["sonde_calls_total", work] >= 101 + 17 + 26
        assert found["sonde_nanoseconds_bucket", work, ("le", "+Inf")] >= 101 + 17 + 26
    assert script.name == "metrics.d"
