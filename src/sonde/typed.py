"""The names of `typing` that definitions need while the program runs, without what importing `typing` costs.

A type checker sees the real ones. At run time `NamedTuple` makes the same classes as typing's, except that nothing is
done with the annotations, that a class's constructor is compiled when it is first called (hundreds of classes are
defined at every start, few of them used), and that values are equal only if they are of one class: a register and a
constant with the same number are different keys, and a plain tuple is equal to neither.
"""

from __future__ import annotations

from _collections import _tuplegetter  # type: ignore[import-not-found]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import (
        Any,
        BinaryIO,
        Generic,
        NamedTuple,
        NoReturn,
        Protocol,
        Self,
        TypeAlias,
        TypeGuard,
        TypeVar,
        cast,
        dataclass_transform,
    )

    @dataclass_transform(frozen_default=True)
    class Node:
        """A NamedTuple in a union of many, told from the others by its class alone, not by its fields as well: of
        trees, whose nodes have nodes as fields, a type checker takes minutes to compare the structure."""

        def _replace(self, **changes: Any) -> Self: ...
else:

    class Protocol:
        """A base that says nothing: only the type checker asks."""

    class Generic:
        """Likewise, with parameters."""

        def __class_getitem__(cls, _parameters):
            return cls

    Any = BinaryIO = NoReturn = TypeAlias = object
    TypeGuard = list

    def cast(_type, value):
        return value

    _Function = type(lambda: None)
    _NAMES = {"_new": tuple.__new__, "__builtins__": {}}
    _CONSTRUCTORS = {}

    def TypeVar(name, **_bounds):  # noqa: N802 - the name of what it stands for
        return name

    def _constructor(number):
        """The code of a constructor of so many fields."""
        fields = "".join(f"_{n}, " for n in range(number))
        return eval(f"lambda _cls, {fields}: _new(_cls, ({fields}))", {}).__code__

    def _new(cls, *values, **named):
        """The constructor until it is first called: make the real one, then call it.

        Compiling one takes longer than all else here, so classes with as many fields share it.
        """
        fields, defaults = cls._fields, cls._field_defaults
        number = len(fields)
        code = _CONSTRUCTORS.get(number) or _CONSTRUCTORS.setdefault(number, _constructor(number))
        given = tuple(defaults[field] for field in fields if field in defaults)
        code = code.replace(co_varnames=("_cls", *fields))
        cls.__new__ = _Function(code, _NAMES, "__new__", given)
        return cls.__new__(cls, *values, **named)

    def _replace(self, **changes):
        """A copy with some fields changed."""
        values = [changes.pop(field, value) for field, value in zip(self._fields, self, strict=True)]
        if changes:
            raise ValueError(f"{type(self).__name__} has no field {', '.join(changes)}")
        return tuple.__new__(type(self), values)

    def _asdict(self):
        return dict(zip(self._fields, self, strict=True))

    def _repr(self):
        fields = ", ".join(f"{f}={v!r}" for f, v in zip(self._fields, self, strict=True))
        return f"{type(self).__name__}({fields})"

    def _getnewargs(self):
        return tuple(self)

    def _eq(self, other, _same=tuple.__eq__):
        """Two values of different classes say different things, whatever their fields."""
        return self.__class__ is other.__class__ and _same(self, other)

    def _ne(self, other, _same=tuple.__eq__):
        return self.__class__ is not other.__class__ or not _same(self, other)

    _GETTERS = []
    """Descriptors of the first field, the second and so on, which all classes share."""

    _OF_ALL = {
        "__slots__": (), "__new__": _new, "__getnewargs__": _getnewargs,
        "_replace": _replace, "_asdict": _asdict, "_make": classmethod(tuple.__new__),
    }  # fmt: skip

    _COMPARED = {"__eq__": _eq, "__ne__": _ne, "__hash__": tuple.__hash__}
    """With tuple's own hash, which costs no call: values that are equal have the same fields."""

    class _Meta(type):
        """Turns the body of a class into a subclass of tuple."""

        def __new__(mcs, name, bases, body):
            if not bases:
                return type.__new__(mcs, name, bases, body)
            fields = tuple(body.get("__annotations__", ()))
            body["_field_defaults"] = {f: body.pop(f) for f in fields if f in body}
            while len(_GETTERS) < len(fields):
                _GETTERS.append(_tuplegetter(len(_GETTERS), None))
            body.update(zip(fields, _GETTERS), _fields=fields, __match_args__=fields)  # noqa: B905 - there are more
            body.update(_OF_ALL)
            body.setdefault("__repr__", _repr)
            if "__eq__" not in body:
                body.update(_COMPARED)
            return type.__new__(type, name, (tuple,), body)

    class NamedTuple(metaclass=_Meta):
        """The base to name; the classes made from it have tuple as their base."""

    Node = NamedTuple


__all__ = [
    "TYPE_CHECKING",
    "Any",
    "BinaryIO",
    "Generic",
    "NamedTuple",
    "NoReturn",
    "Node",
    "Protocol",
    "TypeAlias",
    "TypeGuard",
    "TypeVar",
    "cast",
]  # fmt: skip
