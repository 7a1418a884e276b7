"""What a one-liner imports before it traces: start-up is a feature (docs/design.md)."""

import subprocess
import sys

import pytest

HEAVY = (
    "argparse", "asyncio", "concurrent.futures", "dataclasses", "elftools", "inspect", "json", "logging", "numpy",
    "pathlib", "shutil", "subprocess", "tempfile", "threading", "typing", "urllib",
)  # fmt: skip

RUN = "import sys; from sonde.cli.main import main; main(sys.argv); print(*sys.modules)"


OTHERS = (
    "sonde.objects", "sonde.runtime.perf", "sonde.runtime.programs.loaded", "sonde.codegen.firings.adapters",
    "sonde.pictures", "sonde.captures", "sonde.recording", "weakref",
)  # fmt: skip
"""Of other kinds of programs than a count of system calls."""


def imported(*words):
    """The modules that the command has in the end."""
    # -S -I: nothing that this machine's site configuration may import by itself.
    paths = repr([path for path in sys.path if path])
    code = f"import sys; sys.path[:] = {paths}; {RUN}"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code, *words], check=True, capture_output=True, text=True)
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize("program", ["BEGIN { exit(0); }", "syscall:::entry { @[execname] = count(); }"])
def test_no_heavy_module_is_imported(program):
    loaded = imported("--dry-run", "-q", "-n", program)
    assert not loaded.intersection(HEAVY), "imported on the start-up path"


def test_counting_calls_without_root_imports_nothing_of_other_programs():
    text = "syscall:::entry { @[probefunc] = count(); } syscall:::return { @errors[errno] = count(); }"
    loaded = imported("--engine", "embedded", "-qn", text, "-c", "true")
    assert "sonde.engines.embedded.tracing" in loaded
    assert not [name for name in loaded if name.startswith(OTHERS)]
