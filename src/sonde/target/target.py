"""What a D program is compiled for: one machine, as a value."""

from __future__ import annotations

from sonde.typed import NamedTuple


class Target(NamedTuple):
    """The machine and kernel that compiled programs are for.

    `cpus` is the number of possible CPUs, as per-CPU maps count them. `features` are names of what the kernel and this
    user's privileges allow, as `sonde doctor` lists them. `namespace` is (device, inode) of sonde's pid namespace,
    None where it is the initial one. `realtime_offset` is wall clock minus CLOCK_MONOTONIC, in ns, at the start.
    `chips` has the physical package of each CPU, () if nobody asks.
    """

    architecture: str
    release: str
    cpus: int
    features: frozenset[str]
    namespace: tuple[int, int] | None = None
    realtime_offset: int = 0
    chips: tuple[int, ...] = ()
