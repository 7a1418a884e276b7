#!/usr/bin/env python3
"""Start each of bpftrace's own tools, from a checkout outside the project, and say what becomes of it.

    python3 tools/bpftrace_tools.py FOLDER [--seconds N]

FOLDER has scripts *.bt. Each is compiled, loaded and attached, and ended by SIGINT; as root. A script whose probes or
symbols this kernel does not have is named as such: a virtual machine with another kernel may have them. Ends with
status 1 if one does not run for another reason.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

NOTICE = "__BPFTRACE_NOTIFY_PROBES_ATTACHED"
"""With this variable in its environment the command says so when its probes are attached."""
LACKING = re.compile(r"No matches for|Failed to resolve kernel symbol|Cannot resolve unknown type|Undefined map: @$")


def outcome(script: Path, seconds: float) -> tuple[str, str]:
    """ "runs", "lacks" or "fails", and the first line of the messages."""
    command = [sys.executable, "-m", "sonde", "bt", str(script)]
    environment = {**os.environ, NOTICE: "1"}
    with tempfile.TemporaryFile("w+") as output:
        child = subprocess.Popen(command, stdout=output, stderr=output, stdin=subprocess.DEVNULL, env=environment)
        end = time.monotonic() + seconds
        attached = False
        while child.poll() is None and time.monotonic() < end and not attached:
            time.sleep(0.05)
            attached = NOTICE in os.pread(output.fileno(), 1 << 16, 0).decode(errors="replace")
        child.send_signal(signal.SIGINT)
        try:
            status = child.wait(seconds)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
            return "fails", "it does not end"
        output.seek(0)
        lines = [line for line in output.read().splitlines() if line.strip()]
    if attached and not status:
        return "runs", ""
    said = next((line for line in lines if "ERROR" in line), lines[0] if lines else f"status {status}")
    return ("lacks" if LACKING.search(said) else "fails"), said.partition("ERROR: ")[2] or said


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, default=30)
    given = parser.parse_args()
    found = {path.name: outcome(path, given.seconds) for path in sorted(given.folder.glob("*.bt"))}
    for word in ("lacks", "fails"):
        for name, (verdict, why) in found.items():
            if verdict == word:
                print(f"{word:6} {name:20} {why}")
    verdicts = [verdict for verdict, _ in found.values()]
    print(", ".join(f"{verdicts.count(word)} {word}" for word in ("runs", "lacks", "fails")))
    return int("fails" in verdicts)


if __name__ == "__main__":
    sys.exit(main())
