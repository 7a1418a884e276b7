"""Values as JSON: text that is no UTF-8 shows its bytes as \\xff, raw bytes are hexadecimal, stacks lists of frames."""

from __future__ import annotations

import json
import math

from sonde.consume.decode import CACHED_BYTES, CACHED_STRINGS
from sonde.library.frames import Frame, Stack
from sonde.library.histograms import Histogram
from sonde.library.objects import Object, StructureKey
from sonde.library.scalars import Scalar
from sonde.library.values import CapturedPacket
from sonde.typed import Any
from sonde.visible import unicode_text

_encode = json.JSONEncoder(ensure_ascii=True, check_circular=False, separators=(",", ":")).encode


def encode(value: Any) -> str:
    """As JSON of printable characters of ASCII."""
    return _encode(value).replace("\x7f", "\\u007f")


class JsonStrings(dict[bytes, bytes]):
    """Recorded strings as JSON's, with their quotation marks, remembered as they come again and again."""

    def __init__(self) -> None:
        super().__init__()
        self._bytes = 0

    def __missing__(self, data: bytes) -> bytes:
        self._bytes += len(data)
        if len(self) >= CACHED_STRINGS or self._bytes > CACHED_BYTES:
            self.clear()
            self._bytes = len(data)
        text = self[data] = encode(data.decode(errors="backslashreplace")).encode()
        return text


def json_value(value: Any) -> Any:
    """One of the library's values (`sonde.library.values`, `aggregations`) as json.dumps takes it."""
    match value:
        case None | bool() | int():
            return value
        case str():
            return unicode_text(value)
        case bytes():
            return value.hex()
        case float():
            return value if math.isfinite(value) else str(value)
        case complex():
            return {"real": json_value(value.real), "imaginary": json_value(value.imag)}
        case Frame():
            return _frame(value)
        case Stack():
            return [_frame(each) for each in value]
        case Scalar():
            return json_value(value.number)
        case Histogram():
            return [each._asdict() for each in value.buckets]
        case Object():
            return json_value(value.value)
        case CapturedPacket():
            return {"time": value.time, "length": value.length, "data": value.data.hex()}
        case StructureKey():
            return json_value(value.asdict())
        case dict():
            return {unicode_text(str(name)): json_value(each) for name, each in value.items()}
        case _:
            return [json_value(each) for each in value]


def _frame(frame: Frame) -> dict[str, Any]:
    """What is known of a frame."""
    found = {name: json_value(each) for name, each in frame._asdict().items() if each}
    return {"address": frame.address, **found}
