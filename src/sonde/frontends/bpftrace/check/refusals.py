"""Functions that there are not, and why."""

from __future__ import annotations

REASONS = {
    "override": "no probe of sonde lets a function return without being run; inject() of D gives system calls results",
    "skboutput": "pcap() of D writes packets into files",
}
"""By their names."""
