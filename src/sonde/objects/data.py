"""Global variables of an object, set before it is loaded: `const volatile int pid` by -D pid=12 or -D 'pid=$target'."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from sonde.objects.elf import STT_OBJECT, ObjectFile, Symbol
from sonde.objects.errors import ObjectError
from sonde.typed import TypeVar

_Chosen = TypeVar("_Chosen")

TARGET = "$target"
_SIZES = (1, 2, 4, 8)
_DATA = (".data", ".rodata", ".bss")


def given_values(definitions: Sequence[str], target: int | None) -> dict[str, int]:
    """The numbers of `NAME=VALUE` each; `target` is what $target stands for. Raises ObjectError."""
    return once("-D", (_given(each, target) for each in definitions))


def _given(definition: str, target: int | None) -> tuple[str, int]:
    name, equals, text = definition.partition("=")
    if text.strip() == TARGET:
        if target is None:
            raise ObjectError("$target is the process of -c or -p, and neither is given")
        return name.strip(), target
    try:
        return name.strip(), int(text, 0) if equals else 1
    except ValueError:
        raise ObjectError(f"-D {definition}: a global variable is set to a number or to $target") from None


def once(option: str, given: Iterable[tuple[str, _Chosen]]) -> dict[str, _Chosen]:
    """What an option chooses of each name. Raises ObjectError where that is two things."""
    found: dict[str, _Chosen] = {}
    for name, value in given:
        if found.setdefault(name, value) != value:
            raise ObjectError(f"{option} {name} is given twice, as {found[name]} and {value}, and it has one value")
    return found


def set_variables(file: ObjectFile, values: Mapping[str, int]) -> dict[str, bytes]:
    """The contents of the sections whose variables have been set, by name. Raises ObjectError."""
    changed: dict[str, bytearray] = {}
    for name, value in values.items():
        symbol = next((each for each in file.symbols if each.name == name and each.kind == STT_OBJECT), None)
        section = file.sections[symbol.section] if symbol and symbol.section < len(file.sections) else None
        if symbol is None or section is None or not section.name.startswith(_DATA):
            raise ObjectError(f"it has no global variable {name}")
        if symbol.size not in _SIZES:
            raise ObjectError(f"{name} has {symbol.size} bytes: only a number can be set")
        if not -(1 << 8 * symbol.size - 1) <= value < 1 << 8 * symbol.size:
            raise ObjectError(f"{value} does not fit into {name}, which has {symbol.size} bytes")
        contents = changed.setdefault(section.name, bytearray(file.contents(symbol.section)))
        number = value & (1 << 8 * symbol.size) - 1
        contents[symbol.value : symbol.value + symbol.size] = number.to_bytes(symbol.size, "little")
    return {name: bytes(contents) for name, contents in changed.items()}


def refuse_addresses(file: ObjectFile, used: Mapping[str, Collection[int]]) -> None:
    """Variables that are to hold addresses of data or functions, where programs use them: in the kernel these are in
    maps and programs, where no number in memory leads to. `used` are the places of sections that instructions name, by
    section. Raises ObjectError."""
    for number, section in enumerate(file.sections):
        places = used.get(section.name, ()) if section.name.startswith(_DATA) else ()
        for each in file.relocations(number) if places else ():
            variable = _variable(file.symbols, number, each.offset)
            if not any(_variable(file.symbols, number, place) in (variable, None) for place in places):
                continue
            name = variable.name if variable is not None else f"byte {each.offset}"
            raise ObjectError(
                f"{name} of section {section.name} is to hold the address of {each.symbol.name or 'something'}, "
                "which programs in the kernel cannot follow",
                "use an array of characters, or of arrays, instead of one of pointers",
            )


def _variable(symbols: Sequence[Symbol], section: int, offset: int) -> Symbol | None:
    """The variable that has a byte of a section."""
    return next(
        (each for each in symbols
         if each.section == section and each.kind == STT_OBJECT and 0 <= offset - each.value < each.size),
        None,
    )  # fmt: skip
