"""Tests and measurements of a program, `test:NAME` and `bench:NAME`: what comes of each, as bpftrace shows it.

What a test shows is told only where it fails, of what is measured nothing. A test fails where it returns something else
than 0, ends the program with a status, or tells of a mistake; a measurement with a value returned is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sonde.frontends.bpftrace.report.json_objects import json_line
from sonde.model.units import MICROSECOND, MILLISECOND, SECOND
from sonde.typed import NamedTuple, TypeAlias

TEST, BENCH = "test", "bench"

_GREEN, _RED, _PLAIN = "\033[32m", "\033[31m", "\033[0m"
_NAME_WIDTH, _TIME_WIDTH = 41, 15
_HEAD = ("Benchmark", "Time(ns)", "Iterations")
_SCALES = (("s", SECOND), ("ms", MILLISECOND), ("us", MICROSECOND), ("ns", 1))


class Trial(NamedTuple):
    """The internal probe that has it run, and its name in the program."""

    probe: str
    name: str


Write: TypeAlias = Callable[[bytes], None]


class BtTrials:
    """All of a program; those are measured that are no tests. Takes what the report would show while one runs."""

    def __init__(self, mode: str, trials: Sequence[Trial], is_json: bool) -> None:
        self.is_measured = mode == BENCH
        self.probes = tuple(each.probe for each in trials)
        self.returned = 0
        self.has_failed = False
        self._names = {each.probe: each.name for each in trials}
        self._is_json = is_json
        self._mistakes = 0
        self._shown: list[bytes] | None = None
        self._passed: list[tuple[str, bool]] = []
        self.write: Write = lambda text: None
        """Shows what comes of them; the report's."""

    def take(self, text: bytes) -> bool:
        """Whether one runs, so that what is shown is its."""
        if self._shown is None:
            return False
        self._shown.append(text)
        return True

    def mistaken(self) -> None:
        """What runs tells of a mistake."""
        self._mistakes += 1

    def begin(self, probe: str) -> None:
        self.returned, self._mistakes, self._shown = 0, 0, []

    def finish(self, probe: str, nanoseconds: int, runs: int, status: int) -> None:
        """It took so long, each time, and the program ended with that status, 0 if it did not."""
        shown, self._shown = b"".join(self._shown or ()), None
        name = self._names[probe]
        if self.is_measured:
            self._measured(name, nanoseconds, runs, bool(status or self._mistakes))
        else:
            self._tested(name, nanoseconds, not (self.returned or status or self._mistakes), shown)

    def _measured(self, name: str, nanoseconds: int, runs: int, failed: bool) -> None:
        if failed:
            self.has_failed = True
            self.write(f"ERROR: Benchmark '{name}' failed.\n".encode())
        elif self.returned:
            return
        elif self._is_json:
            self.write(json_line("benchmark_result", {name: {"average": nanoseconds, "iters": runs}}))
        else:
            width = max(_NAME_WIDTH, *(len(each) + 1 for each in self._names.values()))
            if not self._passed:
                head = f"{_HEAD[0]:{width}}{_HEAD[1]:{_TIME_WIDTH}}{_HEAD[2]}"
                self.write(f"{head}\n{'-' * len(head)}\n".encode())
            self._passed.append((name, True))
            self.write(f"{name:{width}}{nanoseconds:<{_TIME_WIDTH}}{runs}\n".encode())

    def _tested(self, name: str, nanoseconds: int, passed: bool, shown: bytes) -> None:
        self.has_failed |= not passed
        if self._is_json:
            text = shown.decode(errors="surrogateescape")
            self.write(json_line("test_result", {name: {"duration": nanoseconds, "passed": passed, "output": text}}))
            return
        if not self._passed:
            self._line(_GREEN, "==========", f"Running {len(self.probes)} tests.")
        self._passed.append((name, passed))
        self._line(_GREEN, " RUN      ", name)
        unit, scale = next(each for each in _SCALES if nanoseconds >= each[1] or each[1] == 1)
        took = f"{name} ({nanoseconds // scale} {unit})"
        if not passed:
            self.write(b"".join(line + b"\n" for line in shown.split(b"\n") if line))
        self._line(*((_GREEN, "       OK ") if passed else (_RED, "  FAILED  ")), took)
        if len(self._passed) == len(self.probes):
            self._summary()

    def _summary(self) -> None:
        failed = [name for name, passed in self._passed if not passed]
        self._line(_GREEN, "==========", f"{_tests(len(self._passed))} ran.")
        self._line(_GREEN, "  PASSED  ", f"{_tests(len(self._passed) - len(failed))}.")
        if failed:
            self._line(_RED, "  FAILED  ", f"{_tests(len(failed))}, listed below:")
        for name in failed:
            self._line(_RED, "  FAILED  ", name)

    def _line(self, colour: str, mark: str, text: str) -> None:
        self.write(f"{colour}[{mark}]{_PLAIN} {text}\n".encode(errors="surrogateescape"))


def _tests(count: int) -> str:
    return f"{count} test{'' if count == 1 else 's'}"
