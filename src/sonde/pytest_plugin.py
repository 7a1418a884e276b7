"""What pytest loads at its start in every project: cheap, and without consequence where there are no tests of sonde."""

from __future__ import annotations

import pytest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from sonde.pytest_cases import CaseFile
    from sonde.pytest_runs import TracedRun

_SUFFIX = ".sonde.toml"


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> CaseFile | None:
    """The cases of a test file (docs/testing.md)."""
    if not file_path.name.endswith(_SUFFIX):
        return None
    from sonde.pytest_cases import CaseFile  # pytest looks into each module that a plugin names

    return CaseFile.from_parent(parent, path=file_path)


@pytest.fixture
def sonde_run(request: pytest.FixtureRequest) -> Callable[..., TracedRun]:
    """Trace to the end: `sonde_run("opens.d", command="cat /etc/passwd").aggregations["opens"]`."""
    from sonde.pytest_runs import runner  # as above

    return runner(request.path.parent)
