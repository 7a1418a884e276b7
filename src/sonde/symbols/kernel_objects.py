"""The kernel and its modules as objects with functions and debug information, opened when they are asked for."""

from __future__ import annotations

import os
from collections.abc import Callable

from sonde.symbols.build_ids import build_id, notes_of_kernel, notes_of_module
from sonde.symbols.dwarf import information, relocated
from sonde.symbols.elf.costs import SPEED
from sonde.symbols.elf.errors import DebugInfoError
from sonde.symbols.elf.file import ElfError, ElfFile
from sonde.symbols.elf.indirect import Loaded
from sonde.symbols.functions import CodeObject
from sonde.symbols.kernel_files import (
    VMLINUX,
    FoundFile,
    KernelBuild,
    ModuleFiles,
    has_code,
    open_module,
    vmlinux_places,
    with_information,
)
from sonde.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from sonde.symbols.dwarf.information import DebugInformation

_OWN_BTF = "/sys/kernel/btf/vmlinux"


class KernelObjects:
    """Those of one kernel: that of this machine, or the one whose vmlinux is given."""

    def __init__(self, given: str = "", is_other: bool = False, build: KernelBuild | None = None, sys: str = "/sys"
                 ) -> None:  # fmt: skip
        """`given` is the path of vmlinux, "" to look for it; `is_other`: it is not that of the running kernel."""
        self._given = given
        self._is_other = is_other
        self._build = build or KernelBuild(os.uname().release)
        self._sys = sys
        self._modules = ModuleFiles(self._build)
        self._known: dict[str, CodeObject] = {}
        self._failures: dict[str, str] = {}

    @property
    def is_other(self) -> bool:
        """Whether it is another kernel's vmlinux that was given, of whose modules nothing is known."""
        return self._is_other

    def of(self, module: str) -> CodeObject:
        """The object of a module, `vmlinux` for the kernel itself. Raises DebugInfoError, each time the same."""
        if module in self._failures:
            raise DebugInfoError(self._failures[module])
        if module not in self._known:
            try:
                self._known[module] = self._vmlinux() if module == VMLINUX else self._module(module)
            except (DebugInfoError, ElfError, OSError) as error:
                self._failures[module] = _said(error, self._given)
                raise DebugInfoError(self._failures[module]) from None
        return self._known[module]

    def with_source(self, file: str) -> list[str]:
        """The loaded modules whose debug information may know a source file, by what its name ends in."""
        if self._is_other:
            return []
        try:
            loaded = sorted(os.listdir(f"{self._sys}/module"))
        except OSError:
            return []
        name = os.path.basename(file).encode(errors="surrogateescape") + b"\0"
        # Modules that are built in have no state.
        there = [each for each in loaded if os.path.exists(f"{self._sys}/module/{each}/initstate")]
        return [each for each in there if self._mentions(each, name)]

    def _mentions(self, module: str, name: bytes) -> bool:
        try:
            elf = self._module_file(module).elf
            return any((elf.section(each) or b"").find(name) >= 0 for each in _NAMES_OF_FILES)
        except (DebugInfoError, ElfError, OSError):
            return False

    def build_id(self, module: str) -> str:
        """The build of a module, as the running kernel tells; of another kernel as its file does."""
        if self._is_other:
            return (self.of(module).loaded.file.build_id or "") if module == VMLINUX else ""
        return build_id(notes_of_kernel(self._sys) if module == VMLINUX else notes_of_module(module, self._sys))

    def _vmlinux(self) -> CodeObject:
        known = self.build_id(VMLINUX) if not self._is_other else ""
        places = [self._given] if self._given else vmlinux_places(self._build, known)
        try:
            found = with_information(f"the kernel ({self._build.release})", places, known)
        except DebugInfoError as error:
            raise DebugInfoError(f"{error}. {_REMEDY}") from None
        return _object(VMLINUX, found)

    def _module(self, module: str) -> CodeObject:
        if self._is_other:
            raise DebugInfoError(f"of another kernel's modules nothing is known: {module}")
        # What relocation needs, as most of what is traced in the kernel does not.

        found = self._module_file(module)
        found.elf.costs.allow(found.elf.on_disk / SPEED)
        code = None if has_code(found.elf) else self._module_code(module)
        file = relocated.relocated(found.elf, code)
        return _object(module, FoundFile(found.path, file), lambda: information.linked_information(found.path, file))

    def _module_file(self, module: str) -> FoundFile:
        """The file with the debug information of a module."""
        known = self.build_id(module)
        places = self._modules.places(module, known)
        try:
            return with_information(f"module {module}", places, known, open_module)
        except DebugInfoError as error:
            raise DebugInfoError(f"{error}. {_REMEDY}") from None

    def _module_code(self, module: str) -> ElfFile | None:
        """The file that the module was loaded from, whose code its separate debug information lacks."""
        known = self.build_id(module)
        for path in self._modules.places(module, ""):
            try:
                found = open_module(path)
            except (OSError, ElfError):
                continue
            if found.build_id == (known or None) and has_code(found):
                return found
        return None


_NAMES_OF_FILES = (".debug_line_str", ".debug_line", ".debug_str")

_REMEDY = (
    "Install the distribution's package with it (Debian: linux-image-$(uname -r)-dbg), or name the file, -k VMLINUX"
)


def _object(name: str, found: FoundFile, open_information: Callable[[], DebugInformation] | None = None) -> CodeObject:
    file = found.elf
    if not any(segment.file_size and segment.flags & 1 for segment in file.segments):
        raise DebugInfoError(f"{found.path} has no code beside its debug information: the whole file is needed")
    # Whoever traces the kernel waits for it, as for an object that is named for its debug information.
    file.costs.allow(file.on_disk / SPEED)
    return CodeObject(name, found.path, Loaded(file, 0), (file,), found.path, open_information=open_information)


def why_not_running(path: str) -> str:
    """Why a file is not the vmlinux of the running kernel, "" if it is."""
    try:
        if os.path.samefile(path, _OWN_BTF):
            return f"{path} is this kernel's BTF, which sonde reads by itself: -k is for the vmlinux"
        found = ElfFile.open(path).build_id
    except OSError as error:
        return f"failed to open {path}: {error.strerror}"
    except ElfError as error:
        return f"{path} is no vmlinux: {error}"
    own = build_id(notes_of_kernel())
    if not found or not own:
        return f"{path if own else 'this kernel'} has no build id, by which its vmlinux is known"
    return "" if found == own else f"{path} is another's: its build id is {found}, and this kernel's is {own}"


def _said(error: Exception, path: str) -> str:
    if isinstance(error, OSError):
        return f"{path}: {error.strerror}"
    return str(error)
