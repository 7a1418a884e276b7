"""Whether a file of a kernel is that of the one that runs."""

from __future__ import annotations

from sonde.session.kernels import is_own, why_not_own


def is_own_kernel(path: str) -> bool:
    """Whether it is the running kernel's vmlinux, by its build id."""
    return is_own(path)


def why_not_own_kernel(path: str) -> str:
    """Why it is not, "" if it is."""
    return why_not_own(path)
