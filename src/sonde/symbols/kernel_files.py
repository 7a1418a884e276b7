"""Where the kernel's debug information lies: files of vmlinux and of modules, as distributions install them.

Which file is that of a build is told by its build id; a file of another one is passed over, and named in the message
where none is left.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterable, Iterator

from sonde.symbols.dwarf import compression
from sonde.symbols.elf.debug_files import DIRECTORIES, cached, has_debug_information
from sonde.symbols.elf.errors import DebugInfoError
from sonde.symbols.elf.file import ElfError, ElfFile
from sonde.typed import NamedTuple
from sonde.untrusted import read_regular, unpacked

VMLINUX = "vmlinux"
"""What stands for the kernel itself among the modules."""

_MODULE = re.compile(r"(.+?)\.ko(?:\.debug|\.gz|\.xz|\.zst)?")

_EXECUTABLE, _SHT_NOBITS = 4, 8
_LARGEST = 256 << 20
"""Bytes of a module's file, when it is unpacked."""

Open = Callable[[str], ElfFile]
"""Opens an ELF file, which may be compressed. Raises OSError or ElfError."""


class KernelBuild(NamedTuple):
    """A kernel: its release, and the directory below which its files are looked for, "" for those of this machine."""

    release: str
    root: str = ""


class FoundFile(NamedTuple):
    """A file with debug information, and where it is."""

    path: str
    elf: ElfFile


def open_module(path: str) -> ElfFile:
    """The file of a module, which may be compressed. Raises OSError or ElfError."""
    for end, unpack in _PACKED.items():
        if path.endswith(end):
            return ElfFile(unpack(read_regular(path, _LARGEST), _LARGEST))
    return ElfFile.open(path)


def has_code(elf: ElfFile) -> bool:
    """Whether a relocatable file has the content of its code."""
    return any(each.flags & _EXECUTABLE and each.kind != _SHT_NOBITS and each.size for each in elf.sections)


def _unpacked_xz(data: bytes, largest: int) -> bytes:
    """What xz has compressed. Raises OSError."""
    try:
        import lzma  # Python can be built without it
    except ImportError:
        # Python can be built without it.
        raise OSError(errno.ENOSYS, "this Python cannot read xz files") from None
    try:
        unpacking = lzma.LZMADecompressor(memlimit=_LARGEST)
        found = unpacking.decompress(data, largest + 1)
    except lzma.LZMAError as error:
        raise OSError(errno.EBADMSG, f"what is compressed in it is damaged ({error})") from None
    if len(found) > largest or not unpacking.eof:
        raise OSError(errno.EFBIG, f"it is cut off, or becomes larger than {largest >> 20} MiB")
    return found


def _unpacked_zstd(data: bytes, largest: int) -> bytes:
    """What zstd has compressed. Raises OSError."""
    try:
        found = compression.unpacked_zstd(data, largest)
    except DebugInfoError as error:
        raise OSError(errno.EBADMSG, str(error)) from None
    if len(found) > largest:
        raise OSError(errno.EFBIG, f"it becomes larger than {largest >> 20} MiB")
    return found


_PACKED: dict[str, Callable[[bytes, int], bytes]] = {".gz": unpacked, ".xz": _unpacked_xz, ".zst": _unpacked_zstd}


def vmlinux_places(build: KernelBuild, build_id: str) -> Iterator[str]:
    """Where the file of the kernel itself may be, the likeliest first."""
    release, root = build
    yield from _by_build_id(root, build_id)
    for directory in DIRECTORIES:
        yield f"{root}{directory}/boot/vmlinux-{release}"
        yield f"{root}{directory}/boot/vmlinux-{release}.debug"
        yield f"{root}{directory}/lib/modules/{release}/vmlinux"
        yield f"{root}{directory}/lib/modules/{release}/vmlinux.debug"
    yield f"{root}/lib/modules/{release}/build/vmlinux"
    yield f"{root}/lib/modules/{release}/vmlinux"
    yield f"{root}/boot/vmlinux-{release}"


class ModuleFiles:
    """The files of a kernel's modules; directories are gone through once, when one is asked for."""

    def __init__(self, build: KernelBuild) -> None:
        self._build = build
        self._found: dict[str, list[str]] | None = None

    def places(self, name: str, build_id: str) -> Iterator[str]:
        """Where the file of a module may be, one with debug information first."""
        yield from _by_build_id(self._build.root, build_id)
        if self._found is None:
            self._found = {}
            for directory in (*DIRECTORIES, ""):
                self._go_through(f"{self._build.root}{directory}/lib/modules/{self._build.release}", self._found)
        yield from self._found.get(name, ())

    @staticmethod
    def _go_through(directory: str, found: dict[str, list[str]]) -> None:
        """In names of files there may be a dash where modules have a line."""
        for folder, folders, files in os.walk(directory):
            folders.sort()
            for each in files:
                module = _MODULE.fullmatch(each)
                if module is not None:
                    found.setdefault(module[1].replace("-", "_"), []).append(os.path.join(folder, each))


def _by_build_id(root: str, build_id: str) -> Iterator[str]:
    if build_id:
        for directory in DIRECTORIES:
            yield f"{root}{directory}/.build-id/{build_id[:2]}/{build_id[2:]}.debug"
        yield from cached(build_id)


def with_information(what: str, places: Iterable[str], build_id: str, open_file: Open = ElfFile.open) -> FoundFile:
    """The first of the places that has debug information of a build; of any if `build_id` is "". Raises
    DebugInfoError, with all that was tried and why it is not that."""
    tried = []
    for path in places:
        try:
            elf = open_file(path)
            elf.check()
        except FileNotFoundError:
            tried.append(path)
            continue
        except (OSError, ElfError) as error:
            tried.append(f"{path} ({getattr(error, 'strerror', None) or error})")
            continue
        if build_id and elf.build_id != build_id:
            tried.append(f"{path} (of another build, {elf.build_id or 'which it does not tell'})")
        elif not has_debug_information(elf):
            tried.append(f"{path} (without debug information)")
        else:
            return FoundFile(path, elf)
    of_build = f" of build {build_id}" if build_id else ""
    looked = "; ".join(dict.fromkeys(tried))
    raise DebugInfoError(f"there is no debug information of {what}{of_build}; looked for: {looked}")
