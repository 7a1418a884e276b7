"""The numbers that stamps stand for on this machine, each found out when a program first asks for it."""

from __future__ import annotations

import os
from collections.abc import Callable

from sonde.machine import system
from sonde.model.errors import EngineError
from sonde.model.spec import Stamp
from sonde.symbols import kallsyms

FindSymbol = Callable[[str, str], int | None]
"""(module, name) -> the address of a kernel symbol, None if it is not known."""


def kallsyms_address(module: str, name: str) -> int | None:
    """As /proc/kallsyms has it."""
    found = kallsyms.Kallsyms().find(name, module)
    return found.address if found else None


class StampValues:
    """What each stamp but a cookie is. `process` is the process of -c or -p."""

    def __init__(self, process: int = 0, find_symbol: FindSymbol = kallsyms_address) -> None:
        self._process = process
        self._find_symbol = find_symbol
        self._known: dict[tuple[str, str], int] = {}

    def value(self, stamp: Stamp) -> int:
        """64 bits. Raises EngineError where the machine does not have what the stamp names."""
        key = stamp.kind, stamp.name
        if key not in self._known:
            self._known[key] = self._find(stamp) & (1 << 64) - 1
        return self._known[key]

    def _find(self, stamp: Stamp) -> int:
        match stamp.kind:
            case "realtime_offset":
                return system.realtime_offset()
            case "namespace_device" | "namespace_inode":
                device, inode = system.pid_namespace() or (0, 0)
                return device if stamp.kind == "namespace_device" else inode
            case "target":
                return self._process
            case "tracer":
                return os.getpid()
            case "symbol":
                return self._symbol(stamp.name)
        raise EngineError(f"a program asks for {stamp.kind!r}, which this version of sonde does not know")

    def _symbol(self, spelled: str) -> int:
        module, _, name = spelled.partition("`")
        address = self._find_symbol(module, name)
        if address is None:
            raise EngineError(f"this kernel has no symbol {spelled}, or /proc/kallsyms does not show its address")
        return address
