"""Whatever belongs to the project lies below one of its folders, and is of a kind that belongs there."""

import subprocess
from pathlib import Path

import pytest
from support.machine import packages

ROOT = Path(__file__).parents[2]

AT_THE_ROOT = {".gitignore", "CONTRIBUTING.md", "LICENSE", "README.md", "hatch_build.py", "pyproject.toml"}
FOLDERS = {
    ".ci": {""}, "bench": {".py", ".c"}, "docs": {".md", ".1"}, "docs/design": {".md"},
    "examples": {".d", ".bt", ".c", ".h", ".ipynb", ".py"},
    "examples/tests": {".toml", ".py"},
    "src/sonde": {".py", ".d", ".js", ".css", ".typed", ".txt"},
    "tests": {".py"}, "tests/cli": {".py", ".txt"}, "tests/embedded": {".py"},
    "tests/kernel": {".py", ".txt"},
    "tests/programs": {".c", ".cc", ".cpp", ".py", ".rs"}, "tests/same": {".d", ".c"}, "tests/unit": {".py", ".txt"},
    "tests/support": {".py"},
    "tools": {".py", ".c", ".txt", ".asl"}, "tools/real_programs": {".py", ".sh"},
}  # fmt: skip
"""The kinds of files that each has; below `src/sonde` and `tests/support` are folders of theirs."""


def stray(paths):
    """Those of the paths that have no place."""
    for path in map(Path, paths):
        below = "/".join(path.parts[:2])
        folder = below if below in ("src/sonde", "tests/support") else str(path.parent)
        has_place = path.name in AT_THE_ROOT if folder == "." else path.suffix in FOLDERS.get(folder, ())
        if not has_place:
            yield str(path)


def test_no_tracked_file_is_stray():
    packages.require("git")
    if not (ROOT / ".git").exists():
        pytest.skip("this is no checkout, which would say what is tracked")
    listed = subprocess.run(
        ["git", "-c", "safe.directory=*", "-C", ROOT, "ls-files"], check=True, capture_output=True, text=True
    )
    paths = listed.stdout.splitlines()
    assert len(paths) > 1000
    assert list(stray(paths)) == []


@pytest.mark.parametrize("path", ["x.json", "notes.md", "src/other.py", "tests/unit/out.log", "lab/x.py", "docs/x.py"])
def test_a_stray_file_is_found(path):
    assert list(stray(["README.md", path, "src/sonde/session/tracing.py", "docs/reference.md", ".ci/run"])) == [path]
