"""Functions that there are not, and why."""

from __future__ import annotations

_OVERRIDE = "override"

REASONS = {
    _OVERRIDE: "no probe of sonde lets a function return without being run; inject() of D gives system calls results",
}
"""By their names."""


def refusal(name: str, probe_type: str, is_unsafe: bool) -> str:
    """Why a function is refused in a probe of that type, "" for one that there is not at all. What would be wrong with
    its use anyway comes first."""
    if name == _OVERRIDE and probe_type != "kprobe":
        return "override() can only be used inside kprobes"
    if name == _OVERRIDE and not is_unsafe:
        return "override() is unsafe. To use you need the --unsafe flag"
    return f"{name}() is not supported: {REASONS[name]}" if name in REASONS else ""
