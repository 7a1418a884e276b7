"""C types as D sees them: pure values, except that a structure loads its members when asked.

Sizes are in bytes, bit-field positions in bits; the data model is LP64.
A type that is only another's name (`Typedef`) or adds qualifiers (`Qualified`) is looked through with `resolve`.
"""

from __future__ import annotations

from collections.abc import Callable

from sonde.typed import Node, TypeAlias


class Void(Node):
    name: str = "void"


class Int(Node):
    name: str
    size: int
    signed: bool


class Float(Node):
    name: str
    size: int


class String(Node):
    """D's `string`: a value of at most `strsize` characters and a NUL, compared and assigned by value."""

    name: str = "string"


class Opaque(Node):
    """A result only actions, printf and aggregation keys can take: `stack`, `_symaddr`, `_usymaddr`, `_text`."""

    name: str
    size: int


class Pointer(Node):
    """`user` tells that the address is one of the traced process, not of the kernel; `is_reference` that it is a
    reference of C++, which a program names as what it refers to. With `anywhere`, which goes with `user`, the address
    itself tells which of the two it is, when it is read."""

    to: Type
    user: bool = False
    is_reference: bool = False
    anywhere: bool = False


class Array(Node):
    """`length` is None where the declaration leaves it open (`int a[]`)."""

    of: Type
    length: int | None


class Function(Node):
    returns: Type
    parameters: tuple[Type, ...]
    variadic: bool = False


class Enum(Node):
    """`values` pairs each enumerator with its value, in the order of the declaration."""

    name: str
    size: int
    signed: bool
    values: tuple[tuple[str, int], ...]


class Typedef(Node):
    name: str
    to: Type


class Qualified(Node):
    """`qualifier` is `const`, `volatile` or `restrict`."""

    qualifier: str
    to: Type


class Member(Node):
    """A member of a structure or union; `bits` is 0 unless it is a bit-field of that width.

    `offset` is in bits from the start of the structure. An anonymous structure or union has the name "".
    """

    name: str
    type: Type
    offset: int
    bits: int = 0


class Struct:
    """A structure or union, complete or not; two are the same type only if they are the same object.

    The members come from `load` at the first question, because kernel structures refer to each other without end. `one`
    gives the own member of a name, None if there is none, without the types of the others.
    An incomplete one has no `load`; at the first question `find` gives what completes it, or says why nothing does
    ("" where there is no definition), in `missing`.
    """

    __slots__ = (
        "_alignment", "_find_other", "_load", "_members", "_one", "_size", "keyword", "missing", "name", "packed",
    )  # fmt: skip

    def __init__(
        self,
        keyword: str,
        name: str,
        size: int,
        load: Callable[[], tuple[Member, ...]] | None = None,
        find: Callable[[], Struct | str] | None = None,
        one: Callable[[str], Member | None] | None = None,
    ) -> None:
        self.keyword = keyword
        self.name = name
        self.packed = False
        self.missing = ""
        self._size = size
        self._alignment = 0
        self._load = load
        self._find_other = find
        self._one = one
        self._members: tuple[Member, ...] | None = None

    @property
    def complete(self) -> bool:
        if self._find_other is not None:
            self._look_elsewhere(self._find_other)
        return self._load is not None

    @property
    def size(self) -> int:
        return self._size if self._find_other is None or self.complete else 0

    def _look_elsewhere(self, find: Callable[[], Struct | str]) -> None:
        self._find_other = None
        found = find()
        if isinstance(found, str):
            self.missing = found
        elif found.complete:
            self._size = found.size
            self._load = lambda: found.members

    def define(self, size: int, members: tuple[Member, ...], packed: bool = False, alignment: int = 0) -> None:
        """Complete a forward declaration; a packed structure may lie at any address, unless an alignment is given."""
        self._size = size
        self._alignment = alignment
        self._find_other = None
        self.packed = packed
        self._members = members
        self._load = lambda: members

    @property
    def members(self) -> tuple[Member, ...]:
        if self._members is None:
            self._members = self._load() if self.complete and self._load else ()
        return self._members

    @property
    def alignment(self) -> int:
        """In bytes; 1 for an incomplete one."""
        if not self._alignment and self.complete:
            self._alignment = 1 if self.packed else max((align_of(m.type) for m in self.members), default=1)
        return self._alignment or 1

    def find(self, name: str) -> Member | None:
        """The member of that name, also inside anonymous members, its offset counted from the outermost start.

        The nearest one, as C++ looks for the members of base classes (class.member.lookup): those of a class hide what
        its bases have. Of several that are equally near it is the first.
        """
        if self._members is None and self._one is not None and (own := self._one(name)) is not None:
            return own
        near: list[tuple[Struct, int]] = [(self, 0)]
        seen: set[Struct] = set()
        while near:
            further: list[tuple[Struct, int]] = []
            for struct, offset in near:
                for member in struct.members:
                    if member.name == name:
                        return member._replace(offset=member.offset + offset)
                    inner = resolve(member.type)
                    if not member.name and isinstance(inner, Struct) and inner not in seen:
                        seen.add(inner)
                        further.append((inner, offset + member.offset))
            near = further
        return None

    def names(self) -> set[str]:
        """Of all members that `find` finds."""
        found: set[str] = set()
        pending, seen = [self], {id(self)}
        while pending:
            for member in pending.pop().members:
                inner = resolve(member.type)
                if member.name:
                    found.add(member.name)
                elif isinstance(inner, Struct) and id(inner) not in seen:
                    seen.add(id(inner))
                    pending.append(inner)
        return found

    def __repr__(self) -> str:
        return f"{self.keyword} {self.name or '(anon)'}"


