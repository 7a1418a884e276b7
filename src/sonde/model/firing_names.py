"""What scripts have asked of a recording in vain, by probe and name, for one message at the end."""

from __future__ import annotations

OF_KERNEL = "memory of the kernel", "a string of the kernel"
"""What is said of the kernel's memory behind no argument: --record-reads keeps what documented arguments and the
variables of the thread tell."""


class MissingParts:
    """`wider`: those that `--record-reads` would have kept, at least in part, unless the recording `is_wide`; of
    memory of the kernel that it may have kept the script that asks is named, too."""

    def __init__(self, is_wide: bool = False) -> None:
        self._is_wide = is_wide
        self._counts: dict[tuple[str, str], int] = {}
        self._wider: set[tuple[str, str]] = set()
        self._remedies: dict[tuple[str, str], str] = {}

    def note(self, probe: str, what: str, is_wider: bool, remedy: str = "") -> None:
        """`remedy` is what would help, where that is not to record another script or more of this one."""
        key = probe, what
        if remedy:
            self._remedies[key] = remedy
        self._counts[key] = self._counts.get(key, 0) + 1
        if is_wider and not self._is_wide:
            self._wider.add(key)

    def sentences(self) -> list[tuple[str, str]]:
        """For each what is said, and what would help."""
        found = []
        for (probe, what), count in self._counts.items():
            times = "a firing" if count == 1 else f"{count} firings"
            remedy = "record with --record-reads" if (probe, what) in self._wider else "record the script that asks"
            if what in OF_KERNEL and not self._is_wide:
                remedy = "record with --record-reads, or the script that asks"
            remedy = self._remedies.get((probe, what), remedy)
            found.append((f"the recording does not hold {what} of {times} of {probe}", remedy))
        return found
