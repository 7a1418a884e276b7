"""The whole suite in two processes at once. While they run, failures and how far both are; then what each has to say,
one after the other; what was left out; and the sum of both. A half that dies is a failure and hides nothing of the
other.

What has failed runs once more, by itself: a test that needs a machine without other work is told by name, but fails
the suite only if it fails alone as well."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from left_out import summary

TESTS = Path(__file__).resolve().parent

HALVES = {"unit, embedded, cli": ("unit", "embedded", "cli"), "kernel": ("kernel", "../examples/tests")}
"""What traces the whole machine is by itself. By their names from here on."""

FAILURES, NO_TESTS = 1, 5
"""The statuses of pytest where tests have failed, and where options choose none."""

LONG = 60
"""Seconds after which a test that still runs is named."""

SLOWEST = 20
"""How many of the slowest tests are named: all of CI takes twenty minutes at most."""

FEW = 5
"""Failed tests that run once more: if there are more, it is not the other half that has disturbed them."""

PATIENCE = 30
"""Seconds that the halves have to end after they were interrupted."""


class Half:
    """One process of pytest and what it has told."""

    def __init__(self, name, paths, options, directory):
        self.name = name
        self.tests, self.outcomes, self.left_out, self._told_all = None, Counter(), [], False
        self.durations, self.failed, self.root = [], [], ""
        self._runs, self._since = "", time.monotonic()
        stem = Path(directory, name.replace(", ", "-"))
        self.output = stem.with_suffix(".txt")
        events = stem.with_suffix(".json")
        events.touch()
        self._events = events.open(encoding="utf-8")
        self._rest = ""
        words = [sys.executable, TESTS / "half.py", events, *options, *paths]
        # In a group of its own: whoever interrupts the suite interrupts it once.
        with self.output.open("wb") as file:
            self.process = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, process_group=0
            )

    def read(self):
        """Take in what it has told since the last time; gives the tests that have failed meanwhile, each with its
        message."""
        *lines, self._rest = (self._rest + self._events.read()).split("\n")
        failed = []
        for line in lines:
            event = json.loads(line)
            self.tests, self.root = event.get("tests", self.tests), event.get("root", self.root)
            self._told_all = event.get("all", self._told_all)
            if "begins" in event:
                self._runs, self._since = event["begins"], time.monotonic()
            if "ends" in event:
                self.outcomes[event["outcome"]] += 1
                self.durations.append((event.get("seconds", 0), event["ends"]))
                if event["outcome"] == "skipped":
                    self.left_out.append(event["reason"])
                if event["outcome"] == "failed":
                    self.failed.append(event["ends"])
                    failed.append("\n    ".join([event["ends"], *event["message"]]))
        return failed

    def progress(self):
        done = sum(self.outcomes.values())
        text = f"{self.name}: {done} of {'?' if self.tests is None else self.tests}"
        return text + (f", {self.outcomes['failed']} failed" if self.outcomes["failed"] else "")

    def still(self):
        """What it has been running for long, "" if nothing."""
        seconds = time.monotonic() - self._since
        return f"{self._runs} ({seconds:.0f} s)" if self._runs and seconds >= LONG and not self.is_done() else ""

    def is_done(self):
        return self.process.poll() is not None

    def died(self):
        """How it ended before its end, "" if it did not."""
        status = self.process.returncode
        if status < 0:
            return f"{self.name}: killed by {signal.Signals(-status).name} in {self._runs or 'no test'}"
        if not self._told_all or not (status in (0, NO_TESTS) or self.outcomes["failed"]):
            return f"{self.name}: ended with status {status} in {self._runs or 'no test'}"
        return ""

    def close(self):
        self._events.close()


def main(options, halves=None, every=30):
    """The status: 0 if both halves passed. `every`: seconds between two lines that tell how far they are."""
    paths = halves or {name: [TESTS / part for part in parts] for name, parts in HALVES.items()}
    with tempfile.TemporaryDirectory(prefix="sonde-suite-") as directory:
        running = [Half(name, each, options, directory) for name, each in paths.items()]
        interrupts = []
        before = _interrupt_on((signal.SIGINT, signal.SIGTERM), running, interrupts)
        try:
            _wait(running, every, interrupts)
            again = None
            if tests := _to_repeat(running):
                again = Half("once more, by themselves", tests, options, directory)
                running.append(again)
                _wait(running, every, interrupts)
            return _told(running[: len(paths)], again)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            _signal_all(running, signal.SIGKILL)
            for half in running:
                half.close()


def _to_repeat(halves):
    """The tests that have failed, if they are few and both halves have come to their end."""
    if any(half.died() or half.process.returncode not in (0, FAILURES, NO_TESTS) for half in halves):
        return []
    failed = [Path(half.root, test) for half in halves for test in half.failed]
    return failed if len(failed) <= FEW else []


def _interrupt_on(numbers, running, interrupts):
    """Interrupt the halves where one of these signals comes: they tell what they have. Killed if they do not end.

    Nothing is printed here: a handler may have interrupted what prints.
    """

    def interrupt(number, frame):
        interrupts.append(signal.Signals(number).name)
        _signal_all(running, signal.SIGINT)
        signal.signal(signal.SIGALRM, lambda *_: _signal_all(running, signal.SIGKILL))
        signal.alarm(PATIENCE)

    return {number: signal.signal(number, interrupt) for number in numbers}


def _signal_all(running, number):
    for half in running:
        if not half.is_done():
            half.process.send_signal(number)


def _wait(running, every, interrupts):
    """Until both are done; failures and interrupts are told at once."""
    begin = told = time.monotonic()
    is_terminal = sys.stdout.isatty()
    while True:
        done = all(half.is_done() for half in running)
        for half in running:
            for test in half.read():
                _line(f"FAILED {test}", is_terminal)
        while interrupts:
            _line(f"{interrupts.pop()}: the tests are interrupted", is_terminal)
        now = time.monotonic()
        if done:
            _line(f"{now - begin:.0f} s  " + "  ".join(half.progress() for half in running), is_terminal)
            return
        if is_terminal or now - told >= every:
            told = now
            text = f"{now - begin:.0f} s  " + "  ".join(half.progress() for half in running)
            stuck = [each for each in (half.still() for half in running) if each]
            if is_terminal:
                print(f"\r\033[K{text[: os.get_terminal_size().columns - 1]}", end="", flush=True)
            else:
                print("\n".join([text, *(f"      still runs: {each}" for each in stuck)]), flush=True)
        time.sleep(0.2)


def _line(text, is_terminal):
    """A line of its own, in the place of what a terminal shows of the progress."""
    print(f"\r\033[K{text}" if is_terminal else text, flush=True)


def _told(halves, again):
    """The status. `again`: the half of those that failed and ran once more, None if there are none."""
    counts = Counter()
    for half in [*halves, *([again] if again else [])]:
        print(f"\n=== {half.name}", flush=True)
        print(half.output.read_text(errors="replace"), end="", flush=True)
    for half in halves:
        counts += half.outcomes
    died = [text for text in (half.died() for half in halves) if text]
    disturbed = _disturbed(halves, again)
    counts["passed"] += len(disturbed)
    counts["failed"] += len(died) - len(disturbed)
    _tell_details(halves, counts["skipped"])
    for line in [*died, *(f"failed beside other tests, passed by itself: {test}" for test in disturbed)]:
        print(line)
    print(f"\n{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped", flush=True)
    odd = any(half.process.returncode not in (0, FAILURES, NO_TESTS) for half in halves)
    return 1 if odd or counts["failed"] or not sum(counts.values()) else 0


def _disturbed(halves, again):
    """The tests that failed, and all of them passed by themselves."""
    failed = [test for half in halves for test in half.failed]
    passed = again and again.process.returncode == 0 and again.outcomes == Counter(passed=len(set(failed)))
    return failed if passed else []


def _tell_details(halves, skipped):
    print("\n=== slowest")
    for seconds, test in sorted((each for half in halves for each in half.durations), reverse=True)[:SLOWEST]:
        print(f"{seconds:.0f} s  {test}")
    print("\n=== left out" if skipped else "")
    for line in summary([reason for half in halves for reason in half.left_out]):
        print(line)
