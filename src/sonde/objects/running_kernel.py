"""The BTF of the running kernel and of its modules, as CO-RE asks it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from sonde.bpf.btf import Btf, BtfError
from sonde.objects.errors import ObjectError

_FOLDER = "/sys/kernel/btf"


class RunningKernel:
    """Opens a BTF when it is first asked. Modules are asked only for what the kernel itself has not."""

    def __init__(self, folder: str = _FOLDER) -> None:
        self._folder = folder
        self._main: Btf | None = None

    @property
    def main(self) -> Btf:
        """Raises ObjectError."""
        if self._main is None:
            try:
                self._main = Btf.open(os.path.join(self._folder, "vmlinux"))
            except (OSError, BtfError) as error:
                raise ObjectError(
                    f"it depends on the kernel's types, and the kernel's BTF cannot be read: {error}"
                ) from None
        return self._main

    def candidates(self, name: str, kinds: Iterable[int]) -> list[tuple[Btf, int]]:
        """The types of a name and one of these kinds: the kernel's, or, if it has none, those of its modules."""
        wanted = tuple(kinds)
        found = [(self.main, each) for each in self.main.find_all(name, *wanted)]
        if found:
            return found
        return [(module, each) for module in self._modules() for each in module.find_all(name, *wanted)]

    def _modules(self) -> Iterator[Btf]:
        for name in sorted(os.listdir(self._folder)):
            if name != "vmlinux":
                try:
                    yield Btf.open(os.path.join(self._folder, name), self.main)
                except (OSError, BtfError):
                    continue
