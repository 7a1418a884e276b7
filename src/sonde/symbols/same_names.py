"""Processes of stacks that are shown alike: a generation is to be seen only where it changes a name.

A process maps code again and again, and stacks of each generation are keys of their own. Where all frames of one were
mapped at the same places before, it stands for the first of these generations.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

from sonde.recent import Recent
from sonde.symbols.images import Image, Images, split

_ADDRESS = 8
"""Bytes of an address in a stack as a value."""

_MOST_PROCESSES, _MOST_STACKS = 1 << 14, 1 << 16


class SameNames:
    """`settle` takes up what a process has mapped by the time that its stack was taken; `origin` is what names an
    address in an image of a process, by its pid."""

    def __init__(
        self, images: Images, settle: Callable[[int], None], origin: Callable[[int, Image, int], object]
    ) -> None:
        self._images, self._settle, self._origin = images, settle, origin
        self._replaced = 0
        self._processes: Recent[bytes, tuple[bytes, Sequence[Image]]] = Recent(_MOST_PROCESSES)
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
        first, images = known
        if len(images) < 2:
            return first + stack[_ADDRESS:] if first != head else stack
        found = self._stacks.get(stack)
        if found is None:
            found = self._stacks.put(stack, self._of_images(head, images, stack))
        return found

    def _look(self, head: bytes) -> tuple[bytes, Sequence[Image]]:
        """The bytes of the process in its first generation, and the images up to that of the process."""
        process = int.from_bytes(head, "big")
        pid, mark = split(process)
        if not mark:
            return head, ()
        self._settle(process)
        image = self._images.find(process)
        if image is None:
            # Of what nobody knows no generation has names: they are one.
            return self._unknown.get(pid) or self._unknown.put(pid, head), ()
        images = self._images.all(pid)
        earlier = [each for each in images[: images.index(image) + 1] if each.base == image.base]
        return _head(pid, image), earlier

    def _of_images(self, head: bytes, images: Sequence[Image], stack: bytes) -> bytes:
        pid, _ = split(int.from_bytes(head, "big"))
        addresses = struct.unpack_from(f">{len(stack) // _ADDRESS - 1}Q", stack, _ADDRESS)
        wanted = [self._origin(pid, images[-1], each) for each in addresses]
        for image in images:
            if [self._origin(pid, image, each) for each in addresses] == wanted:
                return _head(pid, image) + stack[_ADDRESS:]
        return stack


def _head(pid: int, image: Image) -> bytes:
    return (image.mark << 32 | pid).to_bytes(_ADDRESS, "big")
