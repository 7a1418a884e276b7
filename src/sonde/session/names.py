"""Names of addresses, looked up only if the report asks for one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from sonde.model.options import OptionTable
from sonde.symbols import process, symbolizer
from sonde.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from sonde.model.python_frames import PythonFrame
    from sonde.symbols.mappings import Mapping
    from sonde.symbols.process_events import ProcessEvent
    from sonde.symbols.symbolizer import SystemSymbolizer


class Names:
    """A symbolizer made when the first name is asked for: most traces ask for none.

    An address whose process is not known, a number that `%A` shows, is taken for one of `pid`, the traced process.
    """

    def __init__(self, options: OptionTable, pid: int = 0, is_recorded: bool = False) -> None:
        """`is_recorded`: processes are those of a recording, and not those that have their numbers today."""
        self._pid = pid
        self._is_recorded = is_recorded
        self._demangles = options.on("demangle")
        self._made: SystemSymbolizer | None = None
        self._make: Callable[[bool], SystemSymbolizer | None] = _nobodys
        self._python: Callable[[int], PythonFrame] | None = None

    def _system(self) -> symbolizer.SystemSymbolizer:
        if self._made is None:
            self._made = self._make(self._demangles)
        if self._made is None:
            processes = None
            if self._is_recorded:
                processes = process.ProcessNames(proc="")
            self._made = symbolizer.SystemSymbolizer(processes=processes, demangles=self._demangles)
        return self._made

    def come_from(self, make: Callable[[bool], SystemSymbolizer | None]) -> None:
        """Names are those of what this makes, given whether they are demangled; of this machine if that is None."""
        self._make = make

    def show_python(self, find: Callable[[int], PythonFrame]) -> None:
        """Functions of Python are named by this."""
        self._python = find

    def python(self, word: int) -> PythonFrame | None:
        return self._python(word) if self._python is not None else None

    @property
    def changes(self) -> int:
        return self._made.changes if self._made else 0

    def kernel(self, address: int) -> tuple[str, str, int] | None:
        return self._system().kernel(address)

    def user(self, pid: int, address: int) -> tuple[str, str | None, int] | None:
        return self._system().user(pid or self._pid, address)

    def start(self, pid: int, address: int) -> int | None:
        return self._system().start(pid or self._pid, address)

    def inlined(self, pid: int, address: int) -> tuple[str, ...]:
        return self._system().inlined(pid or self._pid, address)

    def mapping(self, pid: int, address: int) -> Mapping | None:
        return self._system().mapping(pid, address)

    def interrupts(self, pid: int, address: int) -> bool:
        return self._system().interrupts(pid or self._pid, address)

    def place(self, pid: int, address: int) -> tuple[str, int] | None:
        return self._system().place(pid or self._pid, address)

    def canonical(self, stack: bytes) -> bytes:
        """The one of all stacks of a process that have the same names."""
        return self._system().canonical(stack)

    def build(self, pid: int, address: int) -> tuple[str, int] | None:
        return self._system().build(pid or self._pid, address)

    def follow(self, pull: Callable[[], Iterable[ProcessEvent]]) -> None:
        self._system().follow(pull)

    def take(self, event: ProcessEvent) -> None:
        self._system().take(event)

    def follow_compiled(self, advance: Callable[[int], int | None]) -> bool:
        """Look at what code that processes have compiled is called by now; whether there is any."""
        return self._system().follow_compiled(advance)

    def release(self, held: Callable[[], Collection[int]]) -> None:
        self._system().release(lambda: {*held(), self._pid})

    @property
    def forgotten(self) -> int:
        return self._system().forgotten

    def remember(self, pid: int) -> bool:
        return self._system().remember(pid)

    def refused(self) -> list[tuple[str, str]]:
        """The paths of files that could not be read to the end as it takes too much, and why."""
        return self._made.refused() if self._made else []

    @property
    def without_cxx(self) -> str:
        """Why C++ names are shown as symbols, "" if they are not."""
        return self._made.without_cxx if self._made else ""

    def close(self) -> None:
        if self._made is not None:
            self._made.close()


def _nobodys(demangles: bool) -> SystemSymbolizer | None:
    return None
