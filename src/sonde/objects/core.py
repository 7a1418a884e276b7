"""CO-RE: code compiled with one description of the kernel's types, changed to be right for another.

A relocation names a field, type or enumerator of the object's own BTF; the same is looked for by name in the kernel's,
and the number that follows from it is put into the instruction. Where the kernel has it not, the instruction becomes
one that the verifier refuses, unless the program never comes there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from sonde.bpf import btf
from sonde.bpf import instructions as i
from sonde.bpf.btf import Btf
from sonde.bpf.helpers import POISON
from sonde.bpf.instructions import Instruction
from sonde.objects.btf_ext import CoreRelocation
from sonde.objects.core_access import (
    ENUMS,
    ObjectField,
    compatible_types,
    essential,
    local_field,
    matching_types,
    numbers_of,
    same_field,
)
from sonde.objects.errors import ObjectError
from sonde.objects.types import size_of, spelled, stripped
from sonde.typed import NamedTuple, Protocol

BYTE_OFFSET, BYTE_SIZE, EXISTS, SIGNED, LSHIFT, RSHIFT, LOCAL_ID, TARGET_ID = range(8)
TYPE_EXISTS, TYPE_SIZE, ENUMERATOR_EXISTS, ENUMERATOR_VALUE, TYPE_MATCHES = range(8, 13)
"""enum bpf_core_relo_kind."""

OF_FIELD = frozenset(range(6))
_OF_ENUMERATOR = frozenset((ENUMERATOR_EXISTS, ENUMERATOR_VALUE))
_ZERO_WITHOUT = frozenset((EXISTS, TYPE_EXISTS, TYPE_SIZE, TYPE_MATCHES, ENUMERATOR_EXISTS, TARGET_ID))
"""What is 0 where the kernel has no such thing; nothing else can be."""

_STATEMENT = 8
"""Instructions that belong to a statement, as far as gcc's relocations go."""


class Kernel(Protocol):
    """The BTF that code is changed for."""

    @property
    def main(self) -> Btf:
        """That of the kernel itself. Raises ObjectError."""

    def candidates(self, name: str, kinds: Iterable[int]) -> Sequence[tuple[Btf, int]]:
        """The types of a name and one of these kinds: the kernel's, or, if it has none, those of its modules."""


class _Value(NamedTuple):
    """What goes into the instruction; `size` is how many bytes a load there has to take, 0 if that does not matter.

    `is_checked`: the compiler put the same number there. Which word a bit-field is loaded by is the compiler's choice.
    """

    number: int
    size: int = 0
    is_plain: bool = True
    is_checked: bool = True


