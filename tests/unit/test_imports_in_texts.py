"""Scripts that tests and tools have as texts import names that are there: no linter reads them."""

import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILES = [path for part in ("tests", "tools", "bench") for path in sorted((ROOT / part).rglob("*.py"))]
IMPORT = re.compile(r"from (sonde[\w.]*) import (\w+(?: as \w+)?(?:, \w+(?: as \w+)?)*)")


def is_there(module, name):
    try:
        if hasattr(import_module(module), name):
            return True
        import_module(f"{module}.{name}")
    except ImportError:
        return False
    return True


@pytest.mark.share(127)
@pytest.mark.parametrize(
    "path", [path for path in FILES if IMPORT.search(path.read_text())], ids=lambda path: path.name
)
def test_what_is_imported_is_there(path):
    found = [(module, each.split(" as ")[0]) for module, names in IMPORT.findall(path.read_text())
             for each in names.split(", ")]  # fmt: skip
    assert not [each for each in found if not is_there(*each)]
