"""The processor and the memory of this machine, as perf has them in a file's header."""

from __future__ import annotations

from sonde.untrusted import kernel_lines


def processor(root: str = "/proc") -> str:
    """The processor's name, "" if it is not told."""
    return _value(f"{root}/cpuinfo", "model name")


def memory(root: str = "/proc") -> int:
    """The memory in kB, 0 if it is not told."""
    number = _value(f"{root}/meminfo", "MemTotal").partition(" ")[0]
    return int(number) if number.isdigit() else 0


def _value(path: str, name: str) -> str:
    """What stands behind a name and a colon."""
    try:
        for line in kernel_lines(path):
            found, _, value = line.partition(":")
            if found.strip() == name:
                return value.strip()
    except OSError:
        pass
    return ""