class Relocator:
    """Changes instructions for one kernel; `missing` is what it has not, in the order of the poisoned instructions."""

    def __init__(self, types: Btf, kernel: Kernel, is_gnu: bool = False) -> None:
        """`is_gnu`: the object was compiled by gcc, which may name an instruction some way before the right one."""
        self._types = types
        self._is_gnu = is_gnu
        self._kernel = kernel
        self._known: dict[tuple[int, str, int], tuple[_Value | None, _Value | None]] = {}
        self.missing: list[str] = []

    def relocate(
        self, code: list[Instruction], relocations: Iterable[CoreRelocation], others: Collection[int] = ()
    ) -> None:
        """Change the code of a section, whose instructions `others` are for the linker. Raises ObjectError."""
        for each in relocations:
            index = each.offset // 8
            if each.offset % 8 or index >= len(code):
                raise ObjectError(f"a relocation is for byte {each.offset}, where there is no instruction")
            key = each.type, each.access, each.kind
            if key not in self._known:
                self._known[key] = self._values(each)
            local, target = self._known[key]
            if self._is_gnu and local is not None:
                index = _meant(code, index, local, others)
            if target is None:
                poison = i.call(POISON + len(self.missing))
                if code[index].opcode == i.LD_IMM64 and index + 1 < len(code):
                    code[index + 1] = poison  # the second half of a constant is no instruction by itself
                code[index] = poison
                self.missing.append(self._shown(each))
            else:
                _patch(code, index, local, target, self._shown(each))

    def _shown(self, relocation: CoreRelocation) -> str:
        name = spelled(self._types, relocation.type)
        if relocation.kind not in OF_FIELD:
            return name
        field = local_field(self._types, relocation.type, numbers_of(relocation.access))
        return name + "".join(f".{each.name}" if each.name else f"[{each.number}]" for each in field.steps[1:])

    def _values(self, relocation: CoreRelocation) -> tuple[_Value | None, _Value | None]:
        """What the object was compiled with (None: whatever it is), and what is right here (None: nothing is)."""
        kind, access = relocation.kind, numbers_of(relocation.access)
        if kind == LOCAL_ID:
            return None, _Value(relocation.type)
        if kind in OF_FIELD:
            return self._of_field(relocation.type, access, kind)
        if kind in _OF_ENUMERATOR:
            return self._of_enumerator(relocation.type, access[0], kind)
        if kind in (TARGET_ID, TYPE_EXISTS, TYPE_SIZE, TYPE_MATCHES):
            return self._of_type(relocation.type, kind)
        raise ObjectError(f"a relocation is of kind {kind}, which is not known")

    def _candidates(self, identifier: int, *kinds: int) -> Sequence[tuple[Btf, int]]:
        """Types of the kernel with the name of one of the object's."""
        found = stripped(self._types, identifier)
        typed = self._types.type(identifier)
        if typed.kind == btf.TYPEDEF:
            return self._kernel.candidates(essential(typed.name), (btf.TYPEDEF,))
        if not found.name:
            return ()
        return self._kernel.candidates(essential(found.name), kinds or (found.kind,))

    def _of_field(self, root: int, access: tuple[int, ...], kind: int) -> tuple[_Value | None, _Value | None]:
        field = local_field(self._types, root, access)
        local = _field_value(self._types, field, kind)
        found = [
            _field_value(types, other, kind)
            for types, identifier in self._candidates(root)
            if (other := same_field(types, identifier, self._types, field)) is not None
        ]
        return local, self._one(found, kind, root)

    def _of_type(self, root: int, kind: int) -> tuple[_Value | None, _Value | None]:
        test = matching_types if kind == TYPE_MATCHES else compatible_types
        local = {TARGET_ID: None, TYPE_SIZE: _Value(size_of(self._types, root))}.get(kind, _Value(1))
        found = []
        for types, identifier in self._candidates(root):
            if test(self._types, root, types, identifier):
                number = {TARGET_ID: identifier, TYPE_SIZE: size_of(types, identifier)}.get(kind, 1)
                found.append(_Value(number))
        return local, self._one(found, kind, root)

    def _of_enumerator(self, root: int, number: int, kind: int) -> tuple[_Value | None, _Value | None]:
        enumeration = stripped(self._types, root)
        if enumeration.kind not in ENUMS or number >= len(enumeration.values):
            raise ObjectError(f"a relocation names enumerator {number} of type {root}, which has none")
        wanted = enumeration.values[number]
        found = [
            _Value(each.value if kind == ENUMERATOR_VALUE else 1)
            for types, identifier in self._candidates(root, *ENUMS)
            for each in stripped(types, identifier).values
            if essential(each.name) == essential(wanted.name)
        ]
        return _Value(wanted.value if kind == ENUMERATOR_VALUE else 1), self._one(found, kind, root)

    def _one(self, found: Sequence[_Value], kind: int, root: int) -> _Value | None:
        if not found:
            return _Value(0) if kind in _ZERO_WITHOUT else None
        if kind != TARGET_ID and any(each.number != found[0].number for each in found):
            raise ObjectError(
                f"the kernel has several types {spelled(self._types, root)}, which differ where it matters"
            )
        return found[0]


def _field_value(types: Btf, field: ObjectField, kind: int) -> _Value:
    """Raises ObjectError where a bit-field is too wide to be loaded at once."""
    if kind == EXISTS:
        return _Value(1)
    real = stripped(types, field.type)
    size, offset = size_of(types, field.type), field.offset // 8
    width = field.bits or 8 * size
    if field.bits:
        offset, size = _covering(field, size)
    match kind:
        case _ if kind == BYTE_OFFSET:
            is_plain = real.kind == btf.PTR or (real.kind == btf.INT and not real.encoding & btf.INT_SIGNED)
            return _Value(offset, 0 if field.bits else size, is_plain, not field.bits)
        case _ if kind == BYTE_SIZE:
            return _Value(size, is_checked=not field.bits)
        case _ if kind == SIGNED:
            is_signed = real.flag if real.kind in ENUMS else bool(real.encoding & btf.INT_SIGNED)
            return _Value(int(is_signed))
        case _ if kind == LSHIFT:
            return _Value(64 - (field.offset + width - offset * 8), is_checked=not field.bits)
        case _:
            return _Value(64 - width)


