#!/usr/bin/env python3
"""Compile and run the D scripts that other people published, and say of each one that fails which name Linux lacks.

    git clone https://github.com/opendtrace/toolkit
    git clone https://github.com/brendangregg/DTrace-book-scripts
    python3 tools/public_scripts.py toolkit DTrace-book-scripts --out scripts.json [--again] [--only WORD] [--no-run]
    python3 tools/compatibility.py --scripts scripts.json

The checkouts stay outside the project. What counts is a file's content: a script is a `.d` file or one whose first line
runs dtrace, a wrapper a file for another interpreter, without a suffix, that runs dtrace. Each is compiled as it is,
then with -Z; what compiles is run for a moment with a small workload, which is also the process of `$target`. A script
that wants arguments gets the number 1 for each, or `read` for a system call. Needs root, ksh and perl; ten minutes on
two CPUs.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from public_scripts_causes import Causes, Failure

WORKLOAD = [sys.executable, str(Path(__file__).with_name("public_scripts_load.py"))]
ENDS_WITH_PARENT = ["setpriv", "--pdeathsig"]
"""With a signal: nothing that the tool has started outlives it, be it killed."""
SECONDS = 1.5
PATIENCE = 20
_RUNS_DTRACE = re.compile(r"\b(?:/usr/sbin/)?dtrace\s+-|/usr/sbin/dtrace|^dtrace=", re.MULTILINE)
_ARGUMENT = re.compile(r"\$\$?([1-9])\b")
_CALL = re.compile(r"(?<=syscall::)\$([1-9])(?=:)")
"""An argument that is the name of a system call."""


class Script(NamedTuple):
    """One published program: its path as it is told, the file, and whether it runs dtrace rather than being D."""

    name: str
    path: Path
    is_wrapper: bool

    @property
    def text(self) -> str:
        return self.path.read_text(encoding="latin-1")


class Attempt(NamedTuple):
    """How one run of the command ended."""

    status: int
    errors: str
    is_late: bool

    @property
    def is_right(self) -> bool:
        return self.status == 0 and not self.is_late


class Result(NamedTuple):
    """What became of a script: `as it is`, `with -Z`, or `no`; what failed and why, and the messages of the run."""

    name: str
    compiles: str
    failures: list[Failure]
    run: str
    messages: str


def scripts(checkouts: Sequence[str]) -> list[Script]:
    """Those of all checkouts, each content once."""
    found: dict[str, Script] = {}
    for checkout in map(Path, checkouts):
        for path in sorted(checkout.rglob("*")):
            if path.is_symlink() or not path.is_file() or ".git" in path.parts:
                continue
            first, _, rest = path.read_bytes().partition(b"\n")
            runs = first.startswith(b"#!") and b"dtrace" in first
            is_wrapper = first.startswith(b"#!") and not path.suffix and not runs
            if path.suffix == ".d" or runs or (is_wrapper and _RUNS_DTRACE.search(rest.decode("latin-1"))):
                digest = hashlib.sha256(first + rest).hexdigest()
                found.setdefault(digest, Script(f"{checkout.name}/{path.relative_to(checkout)}", path, is_wrapper))
    return sorted(found.values())


class Runner:
    """Runs scripts with `sonde` as the command dtrace; `directory` is for the files that takes."""

    def __init__(self, sonde: str, directory: Path, pid: int) -> None:
        """`pid` is a process for those that want one."""
        self._directory = directory
        self._operands = {
            "dappprof": WORKLOAD, "dapptrace": WORKLOAD, "diskhits": ["/etc/passwd"], "dtruss": WORKLOAD,
            "dvmstat": WORKLOAD, "hotuser": ["-p", str(pid)], "lastwords": ["true"], "pfilestat": [str(pid)],
        }  # fmt: skip
        (directory / "bin").mkdir()
        (directory / "real").mkdir()
        (directory / "real" / "dtrace").symlink_to(sonde)
        command = directory / "bin" / "dtrace"
        command.write_text(
            f'#!/bin/sh\nexec {shlex.join([*ENDS_WITH_PARENT, "TERM"])} "{directory}/real/dtrace" $DTRACE_FLAGS "$@"\n'
        )
        command.chmod(0o755)

    def attempt(self, script: Script, flags: Sequence[str], seconds: float = 0) -> Attempt:
        """Run a script with more options, for so many seconds if it does not end by itself."""
        environment = os.environ | {
            "PATH": f"{self._directory}/bin:{os.environ['PATH']}",
            "DTRACE_FLAGS": " ".join(flags),
            "TERM": "dumb",
        }
        with tempfile.TemporaryDirectory(dir=self._directory) as place:
            command = [*ENDS_WITH_PARENT, "KILL", *self._command(script, Path(place))]
            with open(f"{place}/errors", "w+b") as errors:
                process = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors, env=environment,
                    cwd=place, start_new_session=True, preexec_fn=_interruptible,
                )  # fmt: skip
                is_late = _end(process, seconds)
                errors.seek(0)
                return Attempt(process.returncode, errors.read().decode(errors="replace"), is_late)

    def _command(self, script: Script, place: Path) -> list[str]:
        text = script.text
        if script.is_wrapper:
            copy = place / script.path.name
            copy.write_text(text.replace("/usr/sbin/dtrace", "dtrace"), encoding="latin-1")
            interpreter = text.partition("\n")[0].removeprefix("#!").split()
            name = os.path.basename(interpreter[0])
            known = name if shutil.which(name) else "bash"
            copy.chmod(0o755)
            return [known, *interpreter[1:], str(copy), *self._operands.get(script.path.name, ())]
        first = text.partition("\n")[0]
        flags = first[2:].split()[1:] if first.startswith("#!") else ["-s"]
        numbers = [int(number) for number in _ARGUMENT.findall(_without_comments(text))]
        target = ["-c", " ".join(WORKLOAD)] if "$target" in text else []
        calls = {int(number) for number in _CALL.findall(text)}
        operands = ("read" if number + 1 in calls else "1" for number in range(max(numbers, default=0)))
        return ["dtrace", *target, *flags, str(script.path), *operands]


def _without_comments(text: str) -> str:
    return re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL)


def _interruptible() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _end(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Interrupt the process if it runs so long; whether it had to be killed."""
    for patience, what in ((seconds or PATIENCE, signal.SIGINT), (PATIENCE, signal.SIGKILL)):
        try:
            process.wait(patience)
            return False
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, what)
    process.wait()
    return True


