"""Processes of stacks that are shown alike: a generation is to be seen only where it changes a name.

A process maps code again and again, and stacks of each generation are keys of their own. Where all frames of one were
mapped at the same places before, it stands for the first of these generations. Of a process that replaces code without
end only so many are compared: the others are shown for themselves, with their names.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from sonde.recent import Recent
from sonde.symbols.images import Image, Images, split

_ADDRESS = 8
"""Bytes of an address in a stack as a value."""

_MOST_PROCESSES, _MOST_STACKS = 1 << 14, 1 << 16
_MOST_COMPARED = 32


class SameNames:
    """`settle` takes up what a process has mapped by the time that its stack was taken; `origin` is what names an
    address in an image of a process, by its pid."""

    def __init__(
        self, images: Images, settle: Callable[[int], None], origin: Callable[[int, Image, int], object]
    ) -> None:
        self._images, self._settle, self._origin = images, settle, origin
        self._replaced = 0
        self._processes: Recent[bytes, tuple[bytes, Image | None]] = Recent(_MOST_PROCESSES)
        self._stacks: Recent[bytes, bytes] = Recent(_MOST_STACKS)
        self._unknown: Recent[int, bytes] = Recent(_MOST_PROCESSES)

    def canonical(self, stack: bytes) -> bytes:
        """The stack (`consume/stacks.py`), of the first process that had all of it."""
        head = stack[:_ADDRESS]
        if self._images.replaced != self._replaced:
            self._replaced = self._images.replaced
            self._processes.clear()
            self._stacks.clear()
        known = self._processes.get(head)
        if known is None:
            known = self._processes.put(head, self._look(head))
        first, image = known
        if image is None:
            return first + stack[_ADDRESS:] if first != head else stack
        found = self._stacks.get(stack)
        if found is None:
            found = self._stacks.put(stack, self._of_images(head, image, stack))
        return found

    def _look(self, head: bytes) -> tuple[bytes, Image | None]:
        """The bytes of the process in the first generation of its image, and that image if there are earlier ones."""
        process = int.from_bytes(head, "big")
        pid, mark = split(process)
        if not mark:
            return head, None
        self._settle(process)
        image = self._images.find(process)
        if image is None:
            # Of what nobody knows no generation has names: they are one.
            return self._unknown.get(pid) or self._unknown.put(pid, head), None
        return _head(pid, image), image if self._images.earlier(pid, image, 1) else None

    def _of_images(self, head: bytes, own: Image, stack: bytes) -> bytes:
        pid, _ = split(int.from_bytes(head, "big"))
        addresses = struct.unpack_from(f">{len(stack) // _ADDRESS - 1}Q", stack, _ADDRESS)
        wanted = [(each, self._origin(pid, own, each)) for each in addresses]
        for image in self._images.earlier(pid, own, _MOST_COMPARED):
            if all(self._origin(pid, image, each) == origin for each, origin in wanted):
                return _head(pid, image) + stack[_ADDRESS:]
        return _head(pid, own) + stack[_ADDRESS:]


def _head(pid: int, image: Image) -> bytes:
    return (image.mark << 32 | pid).to_bytes(_ADDRESS, "big")
