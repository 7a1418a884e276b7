"""What the translation of a program's parts shares: its code, what may be called, and the names its Python uses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from struct import Struct

from sonde.bpf import instructions as i
from sonde.bpf.instructions import Instruction
from sonde.runtime.machine.execution import Helpers, arity
from sonde.runtime.machine.memory import OFFSET_BITS, Buffer
from sonde.runtime.machine.translation.liveness import Registers
from sonde.typed import Any

ByMap = Mapping[int, Mapping[int, Callable[..., int]]]
"""By the number of a helper whose first argument is a map: by the map's handle, what to call with the other arguments
instead. The results are the helper's; those of `map_lookup_elem` are addresses or 0."""

FORMATS = {1: "B", 2: "H", 4: "I", 8: "Q"}


class Unit:
    """One program under translation. `names` becomes the globals of its Python."""

    def __init__(
        self, code: Sequence[Instruction], helpers: Helpers, by_map: ByMap, fixed: Mapping[int, Buffer],
        names: dict[str, Any],
    ) -> None:  # fmt: skip
        self.code = code
        self.helpers = helpers
        self.by_map = by_map
        self.fixed = fixed
        self.names = names
        self.counts_depth = False
        self.parameters: dict[int, Registers] = {}
        self._temporaries = 0
        self._constants = 0

    def temporary(self) -> str:
        """The name of a variable that nothing else uses."""
        self._temporaries += 1
        return f"t{self._temporaries}"

    def constant(self) -> str:
        """The name of a global that nothing else uses."""
        self._constants += 1
        return f"k{self._constants}"

    def bind(self, name: str, value: object) -> str:
        """A global name for the object, `name` with a number if that is taken by another one."""
        wanted, count = name, 1
        while self.names.setdefault(wanted, value) is not value:
            count += 1
            wanted = f"{name}_{count}"
        return wanted

    def load(self, size: int, is_signed: bool = False) -> str:
        """The name of the function (buffer, offset) -> (number,)."""
        form = FORMATS[size]
        name = f"{'i' if is_signed else 'u'}{8 * size}"
        if name not in self.names:
            self.names[name] = Struct("<" + (form.lower() if is_signed else form)).unpack_from
        return name

    def store(self, size: int) -> str:
        """The name of the function (buffer, offset, number)."""
        name = f"set{8 * size}"
        if name not in self.names:
            self.names[name] = Struct("<" + FORMATS[size]).pack_into
        return name

    def region(self, lo: int, hi: int, size: int) -> tuple[str, int] | None:
        """The name and the address of the buffer that every access of `size` bytes between `lo` and `hi` must be in,
        None if it is none that stays where it is."""
        number = lo >> OFFSET_BITS
        buffer = self.fixed.get(number)
        if buffer is None or hi + size > number + 1 << OFFSET_BITS:
            return None
        return self.bind(f"m{number & 0x7FFF}", buffer), number << OFFSET_BITS

    def call_reads(self, slot: int) -> Registers:
        """The registers that the call at `slot` reads."""
        x = self.code[slot]
        if x.opcode & i.X:
            return (1, 2, 3, 4, 5, *((x.dst,) if x.dst != i.R10 else ()))
        if x.src == i.CALL_LOCAL:
            return self.parameters.get(slot + 1 + x.imm, (1, 2, 3, 4, 5))
        helper = self.helpers.get(x.imm) if x.src == i.CALL_HELPER else None
        return tuple(range(1, 1 + arity(helper))) if helper else ()
