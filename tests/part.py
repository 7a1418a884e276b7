"""One part of the suite: pytest, which tells how far it is in a file, a line of JSON for each event.

part.py FILE [ARGUMENTS OF PYTEST]
"""

import json
import sys

import pytest
from left_out import TOLD_ELSEWHERE, reason_of

LINES, WIDTH = 12, 300
"""Of a failure's message, what is told at once."""


class Progress:
    """A plugin that tells: {"tests": how many there are, "root": the directory of their names}, {"begins": test},
    {"ends": test, "outcome": ..., "seconds": ...}, with the "reason" of a skipped and the lines of the "message" of a
    failed one, and last {"all": true}. A failure before or behind the test itself is an outcome of its own, too."""

    def __init__(self, path):
        self._file = open(path, "a", buffering=1, encoding="utf-8")  # noqa: SIM115 - as long as pytest runs

    def _tell(self, **event):
        self._file.write(json.dumps(event) + "\n")

    def pytest_configure(self, config):
        config.stash[TOLD_ELSEWHERE] = True

    def pytest_collection_finish(self, session):
        self._tell(tests=len(session.items), root=str(session.config.rootpath))

    def pytest_collectreport(self, report):
        if not report.passed:
            self._ends(report)

    def pytest_runtest_logstart(self, nodeid):
        self._tell(begins=nodeid)

    def pytest_runtest_logreport(self, report):
        if report.when == "call" or report.outcome != "passed":
            self._ends(report)

    def _ends(self, report):
        reason = {"reason": reason_of(report)} if report.skipped else {}
        message = {"message": _message(report)} if report.failed else {}
        self._tell(
            ends=report.nodeid,
            outcome=report.outcome,
            seconds=round(getattr(report, "duration", 0), 1),
            **reason,
            **message,
        )

    def pytest_terminal_summary(self):
        self._tell(all=True)


def _message(report):
    """What was not so, as far as pytest can say in a few lines; whoever sees only the beginning of a log has it."""
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash else report.longreprtext
    return [line[:WIDTH] for line in text.split("\n")[:LINES]]


if __name__ == "__main__":
    sys.exit(pytest.main(sys.argv[2:], plugins=[Progress(sys.argv[1])]))
