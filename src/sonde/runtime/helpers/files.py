"""Which file a descriptor is, and where (bpf/helpers.py: OPEN_FILE, PATH_TEXT)."""

from __future__ import annotations

from collections.abc import Callable
from errno import EFAULT

from sonde.runtime.environment import Environment
from sonde.runtime.files import FilesOfTasks

_SIZE = 0xFFFF_FFFF
_SIGN = 1 << 31


def make(environment: Environment) -> dict[str, Callable[..., int]]:
    files = environment.files = environment.files or FilesOfTasks(environment)
    write = environment.memory.write

    def open_file(descriptor: int) -> int:
        number = descriptor & _SIZE
        try:
            return files.open(number - 2 * (number & _SIGN))
        except OSError as error:
            return -(error.errno or EFAULT)

    def path_text(destination: int, size: int, path: int) -> int:
        size &= _SIZE
        if not size:
            return 0
        try:
            text = files.path(path)[: size - 1] + b"\0"
        except OSError as error:
            write(destination, bytes(size))
            return -(error.errno or EFAULT)
        write(destination, text)
        return len(text)

    return {"open_file": open_file, "path_text": path_text}
