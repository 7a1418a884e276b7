"""Names of addresses, looked up only if the report asks for one."""

from __future__ import annotations

from sonde.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from sonde.symbols.symbolizer import SystemSymbolizer


class Names:
    """A symbolizer made when the first name is asked for: most traces ask for none."""

    def __init__(self) -> None:
        self._made: SystemSymbolizer | None = None

    def _system(self) -> SystemSymbolizer:
        if self._made is None:
            from sonde.symbols.symbolizer import SystemSymbolizer

            self._made = SystemSymbolizer()
        return self._made

    def kernel(self, address: int) -> tuple[str, str, int] | None:
        return self._system().kernel(address)

    def user(self, pid: int, address: int) -> tuple[str, str | None, int] | None:
        return self._system().user(pid, address)

    def place(self, pid: int, address: int) -> tuple[str, int] | None:
        return self._system().place(pid, address)

    def remember(self, pid: int) -> bool:
        return self._system().remember(pid)
