"""What knows the names of addresses: the report only asks for them when it prints."""

from __future__ import annotations

from sonde.typed import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from sonde.model.python_frames import PythonFrame


class Symbolizer(Protocol):
    """Names for addresses, of the kernel and of processes."""

    @property
    def changes(self) -> int:
        """Another number each time that an address may have got another name."""

    def kernel(self, address: int) -> tuple[str, str, int] | None:
        """(module, symbol, offset into the symbol), None if no symbol is there; `vmlinux` is the kernel itself."""

    def user(self, pid: int, address: int) -> tuple[str, str | None, int] | None:
        """(path of the mapped object, symbol or None, offset), None if nothing is mapped there.

        The offset is into the symbol, or into the object where there is no symbol.
        """

    def start(self, pid: int, address: int) -> int | None:
        """Where a function without a symbol begins in its object, None if that is not known."""

    def inlined(self, pid: int, address: int) -> tuple[str, ...]:
        """The functions whose inlined copies an address is in, the innermost first."""

    def interrupts(self, pid: int, address: int) -> bool:
        """Whether the handler of a signal returns to this address: the next frame was interrupted."""

    def place(self, pid: int, address: int) -> tuple[str, int] | None:
        """(path of the mapped object, offset into it), None if nothing is mapped there."""

    def build(self, pid: int, address: int) -> tuple[str, int] | None:
        """(build id of the mapped file in hexadecimal digits, offset into the file), None if there is none."""

    def python(self, word: int) -> PythonFrame | None:
        """The function of Python's that a word of a stack stands for (`model/python_frames.py`), NOT_KNOWN if its name
        is not known; None where stacks have none."""


class NoNames:
    """A symbolizer that knows nothing: addresses are shown as numbers."""

    changes = 0

    def kernel(self, address: int) -> tuple[str, str, int] | None:
        return None

    def user(self, pid: int, address: int) -> tuple[str, str | None, int] | None:
        return None

    def start(self, pid: int, address: int) -> int | None:
        return None

    def inlined(self, pid: int, address: int) -> tuple[str, ...]:
        return ()

    def interrupts(self, pid: int, address: int) -> bool:
        return False

    def place(self, pid: int, address: int) -> tuple[str, int] | None:
        return None

    def build(self, pid: int, address: int) -> tuple[str, int] | None:
        return None

    def python(self, word: int) -> PythonFrame | None:
        return None
