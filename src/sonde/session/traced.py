"""What a session needs of a process that it traces."""

from __future__ import annotations

from sonde.typed import Protocol


class Traced(Protocol):
    """A process whose end ends the session."""

    pid: int
    descriptor: int

    def prepare(self) -> None:
        """Have it be what is to be traced, where it is not yet. Raises SessionError."""

    def resume(self) -> None: ...

    def collect(self) -> int | None:
        """The status of a command that has ended, as wait(2) gives it; None for others."""

    def close(self) -> None: ...
