"""What a one-liner imports before it traces: start-up is a feature (docs/design.md)."""

import subprocess
import sys

import pytest

HEAVY = (
    "argparse", "asyncio", "concurrent.futures", "dataclasses", "elftools", "inspect", "json", "logging", "numpy",
    "pathlib", "shutil", "subprocess", "tempfile", "threading", "typing", "urllib",
)  # fmt: skip

RUN = "import sys; from sonde.cli.main import main; main(sys.argv); print(*sys.modules)"


@pytest.mark.parametrize("program", ["BEGIN { exit(0); }", "syscall:::entry { @[execname] = count(); }"])
def test_no_heavy_module_is_imported(program):
    # -S -I: nothing that this machine's site configuration may import by itself.
    paths = repr([path for path in sys.path if path])
    code = f"import sys; sys.path[:] = {paths}; {RUN}"
    command = [sys.executable, "-I", "-S", "-c", code, "--dry-run", "-q", "-n", program]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    loaded = set(done.stdout.split())
    assert not loaded.intersection(HEAVY), "imported on the start-up path"
