"""What sections and probe lines name: functions of the kernel, and of files. Each list is read once for an object."""

from __future__ import annotations

from sonde.machine.tracefs import find_tracefs
from sonde.objects.errors import ObjectError
from sonde.providers.functions import TraceableFunctions
from sonde.symbols import functions
from sonde.symbols.elf import debug_files, indirect
from sonde.symbols.elf.file import ElfError, ElfFile
from sonde.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from sonde.symbols.functions import CodeObject


class TraceableCode:
    """Reads what it is asked for."""

    def __init__(self, looks_at_calls: bool = False) -> None:
        """`looks_at_calls`: as `CodeObject.return_obstacle` has it, of whoever traces."""
        self.looks_at_calls = looks_at_calls
        self._kernel: TraceableFunctions | None = None
        self._files: dict[str, CodeObject] = {}

    @property
    def kernel(self) -> TraceableFunctions:
        """The kernel's functions that can be traced."""
        if self._kernel is None:
            self._kernel = TraceableFunctions(find_tracefs())
        return self._kernel

    def traceable(self, name: str) -> list[tuple[str, bool]]:
        """The modules that have a function of that name, and whether it is the only one."""
        return [(each.module, each.is_unique) for each in self.kernel.matching("*", name)]

    def functions_of(self, path: str, section: str) -> CodeObject:
        """A file's functions, by its own symbols and those of its debug information. Raises ObjectError."""
        if path not in self._files:
            try:
                self._files[path] = _read(path)
            except OSError as error:
                raise ObjectError(f"{section}: {path}: {error.strerror}") from None
            except ElfError as error:
                raise ObjectError(f"{section}: {path}: {error}") from None
        return self._files[path]


def _read(path: str) -> functions.CodeObject:
    # What a uprobe alone needs.

    file = ElfFile.open(path)
    debug, _ = debug_files.find_debug_file(path, file)
    symbols = (debug.elf, file) if debug is not None else (file,)
    code = functions.CodeObject(path, path, indirect.Loaded(file, 0), symbols)
    _ = code.functions
    return code
