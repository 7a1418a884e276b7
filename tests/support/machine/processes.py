"""Processes as /proc tells of them."""

from pathlib import Path

from sonde.machine import proc


def children(pid):
    """The processes that any of its threads has made and that still run; [] where the kernel does not tell."""
    found = []
    for tid in proc.threads(pid):
        try:
            found += map(int, Path(f"/proc/{pid}/task/{tid}/children").read_text().split())
        except FileNotFoundError:
            continue
    return found
