"""The BTF of the running kernel and of its modules, as CO-RE asks it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from socket import if_nameindex

from sonde.bpf.btf import Btf, BtfError
from sonde.model.probe import Firing, Packet
from sonde.objects.errors import ObjectError
from sonde.objects.sections import GENERAL

_FOLDER = "/sys/kernel/btf"


class RunningKernel:
    """Opens a BTF when it is first asked. Modules are asked only for what the kernel itself has not."""

    called = "this kernel"
    devices: Sequence[str] = ()

    has_fetching = False
    looks_at_calls = False

    def __init__(self, folder: str = _FOLDER, links_uprobes: bool = True) -> None:
        """`links_uprobes`: it has links of many uprobes, from Linux 6.6 on."""
        self._folder = folder
        self.links_uprobes = links_uprobes
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

    def lacks_section(self, prefix: str) -> tuple[str, str]:
        """The kernel has no general programs."""
        if prefix != GENERAL:
            return "", ""
        text = "the kernel has no general programs: there a program calls only those of its own type"
        return text, "--engine embedded runs them, over the processes of -c and -p"

    def lacks_firing(self, firing: Firing) -> tuple[str, str]:
        """That is known when the program is attached; but devices can be told at once."""
        if isinstance(firing, Packet) and firing.device not in (name for _, name in if_nameindex()):
            return f"there is no network device {firing.device}", "`ip link` lists those of this network namespace"
        return "", ""

    def lacks_call(self, caller: int, called: int) -> tuple[str, str]:
        """All programs that use an array of programs, and those in it, are of one type (bpf_prog_map_compatible,
        kernel/bpf/core.c)."""
        if caller == called:
            return "", ""
        return (
            "in the kernel programs call only those of their own type",
            f'with --engine embedded programs of all types may call general ones, SEC("{GENERAL}")',
        )

    def _modules(self) -> Iterator[Btf]:
        for name in sorted(os.listdir(self._folder)):
            if name != "vmlinux":
                try:
                    yield Btf.open(os.path.join(self._folder, name), self.main)
                except (OSError, BtfError):
                    continue