Type: TypeAlias = (
    Void | Int | Float | String | Opaque | Pointer | Array | Function | Enum | Typedef | Qualified | Struct
)

VOID = Void()
STRING = String()
CHAR = Int("char", 1, True)
SCHAR = Int("signed char", 1, True)
UCHAR = Int("unsigned char", 1, False)
SHORT = Int("short", 2, True)
USHORT = Int("unsigned short", 2, False)
INT = Int("int", 4, True)
UINT = Int("unsigned int", 4, False)
LONG = Int("long", 8, True)
ULONG = Int("unsigned long", 8, False)
LLONG = Int("long long", 8, True)
ULLONG = Int("unsigned long long", 8, False)
BOOL = Int("_Bool", 1, False)
FLOAT = Float("float", 4)
DOUBLE = Float("double", 8)
LDOUBLE = Float("long double", 16)
FCOMPLEX = Float("float _Complex", 8)
DCOMPLEX = Float("double _Complex", 16)
LDCOMPLEX = Float("long double _Complex", 32)
INT128 = Int("__int128", 16, True)
UINT128 = Int("unsigned __int128", 16, False)
STACK = Opaque("stack", 8)
SYMADDR = Opaque("_symaddr", 8)
USYMADDR = Opaque("_usymaddr", 16)
TEXT = Opaque("_text", 8)
"""What becomes text when it is shown: of flagstr() and memstr()."""

QUADS = ("_Float128", "__float128")
"""Numbers of IEEE 754's format of 128 bits, which long double need not have."""

BASE_TYPES: tuple[Int | Float, ...] = (
    CHAR, SCHAR, UCHAR, SHORT, USHORT, INT, UINT, LONG, ULONG, LLONG, ULLONG, BOOL, FLOAT, DOUBLE, LDOUBLE,
)  # fmt: skip

_NAMED: dict[str, Type] = {
    "int8_t": SCHAR, "int16_t": SHORT, "int32_t": INT, "int64_t": LONG,
    "uint8_t": UCHAR, "uint16_t": USHORT, "uint32_t": UINT, "uint64_t": ULONG,
    "intptr_t": LONG, "uintptr_t": ULONG, "ssize_t": LONG, "size_t": ULONG, "ptrdiff_t": LONG,
    "uchar_t": UCHAR, "ushort_t": USHORT, "uint_t": UINT, "ulong_t": ULONG, "u_longlong_t": ULLONG,
    "id_t": INT, "pid_t": INT, "__builtin_va_list": Array(ULONG, 3),
}  # fmt: skip

BUILTIN_TYPEDEFS: dict[str, Typedef] = {name: Typedef(name, to) for name, to in _NAMED.items()}


def resolve(kind: Type) -> Type:
    """The type behind typedefs and qualifiers."""
    while isinstance(kind, (Typedef, Qualified)):
        kind = kind.to
    return kind


def size_of(kind: Type) -> int:
    """Bytes an object of this type takes; 0 for void, functions and incomplete types, 0 for String (see `strsize`)."""
    base = resolve(kind)
    if isinstance(base, (Int, Float, Enum, Opaque, Struct)):
        return base.size
    if isinstance(base, Pointer):
        return 8
    if isinstance(base, Array):
        return size_of(base.of) * (base.length or 0)
    return 0


def is_wide(kind: Type) -> bool:
    """Whether it is a number that fits no register, or consists of two: 128-bit integers, long double, complex."""
    base = resolve(kind)
    return isinstance(base, (Int, Float)) and (base.size > 8 or "_Complex" in base.name)


def align_of(kind: Type) -> int:
    """Alignment in bytes, as the System V ABI lays types out."""
    base = resolve(kind)
    if isinstance(base, Array):
        return align_of(base.of)
    if isinstance(base, Struct):
        return base.alignment
    if isinstance(base, String):
        return 1
    if base in (FCOMPLEX, DCOMPLEX, LDCOMPLEX):
        return size_of(base) // 2
    return min(size_of(base), 16) or 1


def is_signed(kind: Type) -> bool:
    base = resolve(kind)
    return isinstance(base, (Int, Enum)) and base.signed


def name_of(kind: Type) -> str:
    """The type as C spells it, `const char *`."""
    if isinstance(kind, (Void, String, Int, Float, Opaque, Typedef)):
        return kind.name
    if isinstance(kind, Struct):
        return repr(kind)
    if isinstance(kind, Enum):
        return f"enum {kind.name or '(anon)'}"
    if isinstance(kind, Qualified):
        if isinstance(kind.to, Pointer):
            return f"{name_of(kind.to)} {kind.qualifier}"
        return f"{kind.qualifier} {name_of(kind.to)}"
    return declarator(kind, "")


def declarator(kind: Type, inner: str) -> str:
    """The declaration in C of what `inner` names, `char name[16]`."""
    if isinstance(kind, Pointer):
        target = kind.to
        return declarator(target, f"(*{inner})" if isinstance(target, (Array, Function)) else f"*{inner}")
    if isinstance(kind, Array):
        return declarator(kind.of, f"{inner}[{'' if kind.length is None else kind.length}]")
    if isinstance(kind, Function):
        parameters = [name_of(p) for p in kind.parameters] + (["..."] if kind.variadic else [])
        return declarator(kind.returns, f"{inner}({', '.join(parameters) or 'void'})")
    base = name_of(kind)
    return base + inner if inner.startswith("[") else f"{base} {inner}"
