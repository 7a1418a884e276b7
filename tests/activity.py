"""Something for a tracer to see: a machine that only runs tests is nearly silent."""

import contextlib
import subprocess


@contextlib.contextmanager
def activity():
    """A shell that starts a process a hundred times a second, until the block ends."""
    process = subprocess.Popen(["sh", "-c", "while sleep 0.01; do :; done"])
    try:
        yield process
    finally:
        process.kill()
        process.wait()
