"""What zstd has compressed, piece by piece as it comes, with bounds that do not come from it."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from sonde.typed import Any

WINDOW_LOG = 27
"""Of the bytes behind that a stream may refer to, 128 MiB: the most that zstd takes unless it is told to."""

_SLICE = 512
"""Bytes that are unpacked at once. Four can become a block of 128 KiB, so these become 16 MiB at most."""


class ZstdError(Exception):
    """It cannot be unpacked; the text says why."""


class ZstdStream:
    """One stream in pieces, each of which was flushed: all that is in it comes out of it. Raises ZstdError where this
    Python has no zstd."""

    def __init__(self) -> None:
        self._unpack, self._error = _unpacker()

    def take(self, data: bytes | memoryview, largest: int) -> bytes:
        """What the next piece becomes, `largest` bytes at most. Raises ZstdError."""
        parts, size = [], 0
        try:
            for start in range(0, len(data), _SLICE):
                part = self._unpack(bytes(data[start : start + _SLICE]))
                parts.append(part)
                size += len(part)
                if size > largest:
                    raise ZstdError("what is compressed in it becomes too large")
        except (self._error, EOFError) as error:
            raise ZstdError(f"what is compressed in it is damaged ({error})") from None
        return b"".join(parts)


def _unpacker() -> tuple[Callable[[bytes], bytes], type[Exception]]:
    """A function for one stream, and what it raises: of Python's own module (3.14), or of the package of the extra."""
    own: Any
    try:
        own = import_module("compression.zstd")
    except ImportError:
        pass
    else:
        options = {own.DecompressionParameter.window_log_max: WINDOW_LOG}
        return own.ZstdDecompressor(options=options).decompress, own.ZstdError
    try:
        own = import_module("zstandard")
    except ImportError:
        raise ZstdError(
            "it is compressed by zstd, which this Python cannot read: install sonde-trace[zstd], or the package "
            "zstandard"
        ) from None
    return own.ZstdDecompressor(max_window_size=1 << WINDOW_LOG).decompressobj().decompress, own.ZstdError
