"""How much stack functions use: together (check_max_stack_depth() of kernel/bpf/verifier.c), and what is behind it."""

from __future__ import annotations

from sonde.runtime.verifier import stack
from sonde.runtime.verifier.checks import Problem
from sonde.runtime.verifier.exploration import MOST_FRAMES, RefusedError
from sonde.runtime.verifier.structure import MalformedError, ProgramStructure
from sonde.runtime.verifier.subject import Subject

_STEP = 16
"""A frame's size is a multiple of this."""

_MOST_BEFORE_TAIL_CALL = 256


def check_nesting(shape: ProgramStructure) -> None:
    """Raises MalformedError if a function calls itself, directly or through others."""
    called: dict[int, list[tuple[int, int]]] = {}
    for caller, function, at in shape.calls:
        called.setdefault(caller, []).append((function, at))
    done: set[int] = set()

    def follow(function: int, path: tuple[int, ...]) -> None:
        for target, site in called.get(function, ()):
            if target in path:
                raise MalformedError(site, "a function calls itself, directly or through others")
            if target not in done:
                follow(target, (*path, target))
        done.add(function)

    follow(0, (0,))


def check_depth(subject: Subject, shape: ProgramStructure) -> None:
    """Raises RefusedError if functions that call one another need more stack than there is; none calls itself."""
    if shape.tail_callers - {0} and not subject.program.btf:
        raise MalformedError(min(shape.tail_callers - {0}), "only functions that BTF describes can have a tail call")
    _Depth(subject, shape).follow(0, 0, 1, 0)


def check_used(subject: Subject) -> None:
    """Raises RefusedError if a value for a map lies deeper in a stack than that is ever written, or a key in a stack of
    which nothing is."""
    for doubt in subject.doubts.values():
        written = subject.written.get(doubt.function, 0)
        if written <= (0 if doubt.is_key else -doubt.high):
            raise RefusedError(doubt.at, doubt.state, Problem(
                f"r{doubt.register} leads to byte {doubt.low} of the stack, which was never written: {doubt.what}",
                doubt.register,
            ))  # fmt: skip


class _Depth:
    def __init__(self, subject: Subject, shape: ProgramStructure) -> None:
        self._used = subject.depths
        self._tail_callers = shape.tail_callers
        self._called: dict[int, list[tuple[int, int]]] = {}
        for caller, function, at in shape.calls:
            self._called.setdefault(caller, []).append((function, at))

    def follow(self, function: int, before: int, depth: int, at: int) -> None:
        """Look at a function that was called at `at`, with `before` bytes used by those above it."""
        if function in self._tail_callers and before >= _MOST_BEFORE_TAIL_CALL:
            raise RefusedError(at, None, Problem(
                f"it calls a function with a tail call while {before} bytes of stack are used, which may be "
                f"{_MOST_BEFORE_TAIL_CALL - 1} at most"
            ))  # fmt: skip
        used = before + -(-max(self._used.get(function, 0), 1) // _STEP) * _STEP
        if used > stack.SIZE:
            raise RefusedError(at, None, Problem(
                f"the functions active here need {used} bytes of stack together, and there are {stack.SIZE}"
            ))  # fmt: skip
        for target, site in self._called.get(function, ()):
            if depth == MOST_FRAMES:
                raise RefusedError(site, None, Problem(f"more than {MOST_FRAMES} functions are active in one another"))
            self.follow(target, used, depth + 1, site)
