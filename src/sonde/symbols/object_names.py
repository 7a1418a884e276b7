"""Names for the addresses of one object, whatever process has mapped it where."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sonde.recent import Recent
from sonde.symbols.dwarf import function_starts, inlines
from sonde.symbols.elf import go_functions
from sonde.symbols.elf.costs import Costs
from sonde.symbols.elf.file import ElfError, ElfFile
from sonde.symbols.elf.plt import Linkage
from sonde.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from sonde.symbols.dwarf.function_starts import FunctionStarts
    from sonde.symbols.elf.go_functions import GoFunctions

_MOST, _MOST_INLINED = 1 << 14, 1 << 12
"""Answers kept of one object."""

_WORTH, _INLINED_WORTH = 0.001, 0.02
"""Seconds of reading that the answers for an address may take beside what preparing them takes."""


class ObjectNames:
    """`symbols` are the files that have its symbols, the best first. Answers are kept, since many processes ask."""

    def __init__(self, file: ElfFile, symbols: Sequence[ElfFile], path: str = "") -> None:
        """`path` is where the file can be opened once more, for its debug information."""
        self._path = path
        self._inlines_at: Callable[[int], tuple[str, ...]] | None = None
        self._inlined: Recent[int, tuple[str, ...]] = Recent(_MOST_INLINED)
        self.costs = file.costs
        # Debug information that costs too much does not cost the names of symbols as well.
        self.inline_costs = Costs()
        self._linkage = Linkage(file)
        self._symbols = tuple(symbols)
        self._file = file
        self._frames: FunctionStarts | None = None
        self._go: tuple[GoFunctions | None] | None = None
        self._starts: Recent[int, tuple[int | None]] = Recent(_MOST)
        self._known: Recent[int, tuple[tuple[str, int] | None]] = Recent(_MOST)

    def symbolize(self, address: int) -> tuple[str, int] | None:
        """The name of the symbol that has a link-time address in it, and the distance from its start."""
        known = self._known.get(address)
        if known is None:
            self.costs.allow(_WORTH)
            with self.costs:
                known = self._known.put(address, (self._find(address),))
        return known[0]

    def start(self, address: int) -> int | None:
        """The link-time address at which the function begins that has this one in it, if it has no symbol; None if that
        is not known."""
        known = self._starts.get(address)
        if known is None:
            self.costs.allow(_WORTH)
            with self.costs:
                known = self._starts.put(address, (self._find_start(address),))
        return known[0]

    def _find_start(self, address: int) -> int | None:
        try:
            if self._frames is None:
                self._frames = function_starts.FunctionStarts(self._file)
            return self._frames.start(address)
        except ElfError:
            return None

    def inlined(self, address: int) -> tuple[str, ...]:
        """The functions whose inlined copies a link-time address is in, the innermost first."""
        if self._inlines_at is None:
            found = inlines.open_inlines(self._path, self.inline_costs) if self._path else None
            self._inlines_at = found.at if found else lambda address: ()
        known = self._inlined.get(address)
        if known is None:
            self.inline_costs.allow(_INLINED_WORTH)
            with self.inline_costs:
                known = self._inlined.put(address, self._inlines_at(address))
        return known

    def _find(self, address: int) -> tuple[str, int] | None:
        try:
            found = self._linkage.symbolize(address)
        except ElfError:
            found = None
        for symbols in () if found else self._symbols:
            try:
                symbol = symbols.symbol_around(address)
            except ElfError:
                continue
            # A mark without a size names no function that begins behind it.
            if symbol is not None and (symbol.size or (self.start(address) or 0) <= symbol.address):
                return symbol.name.partition("@")[0], address - symbol.address
        return found or self._of_go(address)

    def _of_go(self, address: int) -> tuple[str, int] | None:
        """By the table of Go's runtime, for programs that were linked without symbols."""
        try:
            if self._go is None:
                self._go = (go_functions.go_functions(self._file),)
            found = self._go[0].around(address) if self._go[0] is not None else None
        except ElfError:
            return None
        return (found[0], address - found[1]) if found is not None else None
