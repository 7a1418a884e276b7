"""Each example of docs/library.md and docs/python-probes.md, run in its order."""

import doctest
import os
from pathlib import Path

import pytest
from support.machine.access import needs

PAGES = Path(__file__).parents[2] / "docs"


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "least"),
    [pytest.param("library.md", 30, marks=needs("CAP_BPF", "CAP_PERFMON")), ("python-probes.md", 10)],
)
def test_the_examples_are_as_they_say(name, least, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    page = PAGES / name
    test = doctest.DocTestParser().get_doctest(page.read_text(), {}, name, str(page), 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    said = []
    runner.run(test, out=said.append)
    assert not runner.failures, "".join(said)
    assert sum(bool(example.want) for example in test.examples) >= least
    assert os.getcwd() == str(tmp_path)
