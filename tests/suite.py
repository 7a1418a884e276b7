"""The whole suite in four processes at once. While they run, failures and how far all are; then what each has to say,
one after the other; what was left out; and the sum of all. A part that dies is a failure and hides nothing of the
others.

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

SHOWN = ("kernel/test_documents_live.py", "kernel/test_examples_family.py")
"""Tests of what documents show and examples do, which bear that others trace as well."""

PROCESSES = tuple(
    f"kernel/test_{each}.py"
    for each in (
        "array_bounds", "branches", "bt_expressions", "bt_programs", "chapters", "codegen_arithmetic",
        "codegen_strings", "direct_callers", "dof_probes", "embedded_helpers_agree", "embedded_maps_agree",
        "embedded_pointers_agree", "embedded_strings_agree", "instruction_semantics_live", "large_programs",
        "loop_bounds", "machine_differential", "malformed_live", "memory_not_resident", "named_variables",
        "object_fetch", "object_values_against_gdb", "objects_on_both_engines", "odd_static_programs",
        "parameters_at_entry", "perf_data_live", "pid_probes", "python_stacks", "random_programs",
        "registers_on_both_engines", "replayed_packet_files", "same_on_both_engines", "static_probes_everywhere",
        "unwinding", "verifier_differential", "whole_programs",
    )
)  # fmt: skip
"""As well those of programs and processes of their own."""

TRACING = tuple(sorted(f"kernel/{each.name}" for each in (TESTS / "kernel").glob("test_*.py")))

PARTS = {
    "unit, cli": ("unit", "cli"),
    "shown, processes": ("../examples/tests", *SHOWN, *PROCESSES),
    "embedded": ("embedded",),
    "kernel": tuple(each for each in TRACING if each not in SHOWN + PROCESSES),
}
"""What traces the whole machine is by itself. Most parts wait for much of their time, for the kernel to attach and to
let go, so that there are more of them than CPUs. By their names from here on."""

FAILURES, NO_TESTS = 1, 5
"""The statuses of pytest where tests have failed, and where options choose none."""

LONG = 60
"""Seconds after which a test that still runs is named."""

SLOWEST = 20
"""How many of the slowest tests are named: all of CI takes twenty minutes at most."""

FEW = 8
"""Failed tests that run once more: if there are more, it is not the other parts that have disturbed them."""

PATIENCE = 30
"""Seconds that the parts have to end after they were interrupted."""


class Part:
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
        words = [sys.executable, TESTS / "part.py", events, *options, *paths]
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


def main(options, parts=None, every=30):
    """The status: 0 if all parts passed. `every`: seconds between two lines that tell how far they are."""
    paths = parts or {name: [TESTS / each for each in names] for name, names in PARTS.items()}
    with tempfile.TemporaryDirectory(prefix="sonde-suite-") as directory:
        running = [Part(name, each, options, directory) for name, each in paths.items()]
        interrupts = []
        before = _interrupt_on((signal.SIGINT, signal.SIGTERM), running, interrupts)
        try:
            _wait(running, every, interrupts)
            again = None
            if tests := _to_repeat(running):
                again = Part("once more, by themselves", tests, options, directory)
                running.append(again)
                _wait(running, every, interrupts)
            return _told(running[: len(paths)], again)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            _signal_all(running, signal.SIGKILL)
            for part in running:
                part.close()


def _to_repeat(parts):
    """The tests that have failed, if they are few and all parts have come to their end."""
    if any(part.died() or part.process.returncode not in (0, FAILURES, NO_TESTS) for part in parts):
        return []
    failed = [Path(part.root, test) for part in parts for test in part.failed]
    return failed if len(failed) <= FEW else []


def _interrupt_on(numbers, running, interrupts):
    """Interrupt the parts where one of these signals comes: they tell what they have. Killed if they do not end.

    Nothing is printed here: a handler may have interrupted what prints.
    """

    def interrupt(number, frame):
        interrupts.append(signal.Signals(number).name)
        _signal_all(running, signal.SIGINT)
        signal.signal(signal.SIGALRM, lambda *_: _signal_all(running, signal.SIGKILL))
        signal.alarm(PATIENCE)

    return {number: signal.signal(number, interrupt) for number in numbers}


def _signal_all(running, number):
    for part in running:
        if not part.is_done():
            part.process.send_signal(number)


def _wait(running, every, interrupts):
    """Until all are done; failures and interrupts are told at once."""
    begin = told = time.monotonic()
    is_terminal = sys.stdout.isatty()
    while True:
        done = all(part.is_done() for part in running)
        for part in running:
            for test in part.read():
                _line(f"FAILED {test}", is_terminal)
        while interrupts:
            _line(f"{interrupts.pop()}: the tests are interrupted", is_terminal)
        now = time.monotonic()
        if done:
            _line(f"{now - begin:.0f} s  " + "  ".join(part.progress() for part in running), is_terminal)
            return
        if is_terminal or now - told >= every:
            told = now
            text = f"{now - begin:.0f} s  " + "  ".join(part.progress() for part in running)
            stuck = [each for each in (part.still() for part in running) if each]
            if is_terminal:
                print(f"\r\033[K{text[: os.get_terminal_size().columns - 1]}", end="", flush=True)
            else:
                print("\n".join([text, *(f"      still runs: {each}" for each in stuck)]), flush=True)
        time.sleep(0.2)


def _line(text, is_terminal):
    """A line of its own, in the place of what a terminal shows of the progress."""
    print(f"\r\033[K{text}" if is_terminal else text, flush=True)


def _told(parts, again):
    """The status. `again`: the part of those that failed and ran once more, None if there are none."""
    counts = Counter()
    for part in [*parts, *([again] if again else [])]:
        print(f"\n=== {part.name}", flush=True)
        print(part.output.read_text(errors="replace"), end="", flush=True)
    for part in parts:
        counts += part.outcomes
    died = [text for text in (part.died() for part in parts) if text]
    disturbed = _disturbed(parts, again)
    counts["passed"] += len(disturbed)
    counts["failed"] += len(died) - len(disturbed)
    _tell_details(parts, counts["skipped"])
    for line in [*died, *(f"failed beside other tests, passed by itself: {test}" for test in disturbed)]:
        print(line)
    print(f"\n{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped", flush=True)
    odd = any(part.process.returncode not in (0, FAILURES, NO_TESTS) for part in parts)
    return 1 if odd or counts["failed"] or not sum(counts.values()) else 0


def _disturbed(parts, again):
    """The tests that failed, and all of them passed by themselves."""
    failed = [test for part in parts for test in part.failed]
    passed = again and again.process.returncode == 0 and again.outcomes == Counter(passed=len(set(failed)))
    return failed if passed else []


def _tell_details(parts, skipped):
    print("\n=== slowest")
    for seconds, test in sorted((each for part in parts for each in part.durations), reverse=True)[:SLOWEST]:
        print(f"{seconds:.0f} s  {test}")
    print("\n=== left out" if skipped else "")
    for line in summary([reason for part in parts for reason in part.left_out]):
        print(line)