def judge(script: Script, runner: Runner, causes: Causes, is_run: bool) -> Result:
    """Compile and run one script."""
    plain = runner.attempt(script, ["-e", "-xerrtags"])
    attempt, how, options = plain, "as it is", []
    if not plain.is_right:
        attempt, how, options = runner.attempt(script, ["-e", "-xerrtags", "-Z"]), "with -Z", ["-Z"]
    failures = causes.of_messages(plain.errors) if not plain.is_right else []
    if not script.is_wrapper:
        failures += [each for each in causes.of_descriptions(_CALL.sub("read", script.text)) if each not in failures]
    if not attempt.is_right:
        found = causes.of_messages(attempt.errors)
        failures += [each for each in found if each not in failures]
        return Result(script.name, "no", failures or [causes.unexplained(attempt.errors)], "", attempt.errors)
    if not is_run:
        return Result(script.name, how, failures, "", "")
    run = runner.attempt(script, options, SECONDS)
    for times in (4, 16):
        if run.status == -signal.SIGINT and not script.is_wrapper:
            # It was still compiling.
            run = runner.attempt(script, options, times * SECONDS)
    # A shell that is interrupted ends so, too.
    is_right = run.is_right or (script.is_wrapper and run.status == -signal.SIGINT and "dtrace: " not in run.errors)
    verdict = "hangs" if run.is_late else "runs" if is_right else f"ends with status {run.status}"
    return Result(script.name, how, failures, verdict, run.errors)


def settled(path: Path) -> list[dict[str, Any]]:
    """The earlier results of scripts that have run."""
    results: list[dict[str, Any]] = json.loads(path.read_text())["results"]
    return [each for each in results if each["run"] == "runs"]


@contextlib.contextmanager
def workload() -> Iterator[int]:
    """The workload, for as long as the `with` block runs: its process."""
    process = subprocess.Popen(
        [*ENDS_WITH_PARENT, "TERM", *WORKLOAD, "forever"], stdout=subprocess.DEVNULL, start_new_session=True
    )
    try:
        yield process.pid
    finally:
        process.terminate()
        process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description="Compile and run published D scripts")
    parser.add_argument("checkouts", nargs="+")
    parser.add_argument("--out", required=True)
    parser.add_argument("--again", action="store_true", help="only those that have not run, the others as in --out")
    parser.add_argument("--only", default="", help="those with the word in their names")
    parser.add_argument("--no-run", action="store_true")
    parser.add_argument("--sonde", default=shutil.which("sonde", path=str(Path(sys.executable).parent)) or "sonde")
    parser.add_argument("-j", type=int, default=os.cpu_count(), dest="jobs")
    arguments = parser.parse_args()
    found = scripts(arguments.checkouts)
    kept = settled(Path(arguments.out)) if arguments.again else []
    chosen = [each for each in found if arguments.only in each.name and each.name not in {r["name"] for r in kept}]
    causes = Causes()
    with tempfile.TemporaryDirectory() as place, workload() as pid, ThreadPoolExecutor(arguments.jobs) as pool:
        runner = Runner(arguments.sonde, Path(place), pid)
        results = list(pool.map(lambda each: judge(each, runner, causes, not arguments.no_run), chosen))
    wrappers = {script.name for script in found if script.is_wrapper}
    shown = [each._asdict() | {"failures": [f._asdict() for f in each.failures]} for each in results]
    document = {"wrappers": sorted(wrappers), "results": sorted(kept + shown, key=lambda each: each["name"])}
    Path(arguments.out).write_text(json.dumps(document, indent=1) + "\n")
    for each in results:
        why = "; ".join(f"{f.cause}: {f.name}" for f in each.failures)
        print(f"{each.name}: {each.compiles} {each.run} {why}".rstrip())


if __name__ == "__main__":
    main()