def _covering(field: ObjectField, size: int) -> tuple[int, int]:
    """The offset and size in bytes of the aligned word that has a whole bit-field in it."""
    while True:
        size = max(size, 1)
        offset = field.offset // 8 // size * size
        if field.offset + field.bits - offset * 8 <= size * 8:
            return offset, size
        if size >= 8:
            raise ObjectError("a bit-field cannot be loaded as one word")
        size *= 2


def _meant(code: Sequence[Instruction], index: int, local: _Value, others: Collection[int]) -> int:
    """The instruction that a relocation of gcc is for. It names the first one of the statement that has the access,
    which may find out first where to store what is loaded: it is the first that has the number in it."""
    for at in range(index, min(index + _STATEMENT, len(code))):
        each = code[at]
        class_ = each.opcode & 7
        if at in others:
            continue
        if class_ in (i.ALU, i.ALU64) and not each.opcode & i.X and each.imm == local.number:
            return at
        if class_ in (i.LDX, i.ST, i.STX) and each.offset == local.number:
            size = i.BYTES_OF_SIZE.get(each.opcode & 0x18)
            if not local.size or size == local.size or local.size not in i.SIZE_OF_BYTES:
                return at
        if each.opcode == i.LD_IMM64 and each.imm == local.number:
            return at
    return index


def _patch(code: list[Instruction], index: int, local: _Value | None, target: _Value, shown: str) -> None:
    instruction = code[index]
    class_ = instruction.opcode & 7
    if class_ in (i.ALU, i.ALU64) and not instruction.opcode & i.X:
        _check(local, instruction.imm, shown)
        code[index] = instruction._replace(imm=i.signed32(target.number))
    elif class_ in (i.LDX, i.ST, i.STX):
        _check(local, instruction.offset, shown)
        if not -(1 << 15) <= target.number < 1 << 15:
            raise ObjectError(f"{shown} is too far from the start of its structure here, at {target.number}")
        changed = instruction._replace(offset=target.number)
        code[index] = _resized(changed, local, target, shown)
    elif instruction.opcode == i.LD_IMM64 and index + 1 < len(code):
        _check(local, instruction.imm & 0xFFFFFFFF | (code[index + 1].imm & 0xFFFFFFFF) << 32, shown)
        code[index] = instruction._replace(imm=i.signed32(target.number & 0xFFFFFFFF), src=0)
        code[index + 1] = code[index + 1]._replace(imm=i.signed32(target.number >> 32 & 0xFFFFFFFF))
    else:
        raise ObjectError(f"a relocation of {shown} is for an instruction that takes no number")


def _check(local: _Value | None, found: int, shown: str) -> None:
    """The compiler put there what follows from the object's own types: else the relocation is for something else."""
    if local is not None and local.is_checked and (local.number - found) & 0xFFFFFFFF:
        raise ObjectError(f"a relocation of {shown} is for an instruction with {found} in the place of {local.number}")


def _resized(instruction: Instruction, local: _Value | None, target: _Value, shown: str) -> Instruction:
    """A load or store of as many bytes as the field has here."""
    if local is None or not local.size or not target.size or local.size == target.size:
        return instruction
    if i.BYTES_OF_SIZE.get(instruction.opcode & 0x18) != local.size:
        # It takes a part of the field, or more of them than one: then only where it begins matters.
        return instruction
    if not (local.is_plain and target.is_plain) or target.size not in i.SIZE_OF_BYTES:
        raise ObjectError(
            f"{shown} has {target.size} bytes here, and the program loads {local.size} with a sign",
            "read it with BPF_CORE_READ_BITFIELD or declare it unsigned",
        )
    return instruction._replace(opcode=instruction.opcode & ~0x18 | i.SIZE_OF_BYTES[target.size])
