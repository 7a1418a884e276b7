"""What probe functions name besides their own: D's functions, integer types, the thread's variables, the kernel's data.

Each stands for something of the program that the function becomes, and means nothing else: called in Python it says so.
"""

from __future__ import annotations

from sonde.typed import TYPE_CHECKING, Any


class ProbeWord:
    """A function that only probe functions can call."""

    def __init__(self, kind: str, name: str, meaning: str = "") -> None:
        self.kind = kind
        self.name = name
        self.meaning = meaning or name

    if TYPE_CHECKING:

        def __call__(self, *arguments: Any) -> Any: ...

    else:

        def __call__(self, *arguments):
            raise TypeError(f"{self.name}() is for probe functions, which run in the kernel: call it in one")

    def __repr__(self) -> str:
        return f"<sonde.{self.name}, for probe functions>"

    def __reduce__(self) -> tuple[Any, ...]:
        return ProbeWord, (self.kind, self.name, self.meaning)


if TYPE_CHECKING:

    class ProbeVariables:
        """Has a variable of any name, in probe functions alone."""

        def __init__(self, kind: str) -> None: ...
        @property
        def kind(self) -> str: ...
        def __getattr__(self, name: str) -> Any: ...
        def __setattr__(self, name: str, value: Any) -> None: ...
        def __delattr__(self, name: str) -> None: ...
        def __getitem__(self, name: str) -> Any: ...

    class Firing:
        """The parameter of a probe function: D's built-in variables, and `args`, `locals`, `globals` and `uregs`."""

        def __getattr__(self, name: str) -> Any: ...

else:

    class ProbeVariables:
        """See above."""

        __slots__ = ("kind",)

        def __init__(self, kind):
            object.__setattr__(self, "kind", kind)

        def __getattr__(self, name):
            if name.startswith("__"):
                raise AttributeError(name)
            raise TypeError(f"{self.kind}.{name} is for probe functions, which run in the kernel")

        __setattr__ = __delattr__ = lambda self, name, *_: self.__getattr__(name)

        def __getitem__(self, name):
            return self.__getattr__(name)

        def __repr__(self):
            return f"<sonde.{self.kind}, for probe functions>"

        def __reduce__(self):
            return ProbeVariables, (self.kind,)

    class Firing:
        """See above."""


thread = ProbeVariables("thread")
"""Has the variables of the thread that fires: D's `self->`."""

kernel = ProbeVariables("kernel")
"""Has the kernel's data: D's backquote. `kernel["ext4"].name` is of a module."""

INTEGER_TYPES = {
    "i8": "int8_t", "i16": "int16_t", "i32": "int32_t", "i64": "int64_t",
    "u8": "uint8_t", "u16": "uint16_t", "u32": "uint32_t", "u64": "uint64_t",
}  # fmt: skip

i8 = ProbeWord("type", "i8", INTEGER_TYPES["i8"])
i16 = ProbeWord("type", "i16", INTEGER_TYPES["i16"])
i32 = ProbeWord("type", "i32", INTEGER_TYPES["i32"])
i64 = ProbeWord("type", "i64", INTEGER_TYPES["i64"])
u8 = ProbeWord("type", "u8", INTEGER_TYPES["u8"])
u16 = ProbeWord("type", "u16", INTEGER_TYPES["u16"])
u32 = ProbeWord("type", "u32", INTEGER_TYPES["u32"])
u64 = ProbeWord("type", "u64", INTEGER_TYPES["u64"])

cast = ProbeWord("word", "cast")
sizeof = ProbeWord("word", "sizeof")
offsetof = ProbeWord("word", "offsetof")
stringof = ProbeWord("word", "stringof")
