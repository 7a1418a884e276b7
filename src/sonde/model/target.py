"""What a D program is compiled for: one machine, as a value."""

from __future__ import annotations

from sonde.typed import NamedTuple


class Target(NamedTuple):
    """The machine and kernel that compiled programs are for.

    `features` are names of what the kernel and this user's privileges allow, as `sonde doctor` lists them; without any
    the programs suit every kernel. `initial_namespace`: the programs are for the initial pid namespace only, else for
    whatever pid namespace they are loaded in. `portable`: they are to run on other kernels as well, so that what a
    helper tells is not read from the kernel's structures. `refused_functions` are those of the kernel that it takes no
    fentry programs for, of those that are to be probed. What else differs between machines is a `Stamp` or a map
    `by_cpu`.
    """

    architecture: str
    release: str
    features: frozenset[str] = frozenset()
    initial_namespace: bool = True
    portable: bool = False
    refused_functions: frozenset[str] = frozenset()


def is_older(target: Target, version: tuple[int, int]) -> bool:
    """Whether the kernel is known to be before (major, minor): with -k its release is only what a file is called."""
    parts = target.release.split("-")[0].split(".")[:2]
    numbers = tuple(int(part) for part in parts if part.isdecimal())
    return len(numbers) == 2 and numbers < version
