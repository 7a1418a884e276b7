"""What a name or an expression can be while a function is compiled, besides an expression of the program."""

from __future__ import annotations

from sonde.frontends.d.syntax import Expr
from sonde.typed import Node, TypeAlias


class Firing(Node):
    """The parameter of a probe function. `place` is "" for itself, else `args`, `locals`, `globals` or `uregs`."""

    place: str = ""


class Thread(Node):
    """What has the variables of a thread."""


class KernelData(Node):
    """What has the kernel's data, of a `module` or of any ("")."""

    module: str = ""


class Counted(Node):
    """An aggregation, by its number; `keys` are None before there are any. `is_add` of its method."""

    number: int
    keys: tuple[Expr, ...] | None = None
    names: tuple[str, ...] = ()
    is_add: bool = False


class ArrayName(Node):
    """An associative array."""

    name: str


class Code(Node):
    """A function in Python, by its number."""

    number: int


class KnownName(Node):
    """A function of D's (`subroutine`), an integer type, a `word` of sonde's or a name of Python's (`builtin`)."""

    kind: str
    name: str


class Items(Node):
    """A tuple."""

    values: tuple[Value, ...]


class Nothing(Node):
    """`None`: 0 where a value is due."""


class Outside(Node):
    """What no program can use."""

    text: str


CompileTime: TypeAlias = (
    Firing | Thread | KernelData | Counted | ArrayName | Code | KnownName | Items | Nothing | Outside
)
Value: TypeAlias = "Expr | CompileTime"
COMPILE_TIME = (Firing, Thread, KernelData, Counted, ArrayName, Code, KnownName, Items, Nothing, Outside)
