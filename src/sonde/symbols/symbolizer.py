"""Names for kernel and user addresses, for what prints stacks and symbols."""

from __future__ import annotations

from sonde.symbols.kallsyms import Kallsyms
from sonde.symbols.process import Objects, ProcessSymbols


class SystemSymbolizer:
    """The names this machine has now. Answers are kept: a trace asks about the same addresses again and again."""

    def __init__(self, kallsyms: Kallsyms | None = None) -> None:
        self._kallsyms = kallsyms or Kallsyms()
        self._objects = Objects()
        self._processes: dict[int, ProcessSymbols] = {}
        self._kernel: dict[int, tuple[str, str, int] | None] = {}
        self._user: dict[tuple[int, int], tuple[str, str | None, int] | None] = {}

    def kernel(self, address: int) -> tuple[str, str, int] | None:
        """The module and name of a kernel symbol, and the offset of the address in it."""
        if address not in self._kernel:
            self._kernel[address] = self._kallsyms.symbolize(address)
        return self._kernel[address]

    def user(self, pid: int, address: int) -> tuple[str, str | None, int] | None:
        """The path of the object an address of a process is in, the symbol (None if it has none there), and the
        offset from the symbol's, or else the object's, start. None if the process is gone or the memory no file's."""
        key = pid, address
        if key not in self._user:
            self._user[key] = self._process(pid).symbolize(address)
        return self._user[key]

    def place(self, pid: int, address: int) -> tuple[str, int] | None:
        """The path of the object, and the offset from its start, whatever symbol is there."""
        return self._process(pid).place(address)

    def remember(self, pid: int) -> bool:
        """Read a process's mappings now, so that its addresses can be named after it has ended; False if it is gone.

        To be called again after the process has executed another program.
        """
        self._user = {key: value for key, value in self._user.items() if key[0] != pid}
        return self._process(pid).refresh()

    def _process(self, pid: int) -> ProcessSymbols:
        found = self._processes.get(pid)
        if found is None:
            found = self._processes[pid] = ProcessSymbols(pid, self._objects)
        return found
