"""Named tuples as JSON values, and strictly back: a class's annotations say what each of its fields may hold.

A named tuple is an object of its fields by name, those with their default left out; where a field may hold one of
several classes, `is` names the one. bytes are hexadecimal digits, a list of pieces of eight bytes if there are more.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

from sonde.formats.damage import DamagedError
from sonde.typed import Any

_SCALARS = {"int": int, "str": str, "bool": bool}
_PIECE = 8
_LEAST, _MOST = -(1 << 63), (1 << 64) - 1
TAG = "is"
"""What names the class of an object where there are several."""


class PlainError(DamagedError):
    """The JSON is not such a value; the text says where and why."""


class _Codec:
    """How one kind of value is written and read. `read` takes where the value stands, for messages."""

    def __init__(self, write: Callable[[Any], Any], read: Callable[[Any, str], Any], fits: Callable[[Any], bool]):
        self.write = write
        self.read = read
        self.fits = fits


def to_plain(value: Any) -> Any:
    """What json.dumps takes, of an instance of a class of `sonde.typed.NamedTuple`."""
    return _class_codec(type(value)).write(value)


def from_plain(kind: type, data: Any, where: str = "") -> Any:
    """The instance of `kind` that `to_plain` made `data` of. Raises PlainError."""
    return _class_codec(kind).read(data, where)


def show(data: Any, indent: str = "") -> str:
    """JSON text in lines of moderate length, one element a line where a list or object is longer."""
    line = json.dumps(data)
    if len(line) <= 100 or not isinstance(data, (dict, list)):
        return line
    deeper = indent + " "
    if isinstance(data, dict):
        parts = [f"{deeper}{json.dumps(name)}: {show(value, deeper)}" for name, value in data.items()]
        return "{\n" + ",\n".join(parts) + f"\n{indent}}}"
    return "[\n" + ",\n".join(deeper + show(value, deeper) for value in data) + f"\n{indent}]"


_codecs: dict[Any, _Codec] = {}


def _class_codec(kind: type) -> _Codec:
    if kind not in _codecs:
        # Entered before its fields are looked at: a class may contain itself.
        made = _codecs[kind] = _Codec(lambda value: None, lambda data, where: None, lambda value: type(value) is kind)
        _complete(made, kind)
    return _codecs[kind]


def _complete(codec: _Codec, kind: Any) -> None:
    names = vars(sys.modules[kind.__module__])
    fields = {name: _codec_of(text, names) for name, text in kind.__annotations__.items()}
    defaults = kind._field_defaults

    def write(value: Any) -> Any:
        pairs = zip(fields.items(), value, strict=True)
        return {name: each.write(v) for (name, each), v in pairs if name not in defaults or v != defaults[name]}

    def read(data: Any, where: str) -> Any:
        if not isinstance(data, dict):
            raise PlainError(f"{where or 'the whole'} is not an object")
        unknown = [name for name in data if name not in fields]
        missing = [name for name in fields if name not in data and name not in defaults]
        if unknown or missing:
            what = f"has no {missing[0]}" if missing else f"has {unknown[0]!r}, which is not known"
            raise PlainError(f"{where or 'the whole'} {what}")
        values = {name: fields[name].read(value, f"{where}.{name}".lstrip(".")) for name, value in data.items()}
        return kind(**values)

    codec.write, codec.read = write, read


def _codec_of(annotation: str, names: dict[str, Any]) -> _Codec:
    """For the text of an annotation: names, tuple[...] and alternatives."""
    kinds = _parts(annotation, "|")
    if len(kinds) > 1:
        return _either([_codec_of(each, names) for each in kinds])
    (kind,) = kinds
    if not kind.endswith("]"):
        return _none() if kind == "None" else _named(kind, names)
    items = _parts(kind.removeprefix("tuple[").removesuffix("]"), ",")
    if items[-1] == "...":
        return _sequence(_codec_of(items[0], names))
    return _fixed([_codec_of(each, names) for each in items])


def _parts(annotation: str, sign: str) -> list[str]:
    """The text between the signs that are in no brackets."""
    found, depth = [""], 0
    for character in annotation:
        depth += (character == "[") - (character == "]")
        if character == sign and not depth:
            found.append("")
        else:
            found[-1] += character
    return [each.strip() for each in found]


def _named(name: str, names: dict[str, Any]) -> _Codec:
    if name == "bytes":
        return _bytes()
    if name in _SCALARS:
        return _scalar(_SCALARS[name])
    kind = names[name]
    classes = getattr(kind, "__args__", None)
    return _one_of(classes) if classes else _class_codec(kind)


def _scalar(kind: type) -> _Codec:
    def write(value: Any) -> Any:
        if type(value) is not kind:
            raise TypeError(f"{value!r} is not of type {kind.__name__}")
        return value

    def read(data: Any, where: str) -> Any:
        if type(data) is not kind:
            raise PlainError(f"{where} is not of type {kind.__name__}")
        if isinstance(data, int) and not _LEAST <= data <= _MOST:
            raise PlainError(f"{where} is no number of 64 bits")
        if isinstance(data, str) and not data.isascii():
            _check_text(data, where)
        return data

    return _Codec(write, read, lambda value: type(value) is kind)


def _check_text(data: str, where: str) -> None:
    """JSON can name halves of characters, which no text of a file has but for those that stand for single bytes."""
    try:
        data.encode(errors="surrogateescape")
    except UnicodeEncodeError:
        raise PlainError(f"{where} is no text") from None


def _none() -> _Codec:
    def read(data: Any, where: str) -> Any:
        if data is not None:
            raise PlainError(f"{where} is not null")

    return _Codec(lambda value: None, read, lambda value: value is None)


def _bytes() -> _Codec:
    def write(value: Any) -> Any:
        digits = [value[at : at + _PIECE].hex() for at in range(0, len(value), _PIECE)]
        return digits if len(digits) > 1 else "".join(digits)

    def read(data: Any, where: str) -> Any:
        pieces = data if isinstance(data, list) else [data]
        if not all((isinstance(piece, str) and piece.isascii() and piece.isalnum()) or piece == "" for piece in pieces):
            raise PlainError(f"{where} is not made of hexadecimal digits")
        try:
            return bytes.fromhex("".join(pieces))
        except ValueError:
            raise PlainError(f"{where} is not made of hexadecimal digits") from None

    return _Codec(write, read, lambda value: isinstance(value, bytes))


def _sequence(element: _Codec) -> _Codec:
    def read(data: Any, where: str) -> Any:
        if not isinstance(data, list):
            raise PlainError(f"{where} is not a list")
        return tuple(element.read(value, f"{where}[{number}]") for number, value in enumerate(data))

    return _Codec(lambda value: [element.write(each) for each in value], read, _is_plain_tuple)


def _fixed(elements: list[_Codec]) -> _Codec:
    def write(value: Any) -> Any:
        return [element.write(each) for element, each in zip(elements, value, strict=True)]

    def read(data: Any, where: str) -> Any:
        if not isinstance(data, list) or len(data) != len(elements):
            raise PlainError(f"{where} is not a list of {len(elements)}")
        pairs = zip(elements, data, strict=True)
        return tuple(element.read(value, f"{where}[{number}]") for number, (element, value) in enumerate(pairs))

    return _Codec(write, read, _is_plain_tuple)


def _is_plain_tuple(value: Any) -> bool:
    return type(value) is tuple


def _either(codecs: list[_Codec]) -> _Codec:
    """One of several kinds that JSON keeps apart."""

    def write(value: Any) -> Any:
        return next(codec for codec in codecs if codec.fits(value)).write(value)

    def read(data: Any, where: str) -> Any:
        reasons = []
        for codec in codecs:
            try:
                return codec.read(data, where)
            except PlainError as error:
                reasons.append(str(error))
        # An alternative to null says more than that it is not null.
        raise PlainError(reasons[0])

    return _Codec(write, read, lambda value: any(codec.fits(value) for codec in codecs))


def _one_of(classes: tuple[Any, ...]) -> _Codec:
    """One of several classes, which the object names."""
    known = {kind.__name__: kind for kind in classes}

    def write(value: Any) -> Any:
        return {TAG: type(value).__name__, **_class_codec(type(value)).write(value)}

    def read(data: Any, where: str) -> Any:
        if not isinstance(data, dict) or not isinstance(data.get(TAG), str) or data[TAG] not in known:
            raise PlainError(f"{where} is none of {', '.join(known)}")
        rest = {name: value for name, value in data.items() if name != TAG}
        return _class_codec(known[data[TAG]]).read(rest, where)

    return _Codec(write, read, lambda value: type(value) in classes)
