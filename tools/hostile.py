#!/usr/bin/env python3
"""Give hostile files to everything that reads files: `hostile.py [COUNT [SEED]]`; needs no root, but gcc and binutils.

First comes every case of the table in tests/support/files/hostile_run.py: sections, notes and files of sizes that
nobody has, contents that become very many, files that are none. Then COUNT files (5,000) are drawn: mutated, cut
off, growing, shrinking, or swapped for something else while they are opened. A case ends well within 5 seconds of CPU
time and 512 MiB with a result or an error that is documented, and costs nobody else's names. The status is 1 if one
does not.
"""

import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PATHS = [f"{ROOT}/src", f"{ROOT}/tests"]
sys.path[:0] = PATHS

from support.files import hostile_samples  # noqa: E402 - of the tests


def run(directory, seed, count):
    """Print what does not end well, then what the worst cases took; how many there were that did not."""
    worker = f"{ROOT}/tests/unit/hostile_run.py"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(PATHS)}
    command = [sys.executable, worker, directory, str(seed), str(count)]
    last = ""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as worker:
        for line in worker.stdout:
            if line.startswith("{"):
                last = line
            else:
                print(line, end="", flush=True)
    if not last:
        print(f"the worker ended with status {worker.returncode}")
        return 1
    found = json.loads(last)
    (seconds, slowest), (size, largest) = found["slowest"], found["largest"]
    print(
        f"{found['cases']} cases, {found['faults']} faults; slowest {seconds:.2f} s ({slowest}); most memory {size} MiB"
    )
    print(f"  ({largest})", flush=True)
    return found["faults"]


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    with tempfile.TemporaryDirectory(prefix="sonde-hostile-") as directory:
        hostile_samples.make(directory)
        faults = run(directory, seed, 0) + (run(directory, seed, count) if count else 0)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
