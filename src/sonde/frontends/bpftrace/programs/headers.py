"""Files that the C text of a program includes."""

from __future__ import annotations

import os
from collections.abc import Sequence

from sonde.model.errors import ProgramError
from sonde.untrusted import read_named, text_in

_LARGEST = 4 << 20
_OF_COMPILERS = frozenset({
    "stddef.h", "stdarg.h", "stdbool.h", "stdint.h", "limits.h", "float.h", "iso646.h", "stdalign.h", "stdnoreturn.h",
})  # fmt: skip
"""Headers that compilers have of their own: what they declare is known without them."""
_OF_KERNEL = (
    "linux/",
    "net/",
    "asm/",
    "asm-generic/",
    "uapi/",
    "trace/",
    "kunit/",
    "crypto/",
    "scsi/",
    "drm/",
    "rdma/",
    "sound/",
)
_ENVIRONMENT = ("CPATH", "C_INCLUDE_PATH")


class HeaderFiles:
    """`folders` are those of -I; `has_btf` says that types of the kernel are known without headers."""

    def __init__(self, folders: Sequence[str], has_btf: bool) -> None:
        named = [each for name in _ENVIRONMENT for each in os.environ.get(name, "").split(os.pathsep) if each]
        own = f"/usr/include/{os.uname().machine}-linux-gnu"
        self._folders = (*folders, *named, "/usr/local/include", own, "/usr/include")
        self._has_btf = has_btf

    def find(self, name: str, is_quoted: bool, includer: str) -> tuple[str, str] | None:
        """Path and text of a file, None where there is none; files of the kernel that are not there are empty where its
        types are known."""
        if name in _OF_COMPILERS:
            return name, ""
        beside = os.path.dirname(includer) or "."
        for folder in (*((beside,) if is_quoted else ()), *self._folders):
            path = os.path.join(folder, name)
            if os.path.isfile(path):
                return path, _content(path)
        return (name, "") if self._has_btf and name.startswith(_OF_KERNEL) else None


def _content(path: str) -> str:
    try:
        return text_in(read_named(path, _LARGEST))
    except OSError as error:
        raise ProgramError(f"{path}: {error.strerror}") from None
