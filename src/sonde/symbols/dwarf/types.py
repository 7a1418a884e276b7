"""The C types of decoded entries, as lang.types has them: typedefs, structures with bit-fields, arrays, enumerations.

C++ and Rust are seen as C would write them: a reference is a pointer, a base class an anonymous member.
"""

from __future__ import annotations

from collections.abc import Callable

from sonde.model.types import (
    BOOL,
    CHAR,
    INT,
    INT128,
    LLONG,
    LONG,
    SCHAR,
    SHORT,
    UCHAR,
    UINT,
    UINT128,
    ULLONG,
    ULONG,
    USHORT,
    VOID,
    Array,
    Enum,
    Float,
    Function,
    Int,
    Member,
    Pointer,
    Qualified,
    Struct,
    Type,
    Typedef,
    resolve,
    size_of,
)
from sonde.symbols.dwarf.attributes import name_of, number, referred, source_of
from sonde.symbols.dwarf.errors import DebugInfoError, damaged
from sonde.symbols.dwarf.forms import uleb128
from sonde.symbols.elf.errors import ElfError
from sonde.typed import Any

_ATE_BOOLEAN, _ATE_COMPLEX, _ATE_FLOAT, _ATE_SIGNED, _ATE_SIGNED_CHAR = 2, 3, 4, 5, 6
_OP_PLUS_UCONST = 0x23
DISCRIMINANT = "discriminant"
"""The member of a Rust enumeration that tells which variant it is: it has no name in the source."""
_QUALIFIERS = {
    "DW_TAG_const_type": "const", "DW_TAG_volatile_type": "volatile", "DW_TAG_restrict_type": "restrict",
    "DW_TAG_atomic_type": "volatile",
}  # fmt: skip
_REFERENCES = ("DW_TAG_reference_type", "DW_TAG_rvalue_reference_type")
_KEYWORDS = {"DW_TAG_structure_type": "struct", "DW_TAG_class_type": "struct", "DW_TAG_union_type": "union"}
_PLAIN = {
    "char": CHAR, "signed char": SCHAR, "unsigned char": UCHAR, "short int": SHORT, "short unsigned int": USHORT,
    "int": INT, "unsigned int": UINT, "long int": LONG, "long unsigned int": ULONG, "long long int": LLONG,
    "long long unsigned int": ULLONG, "_Bool": BOOL, "bool": BOOL, "short": SHORT, "unsigned short": USHORT,
    "long": LONG, "unsigned long": ULONG, "long long": LLONG, "unsigned long long": ULLONG, "__int128": INT128,
    "__int128 unsigned": UINT128, "unsigned __int128": UINT128,
}  # fmt: skip


