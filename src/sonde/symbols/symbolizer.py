"""Names for kernel and user addresses, for what prints stacks and symbols."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable

from sonde.arch import unwinding
from sonde.recent import Recent
from sonde.symbols.kallsyms import Kallsyms
from sonde.symbols.mappings import Mapping
from sonde.symbols.process import ProcessNames
from sonde.symbols.process_events import ProcessEvent
from sonde.symbols.source_names.demangle import Demangler
from sonde.typed import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from sonde.model.python_frames import PythonFrame

_MOST_OF_USER, _MOST_OF_KERNEL, _MOST_UNKNOWN = 1 << 16, 1 << 16, 1 << 12
"""Answers kept, some 300 bytes each: of processes, of the kernel, and of what had none."""

_PATIENCE = 0.05
"""Seconds after which an address that had no name is looked up again."""


class SymbolsOfKernel(Protocol):
    def symbolize(self, address: int) -> tuple[str, str, int] | None:
        """The module and name of the symbol at or before an address, and the distance from its start in bytes."""


class SystemSymbolizer:
    """The names this machine has now, or those that it is given; with `demangles` those of C++ and Rust as in the
    source.

    Answers are kept: a trace asks about the same addresses again and again.
    """

    def __init__(
        self, kallsyms: SymbolsOfKernel | None = None, processes: ProcessNames | None = None, demangles: bool = True
    ) -> None:
        self._demangler = Demangler()
        self._shown = self._demangler.name if demangles else str
        self._kallsyms: SymbolsOfKernel = kallsyms or Kallsyms()
        self._processes = processes or ProcessNames()
        self._kernel: Recent[int, tuple[tuple[str, str, int] | None]] = Recent(_MOST_OF_KERNEL)
        self._python: Callable[[int], PythonFrame] | None = None
        self._changes = 0
        self._unknown: Recent[tuple[int, int], float] = Recent(_MOST_UNKNOWN)
        """When to ask again."""
        self._user: Recent[tuple[int, int], tuple[str, str | None, int]] = Recent(_MOST_OF_USER)

    @property
    def changes(self) -> int:
        """Another number each time that an address may have got another name."""
        changes = self._processes.changes
        if changes != self._changes:
            self._changes = changes
            self._user.clear()
            self._unknown.clear()
        return changes

    def kernel(self, address: int) -> tuple[str, str, int] | None:
        """The module and name of a kernel symbol, and the offset of the address in it."""
        known = self._kernel.get(address)
        if known is None:
            found = self._kallsyms.symbolize(address)
            known = self._kernel.put(address, ((found[0], self._shown(found[1]), found[2]) if found else None,))
        return known[0]

    def user(self, process: int, address: int) -> tuple[str, str | None, int] | None:
        """The path of the object an address of a process is in, the symbol (None if it has none there), and the
        offset from the symbol's, or else the object's, start. None if the process is gone or the memory no file's."""
        key = process, address
        found = self._user.get(key)
        if found is None and time.monotonic() >= (self._unknown.get(key) or 0):
            found = self._processes.symbolize(process, address)
            if found is not None:
                path, symbol, offset = found
                return self._user.put(key, (path, self._shown(symbol) if symbol else symbol, offset))
            self._unknown.put(key, time.monotonic() + _PATIENCE)
        return found

    def start(self, process: int, address: int) -> int | None:
        """Where a function without a symbol begins in its object, None if that is not known."""
        return self._processes.start(process, address)

    def place(self, process: int, address: int) -> tuple[str, int] | None:
        """The path of the object, and the offset from its start, whatever symbol is there."""
        found = self._processes.place(process, address)
        return (found.path, found.linked) if found else None

    def canonical(self, stack: bytes) -> bytes:
        """The one of all stacks (`consume/stacks.py`) of a process in which each address has the same name."""
        return self._processes.canonical(stack)

    def build(self, process: int, address: int) -> tuple[str, int] | None:
        """The build id of the file that an address is in, and the offset in that file."""
        return self._processes.build(process, address)

    def mapping(self, process: int, address: int) -> Mapping | None:
        """What a process has, or had, mapped at an address."""
        return self._processes.mapping(process, address)

    def interrupts(self, process: int, address: int) -> bool:
        """Whether the handler of a signal returns to this address."""
        return self._processes.code(process, address, len(unwinding.SIGNAL_RETURN)) == unwinding.SIGNAL_RETURN

    def show_python(self, find: Callable[[int], PythonFrame]) -> None:
        """Words of stacks that stand for functions of Python are named by `find`: a session knows them, not the
        system."""
        self._python = find

    def python(self, word: int) -> PythonFrame | None:
        """The function of Python's that a word of a stack stands for; None where stacks have none."""
        return self._python(word) if self._python is not None else None

    def follow(self, pull: Callable[[], Iterable[ProcessEvent]]) -> None:
        """Ask `pull` what has happened to processes when an address is not known."""
        self._processes.follow(pull)

    def follow_compiled(self, advance: Callable[[int], int | None]) -> bool:
        """Look at what code that processes have compiled is called by now; `ProcessNames.follow_compiled`."""
        return self._processes.follow_compiled(advance)

    def release(self, held: Callable[[], Collection[int]]) -> None:
        """Give up what was kept for stacks of processes, but for those that `held` gives."""
        self._processes.release(held)

    @property
    def forgotten(self) -> int:
        """Past images of processes that were given up for want of room."""
        return self._processes.forgotten

    def inlined(self, process: int, address: int) -> tuple[str, ...]:
        """The functions whose inlined copies an address of a process is in, the innermost first."""
        return tuple(map(self._shown, self._processes.inlined(process, address)))

    def take(self, event: ProcessEvent) -> None:
        """What has happened to a process's mappings."""
        self._processes.take(event)

    def remember(self, pid: int) -> bool:
        """Read a process's mappings now, so that its addresses can be named after it has ended; False if it is gone."""
        found = self._processes.look(pid)
        if found:
            self._processes.keep_files(pid)
        return found

    def refused(self) -> list[tuple[str, str]]:
        """The paths of files that could not be read to the end as it takes too much, and why."""
        return self._processes.refused()

    @property
    def without_cxx(self) -> str:
        """Why C++ names are shown as symbols, "" if they are not."""
        return self._demangler.missing

    def close(self) -> None:
        """End what was started to find names."""
        self._demangler.close()
        self._processes.close()
