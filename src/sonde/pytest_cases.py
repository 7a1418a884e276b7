"""Cases of test files as pytest collects and runs them."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from sonde.library.errors import Error
from sonde.library.testing.case import ScriptCase
from sonde.library.testing.checking import check
from sonde.library.testing.reading import read_cases
from sonde.typed import Any
from sonde.visible import visible


class CaseFailedError(Exception):
    """What is wrong with a case, in lines."""


class CaseFile(pytest.File):
    """One file *.sonde.toml."""

    def collect(self) -> Iterator[CaseItem]:
        """Its cases."""
        path = os.path.relpath(self.path)
        try:
            cases = read_cases(path)
        except Error as error:
            raise self.CollectError(str(error)) from None
        for case in cases:
            yield CaseItem.from_parent(self, name=visible(case.name or self.path.name), case=case)


class CaseItem(pytest.Item):
    """One case, on the engines that it names."""

    def __init__(self, *, case: ScriptCase, **given: Any) -> None:
        super().__init__(**given)
        self.case = case

    def runtest(self) -> None:
        """Raises CaseFailedError."""
        verdict = check(self.case)
        if verdict.skipped:
            pytest.skip(verdict.skipped)
        if verdict.failures:
            lines = [f"$ {visible(each.line)}" for each in verdict.runs]
            raise CaseFailedError("\n".join([*lines, *verdict.failures]))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Without a traceback, which would be sonde's own."""
        if isinstance(excinfo.value, CaseFailedError | Error):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[os.PathLike[str], None, str]:
        """Where it stands, and what it is called."""
        return self.path, None, self.name
