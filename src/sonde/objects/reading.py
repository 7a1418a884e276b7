"""An object as it was compiled, taken apart."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager

from sonde.bpf.btf import Btf, BtfError
from sonde.objects.btf_ext import NOTHING, Extension, read_extension
from sonde.objects.elf import ObjectFile
from sonde.objects.errors import ObjectError
from sonde.objects.functions import Functions, ObjectFunction
from sonde.typed import NamedTuple

LARGEST = 64 << 20
"""Bytes of an object that are read: those of large programs, with debug information, have some hundred KiB."""


class BpfObject(NamedTuple):
    """`types` is None, and `btf` empty, where the object has no BTF; `license` is what it says, "" if nothing."""

    file: ObjectFile
    functions: Functions
    entries: tuple[ObjectFunction, ...]
    types: Btf | None
    btf: bytes
    extension: Extension
    license: str


@contextmanager
def damaged() -> Iterator[None]:
    """Input without sense fails anywhere, as what the broken value led to: it becomes one ObjectError."""
    try:
        yield
    except ObjectError:
        raise
    except (BtfError, LookupError, ValueError, struct.error, OverflowError, RecursionError, MemoryError) as error:
        detail = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise ObjectError(f"it is damaged ({detail[:200]})") from error


def read_object(data: bytes) -> BpfObject:
    """Raises ObjectError."""
    with damaged():
        file = ObjectFile(data)
        functions = Functions(file)
        entries = tuple(functions.entries())
        blob = file.named(".BTF") or b""
        types = Btf(blob, repeats=True) if blob else None
        if types is not None:
            _ = types.end_id  # all of them are gone through
        extension = file.named(".BTF.ext")
        found = read_extension(extension, types) if extension and types is not None else NOTHING
        text = (file.named("license") or b"").partition(b"\0")[0].decode(errors="replace")
        return BpfObject(file, functions, entries, types, blob, found, text)
