"""Each example of docs/library.md, run in its order."""

import doctest
import os
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "library.md"


def test_the_examples_are_as_they_say(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    text = PAGE.read_text()
    test = doctest.DocTestParser().get_doctest(text, {}, "library.md", str(PAGE), 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    said = []
    runner.run(test, out=said.append)
    assert not runner.failures, "".join(said)
    assert sum(bool(example.want) for example in test.examples) >= 30
    assert os.getcwd() == str(tmp_path)
