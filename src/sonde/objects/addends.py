"""What the immediate of a relocated instruction means.

It is the addend, as in every REL section. But GNU as before 2.41 writes the symbol's own value into it, too, where the
relocation names a global symbol: into an LD_IMM64 in bytes, into a call in bytes less one.
"""

from __future__ import annotations

from collections.abc import Iterable

from sonde.objects.elf import STT_SECTION, Relocation, Symbol


class Addends:
    """Tells the two apart, which look alike for one symbol, by all of an object."""

    def __init__(self, immediates: Iterable[tuple[Relocation, int]], is_gnu: bool) -> None:
        """`immediates` are those of LD_IMM64; `is_gnu`: by GNU as, of whatever version."""
        plain = absolute = False
        for relocation, immediate in immediates:
            symbol = relocation.symbol
            if symbol.kind != STT_SECTION and symbol.value:
                as_addend = 0 <= immediate <= symbol.size
                as_offset = symbol.value <= immediate <= symbol.value + symbol.size
                plain = plain or (as_addend and not as_offset)
                absolute = absolute or (as_offset and not as_addend)
        self._has_value = absolute or (is_gnu and not plain)

    def offset(self, symbol: Symbol, immediate: int) -> int:
        """Where an LD_IMM64 points, from the start of the symbol's section."""
        if symbol.kind == STT_SECTION or not self._has_value:
            return symbol.value + immediate
        return immediate

    def called(self, symbol: Symbol, immediate: int) -> int:
        """Where the function that is called begins, likewise: nothing calls a place behind a named function's start."""
        return symbol.value if symbol.kind != STT_SECTION else symbol.value + 8 * (immediate + 1)
