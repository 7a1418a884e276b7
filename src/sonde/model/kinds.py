"""Questions about types that D's rules ask again and again, each answered behind typedefs and qualifiers."""

from __future__ import annotations

import re

from sonde.model.types import (
    QUADS,
    STRING,
    Array,
    Enum,
    Float,
    Function,
    Int,
    Opaque,
    Pointer,
    String,
    Struct,
    Type,
    Typedef,
    Void,
    name_of,
    resolve,
    size_of,
)
from sonde.visible import single_line

ARRAY_AS_STRING = Typedef("string", STRING)
"""The type of a string that a translator gives for a member that is declared as an array of characters: as an array it
may be cast to a pointer, which no other string may."""

_OF_ARRAY = r"(?<=\w)\["
"""Where the size of an array begins, which messages set off."""


def is_integer(kind: Type) -> bool:
    """An integer that fits a register: of the kernel's 128-bit ones D knows only the size."""
    base = resolve(kind)
    return isinstance(base, (Int, Enum)) and base.size <= 8


def is_pointer(kind: Type) -> bool:
    return isinstance(resolve(kind), Pointer)


def is_array(kind: Type) -> bool:
    return isinstance(resolve(kind), Array)


def is_string(kind: Type) -> bool:
    return isinstance(resolve(kind), String)


def is_void(kind: Type) -> bool:
    return isinstance(resolve(kind), Void)


def is_float(kind: Type) -> bool:
    """A number that C passes as a float, a double or a long double."""
    base = resolve(kind)
    return isinstance(base, Float) and base.name not in QUADS and "_Complex" not in base.name and base.size > 2


def is_struct(kind: Type) -> bool:
    return isinstance(resolve(kind), Struct)


def is_function(kind: Type) -> bool:
    return isinstance(resolve(kind), Function)


def is_scalar(kind: Type) -> bool:
    """Integers, enumerations and pointers: what fits a register and is true or false."""
    return is_integer(kind) or is_pointer(kind)


def pointed_to(kind: Type) -> Type | None:
    """What a pointer points to or an array holds; None for other types."""
    base = resolve(kind)
    if isinstance(base, Pointer):
        return base.to
    return base.of if isinstance(base, Array) else None


def is_string_like(kind: Type) -> bool:
    """A string, or an array of or a pointer to one-byte integers, which D takes as strings where one is due."""
    if is_string(kind):
        return True
    to = pointed_to(kind)
    return to is not None and isinstance(resolve(to), Int) and size_of(to) == 1


def is_blind_pointer(kind: Type) -> bool:
    """A pointer whose target has no size to step by: to void or to a function."""
    base = resolve(kind)
    return isinstance(base, Pointer) and isinstance(resolve(base.to), (Void, Function))


def is_recordable_opaque(kind: Type) -> bool:
    """`stack`, `_symaddr`, `_usymaddr` and `_text`."""
    return isinstance(resolve(kind), Opaque)


def is_user(kind: Type) -> bool:
    """True of a pointer into the traced process."""
    base = resolve(kind)
    return isinstance(base, Pointer) and base.user


def pointer_like(kind: Type, target: Type) -> Pointer:
    """A pointer to `target` into the same address space as `kind`."""
    base = resolve(kind)
    return base._replace(to=target, is_reference=False) if isinstance(base, Pointer) else Pointer(target)


def spell(kind: Type) -> str:
    """The type's name as messages show it; an anonymous structure has an empty tag. Debug information of what is traced
    may have names of any characters."""
    base = resolve(kind)
    if isinstance(base, Pointer) and isinstance(resolve(base.to), Function):
        return "function pointer"
    if isinstance(base, Function):
        return "function"
    return single_line(re.sub(_OF_ARRAY, " [", name_of(kind), count=1).replace("(anon)", ""))


def compatible(left: Type, right: Type) -> bool:
    """The same type in all that matters for a value: integers by size and sign, structures by identity or tag."""
    a, b = resolve(left), resolve(right)
    if isinstance(a, Pointer) and isinstance(b, Pointer):
        return compatible(a.to, b.to)
    if isinstance(a, Array) and isinstance(b, Array):
        return a.length == b.length and compatible(a.of, b.of)
    if isinstance(a, Int) and isinstance(b, Int):
        return (a.size, a.signed) == (b.size, b.signed)
    if isinstance(a, Struct) and isinstance(b, Struct):
        return a is b or (bool(a.name) and (a.keyword, a.name, a.size) == (b.keyword, b.name, b.size))
    if isinstance(a, Function) and isinstance(b, Function):
        return True
    return a == b
