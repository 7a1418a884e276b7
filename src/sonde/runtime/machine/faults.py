"""What ends a run: the program did something that the machine does not let it do."""

from __future__ import annotations


class RunError(Exception):
    """The run ended where it was; what the program had written until then stays."""


class AccessError(RunError):
    """An access to `size` bytes at `address` that no region has, or a write to one that is read-only."""

    def __init__(self, address: int, size: int, is_write: bool = False) -> None:
        super().__init__(f"invalid {'write' if is_write else 'read'} of {size} bytes at {address:#x}")
        self.address = address
        self.size = size
        self.is_write = is_write


class DepthError(RunError):
    """More frames than the machine has."""

    def __init__(self) -> None:
        super().__init__(f"more than {MAXIMUM_FRAMES} nested calls")


class BudgetError(RunError):
    """The program ran longer than its budget of instructions allows."""

    def __init__(self) -> None:
        super().__init__("the budget of instructions is used up")


class TurnsError(RunError):
    """Helpers have called functions of the program back as often as the loops of one firing may; the last began at
    instruction `at`."""

    def __init__(self, at: int) -> None:
        super().__init__("the turns of a firing are used up")
        self.at = at


class CallError(RunError):
    """A call through a register, or of a helper, that leads nowhere."""

    def __init__(self, number: int) -> None:
        super().__init__(f"nothing to call is known by the number {number:#x}")


MAXIMUM_FRAMES = 8
"""Functions of a program that run nested, the first included (MAX_CALL_FRAMES, include/linux/bpf_verifier.h)."""
