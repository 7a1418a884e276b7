"""Which tests were left out and what would let them run: a line for each missing package, at most ten in all."""

import re
from collections import Counter

LINES = 10

_PACKAGE = re.compile(r"needs package ([\w.+-]+)")
_PRIVILEGE = re.compile(r"this user lacks|needs root|\band root$|root only")

_PRIVILEGES, _OTHERS = "privileges", "other reasons"
_REMEDIES = {_PRIVILEGES: "run them as root", _OTHERS: "pytest -rs shows them"}


def summary(reasons):
    """The lines for a run in which tests were skipped for these reasons."""
    reasons = list(reasons)
    groups = Counter(group for reason in reasons for group in _groups(reason))
    packages = [name for name, _ in sorted(groups.items(), key=lambda item: (-item[1], item[0])) if _is_package(name)]
    room = LINES - sum(name in groups for name in _REMEDIES)
    shown = packages if len(packages) <= room else packages[: room - 1]
    lines = [_line(name, groups[name], f"apt-get install {name}") for name in shown]
    if rest := packages[len(shown) :]:
        count = sum(any(name in rest for name in _groups(reason)) for reason in reasons)
        lines.append(_line(f"{len(rest)} more packages", count, f"apt-get install {' '.join(sorted(rest))}"))
    return lines + [_line(name, groups[name], remedy) for name, remedy in _REMEDIES.items() if name in groups]


def _groups(reason):
    """The packages that are missing, each; otherwise one of _REMEDIES."""
    packages = _PACKAGE.findall(reason)
    return packages or [_PRIVILEGES if _PRIVILEGE.search(reason) else _OTHERS]


def _is_package(name):
    return name not in _REMEDIES


def _line(name, count, remedy):
    return f"{name}: {count} test{'s' * (count != 1)} skipped; {remedy}"


def reason_of(report):
    """That of pytest's report of a skipped test."""
    return report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)


def pytest_terminal_summary(terminalreporter):
    lines = summary(map(reason_of, terminalreporter.stats.get("skipped", [])))
    if lines:
        terminalreporter.section("skipped")
        for line in lines:
            terminalreporter.line(line)
