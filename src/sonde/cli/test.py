"""`test [PATH ...]`: scripts run as the files beside them say, and what came of it compared."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Sequence

from sonde.cli.messages import Messages, UsageError, given_twice
from sonde.cli.output import show
from sonde.library import NamedTuple, visible
from sonde.library.errors import Error
from sonde.library.testing.case import BOTH, EMBEDDED, ENGINES, KERNEL, SUFFIX, CaseVerdict, ScriptCase
from sonde.library.testing.checking import check
from sonde.library.testing.reading import find_files, read_cases
from sonde.library.testing.updating import updated

_USAGE = "test takes files and directories, and the options -k TEXT, -v, --engine NAME and --update"
_INTERRUPTED = 130
_COLOURS = {"PASS": 32, "FAIL": 31, "ERROR": 31, "SKIP": 33, "UPDATE": 36}


class _Wanted(NamedTuple):
    paths: tuple[str, ...]
    chosen: tuple[str, ...]
    engine: str
    is_verbose: bool
    updates: bool


class _Counts:
    """How many cases ended in which way."""

    def __init__(self) -> None:
        self.passed = self.failed = self.skipped = self.updated = self.wrong = 0

    @property
    def all(self) -> int:
        return self.passed + self.failed + self.skipped + self.updated + self.wrong

    def summary(self) -> str:
        """In words, those that there are."""
        told = [
            (self.passed, "passed"), (self.updated, "updated"), (self.failed, "failed"),
            (self.wrong, f"file{'s' * (self.wrong != 1)} in error"), (self.skipped, "skipped"),
        ]  # fmt: skip
        return ", ".join(f"{count} {what}" for count, what in told if count or what == "passed")


def test_scripts(words: Sequence[str], messages: Messages) -> int:
    """Run all cases; returns 0 if none has failed, 1 if one has or a file is wrong, 2 if there is none."""
    wanted = _wanted(words)
    # The command line has SIGINT end it at once, but whoever is being tested is to be ended, too.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    begin, counts = time.monotonic(), _Counts()
    try:
        _run(wanted, counts, messages)
    except KeyboardInterrupt:
        show(f"interrupted: {counts.summary()}\n")
        return _INTERRUPTED
    if not counts.all:
        where = "no case has that in its name" if wanted.chosen else f"no files *{SUFFIX} in {', '.join(wanted.paths)}"
        messages.error(f"nothing to test: {where}", "see docs/testing.md, or `sonde test --help`")
        return 2
    show(f"{counts.summary()} in {time.monotonic() - begin:.1f} s\n")
    return 1 if counts.failed or counts.wrong else 0


def _wanted(words: Sequence[str]) -> _Wanted:
    """Raises UsageError."""
    paths, chosen, engine, flags = [], [], BOTH, set()
    rest = list(reversed(words))
    while rest:
        word = rest.pop()
        if word in ("-k", "--engine"):
            if not rest:
                raise UsageError(_USAGE)
            value = rest.pop()
            if word == "-k":
                chosen.append(value)
            elif engine not in (BOTH, value):
                raise given_twice(word, engine, value)
            else:
                engine = value
        elif word in ("-v", "--update"):
            flags.add(word)
        elif word.startswith("-"):
            raise UsageError(_USAGE)
        else:
            paths.append(word)
    if engine not in ENGINES:
        raise UsageError(f"test: there is no engine {engine}; there are {', '.join(ENGINES)}")
    return _Wanted(tuple(paths) or (".",), tuple(chosen), engine, "-v" in flags, "--update" in flags)


def _run(wanted: _Wanted, counts: _Counts, messages: Messages) -> None:
    allowed = (EMBEDDED, KERNEL) if wanted.engine == BOTH else (wanted.engine,)
    for path in find_files(wanted.paths):
        try:
            cases = read_cases(path)
        except Error as error:
            counts.wrong += 1
            _line("ERROR", error.text, error.remedy.split("\n") if error.remedy else ())
            continue
        for case in cases:
            if all(text.lower() in case.title.lower() for text in wanted.chosen):
                _one(case, allowed, wanted, counts)


def _one(case: ScriptCase, allowed: Sequence[str], wanted: _Wanted, counts: _Counts) -> None:
    try:
        verdict = check(case, allowed)
        is_updated = wanted.updates and updated(case, verdict.runs)
    except Error as error:
        counts.failed += 1
        _line("FAIL", case.title, [error.text])
        return
    title = case.title
    if verdict.skipped:
        counts.skipped += 1
        _line("SKIP", title, [verdict.skipped])
    elif is_updated:
        counts.updated += 1
        _line("UPDATE", title, ["its output is written anew: look at it, and run the test again"])
    elif verdict.failures:
        counts.failed += 1
        _line("FAIL", title, _told(verdict))
    else:
        counts.passed += 1
        _line("PASS", f"{title}{_remark(verdict)}", _told(verdict) if wanted.is_verbose else ())


def _remark(verdict: CaseVerdict) -> str:
    return f" (embedded alone: {verdict.left_out})" if verdict.left_out else ""


def _told(verdict: CaseVerdict) -> list[str]:
    """The command lines, how long they took, and what is wrong."""
    lines = [f"$ {each.line}" for each in verdict.runs]
    if not verdict.failures:
        return [*lines, f"{verdict.seconds:.2f} s"]
    return [*lines, *(line for text in verdict.failures for line in text.split("\n"))]


def _line(word: str, text: str, more: Sequence[str] = ()) -> None:
    shown = f"{word:<6}"
    if os.isatty(1) and "NO_COLOR" not in os.environ:
        # Past `show`, which a terminal gets nothing from that it could obey.
        sys.stdout.write(f"\033[{_COLOURS[word]}m{shown}\033[0m ")
        sys.stdout.flush()
        show(f"{visible(text)}\n", 1)
    else:
        show(f"{shown} {visible(text)}\n")
    show("".join(f"       {visible(each)}\n" for each in more))
