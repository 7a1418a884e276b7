"""The arguments of static probes as `bpf_usdt_arg()` of libbpf's usdt.bpf.h looks for them: a map of descriptions, in
which the attach cookie of the site that has fired is the number of its own.

The description is the structure that the object itself declares as the map's value, so that members which later
versions of the header have (an index register) are used where they are there.
"""

from __future__ import annotations

from collections.abc import Mapping

from sonde.bpf import btf
from sonde.bpf.btf import Btf, BtfMember, BtfType
from sonde.model.location import MASK, Binary, Constant, Load, Register, Value, lowest
from sonde.model.probe import StaticArgument, StaticSite
from sonde.objects.errors import ObjectError
from sonde.objects.maps import MapDefinition
from sonde.objects.types import size_of, stripped
from sonde.symbols.dwarf.expressions import UnsupportedError
from sonde.symbols.dwarf.fetching import pt_regs_offset

MAP = "__bpf_usdt_specs"

_CONSTANT, _REGISTER, _MEMORY, _INDEXED = range(4)
"""enum __bpf_usdt_arg_type."""

Parts = dict[str, int]
"""Members of the description of an argument by their names."""


class StaticArguments:
    """The descriptions of all sites of an object's programs."""

    def __init__(self, types: Btf | None, definitions: Mapping[str, MapDefinition]) -> None:
        found = definitions.get(MAP)
        self._types = types
        self._definition = found if types is not None and found is not None and found.value else None
        self._numbers: dict[bytes, int] = {}

    def cookie(self, site: StaticSite, section: str) -> int:
        """The number of the site's description, 0 where the object asks for none. Raises ObjectError."""
        if self._definition is None or self._types is None:
            return 0
        described = _described(self._types, self._definition, site, section)
        number = self._numbers.setdefault(described, len(self._numbers))
        most = self._definition.spec.max_entries
        if number >= most:
            raise ObjectError(f"{section}: the object has room for {most} kinds of sites", f"enlarge the map {MAP}")
        return number

    @property
    def contents(self) -> tuple[tuple[bytes, bytes], ...]:
        return tuple((number.to_bytes(4, "little"), each) for each, number in self._numbers.items())


def _described(types: Btf, definition: MapDefinition, site: StaticSite, section: str) -> bytes:
    """struct __bpf_usdt_spec."""
    spec = _members(types, stripped(types, definition.value))
    arguments = spec.get("args")
    if arguments is None or "arg_cnt" not in spec:
        raise ObjectError(f"the values of map {MAP} are no struct __bpf_usdt_spec", "include libbpf's usdt.bpf.h")
    array = stripped(types, arguments.type)
    if array.kind != btf.ARRAY or len(site.arguments) > array.length:
        raise ObjectError(f"{section}: the probe has {len(site.arguments)} arguments, more than {MAP} has room for")
    each = _members(types, stripped(types, array.type))
    step = 8 * size_of(types, array.type)
    number = _put(types, spec["arg_cnt"], 0, len(site.arguments))
    for index, argument in enumerate(site.arguments):
        for name, value in _parts(argument, index, section).items():
            if name in each:
                number |= _put(types, each[name], arguments.offset + index * step, value)
            elif value:
                raise ObjectError(
                    f"{section}: argument {index} is found by two registers, which the object's usdt.bpf.h has not",
                    "compile with that of a later libbpf",
                )
    size = definition.spec.value_size
    try:
        return number.to_bytes(size, "little")
    except OverflowError:
        raise ObjectError(f"the values of map {MAP} are no struct __bpf_usdt_spec") from None


def _members(types: Btf, found: BtfType) -> dict[str, BtfMember]:
    return {each.name: each for each in found.members} if found.kind == btf.STRUCT else {}


def _put(types: Btf, member: BtfMember, base: int, value: int) -> int:
    """A member's value at its bits of the structure, which begins at bit `base`."""
    bits = member.bits or 8 * size_of(types, member.type)
    return (value & (1 << bits) - 1) << base + member.offset


def _parts(argument: StaticArgument, index: int, section: str) -> Parts:
    if argument.value is None:
        raise ObjectError(f"{section}: argument {index} cannot be had: {argument.reason}")
    try:
        parts = _place(lowest(argument.value, argument.size))
    except UnsupportedError:
        raise ObjectError(
            f"{section}: bpf_usdt_arg() cannot tell argument {index}, which has to be computed",
            "a probe line can have the others",
        ) from None
    return parts | {"arg_signed": int(argument.is_signed), "arg_bitshift": 64 - 8 * argument.size}


def _place(value: Value) -> Parts:
    match value:
        case Constant(number):
            return {"arg_type": _CONSTANT, "val_off": number & MASK}
        case Register(number):
            return {"arg_type": _REGISTER, "reg_off": pt_regs_offset(number)}
        case Load(Register(number), _):
            return {"arg_type": _MEMORY, "reg_off": pt_regs_offset(number)}
        case Load(Binary("plus", Register(number), Constant(offset)), _):
            return {"arg_type": _MEMORY, "reg_off": pt_regs_offset(number), "val_off": offset}
        case Load(Binary("plus", Binary("plus", Register(base), Binary("mul", Register(by), Constant(scale))),
                         Constant(offset)), _):  # fmt: skip
            return _indexed(base, by, scale, offset)
        case Load(Binary("plus", Register(base), Binary("mul", Register(by), Constant(scale))), _):
            return _indexed(base, by, scale, 0)
    raise UnsupportedError("it has to be computed")


def _indexed(base: int, by: int, scale: int, offset: int) -> Parts:
    return {
        "arg_type": _INDEXED,
        "reg_off": pt_regs_offset(base),
        "idx_reg_off": pt_regs_offset(by),
        "scale_bitshift": scale.bit_length() - 1,
        "val_off": offset,
    }
