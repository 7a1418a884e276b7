"""How memory of a process is read to be shown as text (`notation`), and how the field of such a value is laid out.

The field has three words, HEAD bytes: the address where nothing was read, else 0, so that equal contents are one key of
an aggregation; the number of elements that the program named, NOT_READ where nothing was read; a limit in bytes, below
0 where only addresses are shown. The elements follow, or SLOTS: for each pointer or struct iovec the pointer, the
length there, how many bytes were read or NOT_READ, and the memory.
"""

from __future__ import annotations

from sonde.model.units import whole_words
from sonde.typed import NamedTuple

ELEMENTS, STRING, POINTERS, BUFFERS, POINTER_COUNT = "elements", "string", "pointers", "buffers", "count"
"""So many bytes for each element; characters up to a NUL; strings at pointers, up to a NULL; memory at each struct
iovec; how many pointers there are up to a NULL, where the address is kept."""

SLOTS = frozenset({POINTERS, BUFFERS})

NOT_READ = -1
HEAD, SLOT_HEAD = 24, 24
ADDRESS, COUNT, LIMIT = 0, 8, 16

MOST_ROOM = 1 << 15
"""Bytes of a value, as a record has to fit into its ring."""


class Reading(NamedTuple):
    """`size` bytes are shown of each element, buffer or string, `most` elements, or characters of the one string."""

    kind: str
    size: int
    most: int

    @property
    def slot(self) -> int:
        """Bytes of the memory of a slot: of a string also a character more, which tells that it is cut, and a NUL."""
        return whole_words(self.size + (2 if self.kind == POINTERS else 0))

    @property
    def room(self) -> int:
        """Bytes of the whole field."""
        match self.kind:
            case "string":
                return HEAD + whole_words(self.most + 2)
            case "pointers" | "buffers":
                return HEAD + self.most * (SLOT_HEAD + self.slot)
            case "elements":
                return HEAD + whole_words(self.size * self.most)
            case _:
                return HEAD

    @property
    def detail(self) -> str:
        """What a field says of it, behind the form's name."""
        return f"{self.size} {self.most}"
