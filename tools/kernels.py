#!/usr/bin/env python3
"""Run the tests marked `every_kernel` on this kernel and on others, each in a virtual machine.

    tools/kernels.py [--runner COMMAND] [KERNEL ...]

The runner is a command that takes a kernel and a shell command, runs the latter in a machine with that kernel and this
machine's files, which may be read-only there, and ends with its exit status; also the variable SONDE_KERNEL_RUNNER.
Ends with 0 if all kernels pass, else 1.
"""

import argparse
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Nothing is written to the tree: where the tests run it may be read-only.
TESTS = (
    f"cd {shlex.quote(str(ROOT))} && PYTHONDONTWRITEBYTECODE=1 {shlex.quote(sys.executable)} -m pytest -q --tb=short"
    " -p no:cacheprovider --basetemp=/dev/shm/sonde-kernels -m every_kernel tests/kernel"
)


def run(title: str, words: list[str]) -> bool:
    """One kernel's tests, their output shown; whether they passed."""
    print(f"=== {title}", flush=True)
    begin = time.monotonic()
    status = subprocess.run(words, stdin=subprocess.DEVNULL).returncode
    result = "passed" if status == 0 else f"failed ({status})"
    print(f"=== {title}: {result}, {time.monotonic() - begin:.0f} s", flush=True)
    return status == 0


def main() -> int:
    parser = argparse.ArgumentParser(description="Run the tests for every kernel, here and in virtual machines.")
    parser.add_argument("kernels", nargs="*", metavar="KERNEL", help="what the runner takes as a kernel")
    parser.add_argument("--runner", default=os.environ.get("SONDE_KERNEL_RUNNER"), help="a command with its options")
    parser.add_argument("--not-here", action="store_true", help="leave this machine's kernel out")
    arguments = parser.parse_args()
    if arguments.kernels and not arguments.runner:
        parser.error("kernels need a --runner")
    here = [] if arguments.not_here else [run(f"this kernel, {os.uname().release}", ["sh", "-c", TESTS])]
    passed = here + [run(kernel, [*shlex.split(arguments.runner), kernel, TESTS]) for kernel in arguments.kernels]
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
