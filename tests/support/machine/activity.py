"""Something for a tracer to see: a machine that only runs tests is nearly silent."""

import contextlib
import os
import subprocess
import sys


@contextlib.contextmanager
def activity():
    """A shell that starts a process a hundred times a second, until the block ends."""
    process = subprocess.Popen(["sh", "-c", "while sleep 0.01; do :; done"])
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def busy(cpus):
    """A process that works without end on each of these CPUs: some virtual machines take no samples on a CPU that
    sleeps, so nothing that needs one ends there."""
    words = [sys.executable, "-c", "while True: pass"]
    processes = []
    own = os.sched_getaffinity(0)
    try:
        for cpu in cpus:
            os.sched_setaffinity(0, {cpu})
            processes.append(subprocess.Popen(words))
        os.sched_setaffinity(0, own)
        yield
    finally:
        os.sched_setaffinity(0, own)
        for process in processes:
            process.kill()
            process.wait()