class Types:
    """Each entry becomes one type, however often it is asked for: structures are the same only as the same object."""

    def __init__(self, definition: Callable[[Any], Any] = lambda entry: None, is_user: bool = True) -> None:
        """`definition` gives the entry that defines the type that one declares, None if there is none; `is_user`: the
        program is one that processes run, not the kernel."""
        self._definition = definition
        self._known: dict[tuple[int, int], Type | None] = {}
        self._makers: dict[str, Callable[[Any], Type]] = {
            "DW_TAG_base_type": _base,
            "DW_TAG_unspecified_type": lambda entry: VOID,
            "DW_TAG_typedef": lambda entry: Typedef(name_of(entry), self.of(entry)),
            "DW_TAG_array_type": self._array,
            "DW_TAG_enumeration_type": self._enum,
            "DW_TAG_subroutine_type": self.function,
            "DW_TAG_pointer_type": lambda entry: Pointer(self.of(entry), is_user),
            "DW_TAG_ptr_to_member_type": self._member_pointer,
            **dict.fromkeys(_REFERENCES, lambda entry: Pointer(self.of(entry), is_user, True)),
            **dict.fromkeys(_QUALIFIERS, lambda entry: Qualified(_QUALIFIERS[entry.tag], self.of(entry))),
            **dict.fromkeys(_KEYWORDS, self._struct),
        }

    def of(self, entry: Any) -> Type:
        """The type that the entry of a variable, a member, a pointer ... refers to. Raises DebugInfoError."""
        target = referred(entry, "DW_AT_type")
        return VOID if target is None else self._type(target)

    def of_entry(self, entry: Any) -> Type:
        """The type that an entry is. Raises DebugInfoError."""
        return self._type(entry)

    def function(self, entry: Any) -> Function:
        """The type of a function by its entry, or that of a type of functions."""
        children = list(source_of(entry).children(entry))
        parameters = tuple(self.of(each) for each in children if each.tag == "DW_TAG_formal_parameter")
        return Function(
            self.of(entry), parameters, any(each.tag == "DW_TAG_unspecified_parameters" for each in children)
        )

    def _type(self, entry: Any) -> Type:
        if "DW_AT_signature" in entry.attributes and "DW_AT_declaration" not in entry.attributes:
            entry = referred(entry, "DW_AT_signature")
        key = id(entry.dwarfinfo), entry.offset
        if key not in self._known:
            maker = self._makers.get(entry.tag)
            if maker is None:
                return VOID
            self._known[key] = None
            try:
                self._known[key] = maker(entry)
            except BaseException:
                del self._known[key]
                raise
        known = self._known[key]
        if known is None:
            raise DebugInfoError(f"a type in the debug information of {source_of(entry).path} is made of itself")
        return known

    def _member_pointer(self, entry: Any) -> Type:
        """A distance in the object, -1 for none; of functions the function, or its place among the virtual ones, and
        what is added to the object's address (Itanium C++ ABI, 2.3)."""
        is_function = isinstance(resolve(self.of(entry)), Function)
        return Array(LONG, 2) if is_function else LONG

    def _array(self, entry: Any) -> Type:
        kind = self.of(entry)
        bounds = [each for each in source_of(entry).children(entry) if each.tag == "DW_TAG_subrange_type"]
        for each in reversed(bounds):
            kind = Array(kind, _length(each))
        return kind

    def _enum(self, entry: Any) -> Type:
        values = tuple(
            (name_of(each), number(each, "DW_AT_const_value") or 0)
            for each in source_of(entry).children(entry)
            if each.tag == "DW_TAG_enumerator"
        )
        size = number(entry, "DW_AT_byte_size") or 4
        encoding = number(entry, "DW_AT_encoding")
        signed = encoding in (_ATE_SIGNED, _ATE_SIGNED_CHAR) or any(value < 0 for _, value in values)
        return Enum(name_of(entry), size, signed, values)

    def _struct(self, entry: Any) -> Type:
        keyword, name = _KEYWORDS[entry.tag], name_of(entry)
        if "DW_AT_declaration" in entry.attributes:
            return Struct(keyword, name, 0, find=lambda: self._definition_of(entry))
        return Struct(keyword, name, number(entry, "DW_AT_byte_size") or 0, lambda: self._members(entry))

    def _definition_of(self, entry: Any) -> Struct | str:
        """That of a structure which an entry declares, or why there is none."""
        path = source_of(entry).path
        try:
            with damaged(path, ElfError, OSError):
                found = self._definition(entry)
                kind = self._type(found) if found is not None else None
        except (DebugInfoError, ElfError) as error:
            return str(error)
        except OSError as error:
            return f"{path}: {error.strerror}"
        return kind if isinstance(kind, Struct) else ""

    def _members(self, entry: Any) -> tuple[Member, ...]:
        found: list[Member] = []
        for each in source_of(entry).children(entry):
            if each.tag == "DW_TAG_variant_part":
                found += self._variants(each)
            is_member = each.tag == "DW_TAG_member" and not {"DW_AT_external", "DW_AT_declaration"} & set(
                each.attributes
            )
            if is_member or each.tag == "DW_TAG_inheritance":
                found += self._member(each)
        return tuple(found)

    def _member(self, entry: Any) -> list[Member]:
        """None where its place is only known when it runs."""
        kind, place = self.of(entry), _member_place(entry)
        return [] if place is None else [Member(name_of(entry), kind, *place)]

    def _variants(self, part: Any) -> list[Member]:
        """An enumeration of Rust as C has it: a union of the variants, and which of them it is."""
        variants: list[Member] = []
        numbers: list[tuple[str, int]] = []
        found: list[Member] = []
        for each in source_of(part).children(part):
            if each.tag == "DW_TAG_member":
                found += [one._replace(name=DISCRIMINANT) for one in self._member(each)]
            for inner in source_of(each).children(each) if each.tag == "DW_TAG_variant" else ():
                if inner.tag == "DW_TAG_member":
                    variants += self._member(inner)
                    number_ = number(each, "DW_AT_discr_value")
                    numbers += [] if number_ is None else [(name_of(inner), number_)]
        size = max((each.offset // 8 + size_of(each.type) for each in variants), default=0)
        found = [each._replace(type=_choice(each.type, tuple(numbers))) for each in found]
        return [*found, Member("", Struct("union", "", size, lambda: tuple(variants)), 0)]


def _choice(kind: Type, numbers: tuple[tuple[str, int], ...]) -> Type:
    """The type of what tells the variant: that variant which has no number is there with any other."""
    base = resolve(kind)
    return Enum("", base.size, base.signed, numbers) if isinstance(base, Int) and base.size <= 8 else kind


def _base(entry: Any) -> Type:
    name, size, encoding = name_of(entry), number(entry, "DW_AT_byte_size") or 0, number(entry, "DW_AT_encoding")
    if encoding in (_ATE_FLOAT, _ATE_COMPLEX):
        return Float(name.replace("complex ", "") + " _Complex" if encoding == _ATE_COMPLEX else name, size)
    plain = _PLAIN.get(name)
    signed = encoding in (_ATE_SIGNED, _ATE_SIGNED_CHAR)
    return plain if plain is not None and plain.size == size and plain.signed == signed else Int(name, size, signed)


def _length(subrange: Any) -> int | None:
    """None for one that is not said, or known only when the program runs: then the bound is a variable's entry."""
    count, bound = _bound(subrange, "DW_AT_count"), _bound(subrange, "DW_AT_upper_bound")
    if count is not None:
        return count
    if bound is None:
        return None
    # An upper bound of -1, in whatever size, is that of an array without elements.
    form = subrange.attributes["DW_AT_upper_bound"].form
    sizes = {"DW_FORM_data1": 8, "DW_FORM_data2": 16, "DW_FORM_data4": 32, "DW_FORM_data8": 64}
    if bound == (1 << sizes.get(form, 64)) - 1 and form != "DW_FORM_data1":
        return 0
    return max(bound + 1 - (_bound(subrange, "DW_AT_lower_bound") or 0), 0)


def _bound(subrange: Any, attribute: str) -> int | None:
    value = subrange.attributes.get(attribute)
    return None if value is None or value.form.startswith("DW_FORM_ref") else number(subrange, attribute)


def _member_place(entry: Any) -> tuple[int, int] | None:
    """Where a member is and how wide a bit-field it is, in bits; None where its place is only known when it runs."""
    bits = number(entry, "DW_AT_bit_size") or 0
    attribute = entry.attributes.get("DW_AT_data_member_location")
    start = 0
    if attribute is not None:
        value = _constant_offset(attribute.value)
        if value is None:
            return None
        start = value * 8
    offset = number(entry, "DW_AT_data_bit_offset")
    if offset is not None:
        return start + offset, bits
    # DWARF 2 and 3 count from the most significant bit of the storage unit.
    from_top = number(entry, "DW_AT_bit_offset")
    if bits and from_top is not None:
        size = number(entry, "DW_AT_byte_size") or number(referred(entry, "DW_AT_type"), "DW_AT_byte_size") or 4
        return start + size * 8 - from_top - bits, bits
    return start, bits


def _constant_offset(value: Any) -> int | None:
    if isinstance(value, int):
        return value
    code = bytes(value)
    if not code or code[0] != _OP_PLUS_UCONST:
        return None
    try:
        return uleb128(code, 1)[0]
    except IndexError:
        raise DebugInfoError("the place of a member is cut off") from None
