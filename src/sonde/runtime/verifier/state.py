"""The state of a path: frames with their registers and stacks, and the references that it holds.

Everything in it is an immutable value but the lists and dictionaries of the frames themselves, so a copy of a state
is a copy of those few.
"""

from __future__ import annotations

from collections.abc import Callable

from sonde.runtime.verifier.scalar import UNKNOWN, ZERO, ScalarValue
from sonde.runtime.verifier.stack import Stack, StackSlot
from sonde.runtime.verifier.values import PACKETS, RESERVED, STACK, PointerValue, Value

READABLE = 11


class Activation:
    """A function's activation. `function` is its first instruction, `site` the call it comes from, -1 for the program
    itself; `callback` whether a helper called it there, and `held` the references that were held then."""

    __slots__ = ("callback", "function", "held", "registers", "site", "stack")

    def __init__(self, function: int, site: int, depth: int, callback: bool = False) -> None:
        self.function = function
        self.site = site
        self.callback = callback
        self.held: tuple[int, ...] = ()
        self.registers: list[Value] = [None] * READABLE
        self.registers[10] = PointerValue(STACK, referent=depth)
        self.stack: Stack = {}

    def copy(self) -> Activation:
        made = Activation.__new__(Activation)
        made.function, made.site, made.callback, made.held = self.function, self.site, self.callback, self.held
        made.registers = self.registers.copy()
        made.stack = self.stack.copy()
        return made


class State:
    """`frame` is the last of `frames`; `calls` are, of each call that they come from, the place, the function
    and how many references were held.
    `references` are the ids of records that are still to be released."""

    __slots__ = ("calls", "frame", "frames", "references")

    def __init__(self, frame: Activation) -> None:
        self.frames = [frame]
        self.frame = frame
        self.calls: tuple[int, ...] = ()
        self.references: tuple[int, ...] = ()

    def copy(self) -> State:
        made = State.__new__(State)
        made.frames = [frame.copy() for frame in self.frames]
        made.frame = made.frames[-1]
        made.calls = self.calls
        made.references = self.references
        return made

    def enter(self, frame: Activation) -> None:
        """A function begins."""
        self.frames.append(frame)
        self.frame = frame
        self.calls = (*self.calls, frame.site, frame.function, len(frame.held))

    def leave(self) -> Activation:
        """Take the last frame away and return it."""
        left = self.frames.pop()
        self.frame = self.frames[-1]
        self.calls = self.calls[:-3]
        return left

    def replace(
        self,
        wanted: Callable[[PointerValue | ScalarValue], bool],
        value: Callable[[PointerValue | ScalarValue], PointerValue | ScalarValue],
    ) -> None:
        """Put something else in the place of every register and spilled value that is wanted."""
        for frame in self.frames:
            registers = frame.registers
            for n, held in enumerate(registers):
                if held is not None and wanted(held):
                    registers[n] = value(held)
            for n, slot in frame.stack.items():
                if slot.value is not None and wanted(slot.value):
                    frame.stack[n] = StackSlot(slot.kinds, value(slot.value))

    def relate(self, known: ScalarValue) -> None:
        """All copies of a number are known as well as this one."""
        identity = known.id
        self.replace(lambda held: type(held) is ScalarValue and held.id == identity, lambda _held: known)

    def decide(self, identity: int, is_null: bool) -> None:
        """The pointers with this id are 0, or they are not."""

        def decided(held: PointerValue | ScalarValue) -> PointerValue | ScalarValue:
            assert isinstance(held, PointerValue)
            return ZERO if is_null else held._replace(maybe_null=False, id=held.id if held.kind in RESERVED else 0)

        self.replace(lambda held: type(held) is PointerValue and held.id == identity and held.maybe_null, decided)
        if is_null:
            self.references = tuple(each for each in self.references if each != identity)

    def release(self, identity: int) -> None:
        """A record is given back: the pointers into it are but numbers from here on."""
        self.references = tuple(each for each in self.references if each != identity)
        self.replace(
            lambda held: type(held) is PointerValue and held.kind in RESERVED and held.id == identity,
            lambda _held: UNKNOWN,
        )

    def lose_packet(self) -> None:
        """The packet was moved or cut: the pointers into it are but numbers from here on."""
        self.replace(lambda held: type(held) is PointerValue and held.kind in PACKETS, lambda _held: UNKNOWN)


class Identities:
    """Numbers for values whose copies have to be recognised, and where each comes from."""

    def __init__(self) -> None:
        self.origins = [0]

    def give(self, instruction: int) -> int:
        """A number that no other value has, for one that comes from this instruction."""
        self.origins.append(instruction)
        return len(self.origins) - 1
