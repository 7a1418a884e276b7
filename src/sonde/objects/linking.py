"""Programs put together: a function and all that it calls, with what the linker would have filled in.

A program is one sequence of instructions, the function that is fired first, as BPF_PROG_LOAD takes it. Compilers keep
functions apart by section and leave relocations for calls between sections, for maps and for data.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sonde.bpf import instructions as i
from sonde.bpf.helpers import FETCH_VARIABLES
from sonde.bpf.instructions import Instruction
from sonde.model.spec import Stamp
from sonde.objects.addends import Addends
from sonde.objects.btf_ext import Extension
from sonde.objects.elf import SHF_EXECINSTR, SHN_UNDEF, ObjectFile, Relocation, is_gnu
from sonde.objects.errors import ObjectError
from sonde.objects.fetching import NAME as FETCHING
from sonde.objects.frame import CallingCode
from sonde.objects.functions import Functions, ObjectFunction
from sonde.typed import NamedTuple

_MOST = 1_000_000
"""Instructions of a program: BPF_COMPLEXITY_LIMIT_INSNS, include/linux/bpf.h."""


class MapPlace(NamedTuple):
    """A byte of a map: `is_map` where the map itself is meant, not a value in it."""

    map: str
    offset: int
    is_map: bool


class External(NamedTuple):
    """What a symbol that the object only declares is: a place in a map, a kernel symbol's address to be stamped, a
    type id of the kernel's BTF (a variable of its, or a function to be called), or nothing (`missing`)."""

    place: MapPlace | None = None
    symbol: str = ""
    type_id: int = 0
    missing: bool = False


class VariableCode(NamedTuple):
    """What a program is linked with for its variables: a `frame` that is its first function, with what the frame calls
    and its map; and what `bpf_fetch_variables()` is, `asked`, which the engine's helper of that name is without code.
    `has_line`: there are variables to ask for."""

    frame: CallingCode | None = None
    frame_map: str = ""
    arriving: Sequence[Instruction] = ()
    asked: Sequence[Instruction] = ()
    has_line: bool = False


NO_VARIABLES = VariableCode()


class LinkedFunctions(NamedTuple):
    """A program: its functions at indexes of instructions, those that the object has not by what they do, and what
    refers to maps and stamps. `calls` are pairs of functions, `fetches` the calls of `bpf_fetch_variables()` and the
    functions that they are in."""

    code: list[Instruction]
    functions: list[tuple[int, ObjectFunction]]
    generated: list[tuple[int, str]]
    map_references: list[tuple[int, str]]
    stamps: list[Stamp]
    calls: list[tuple[ObjectFunction, ObjectFunction]]
    fetches: list[tuple[int, ObjectFunction]]

    def fetching(self) -> set[ObjectFunction]:
        """The functions that ask for variables, and those that call them."""
        found = {function for _, function in self.fetches}
        while more := {caller for caller, called in self.calls if called in found} - found:
            found |= more
        return found


class Linker:
    """Links the programs of one object."""

    def __init__(
        self,
        file: ObjectFile,
        functions: Functions,
        code: Mapping[int, list[Instruction]],
        places: Mapping[int, Mapping[int, MapPlace] | str],
        externals: Mapping[str, External],
    ) -> None:
        """`code` is that of each section by number; `places` say of the others what they are: maps by their offset, or
        the name of the map that holds the data."""
        self._file = file
        self._functions = functions
        self._code = code
        self._places = places
        self._externals = externals
        self._relocations: dict[int, dict[int, Relocation]] = {}
        self._addends = Addends(self._immediates(), is_gnu(file))

    def link(self, entry: ObjectFunction, variables: VariableCode = NO_VARIABLES) -> LinkedFunctions:
        """The program that begins with `entry`, or with a frame that calls it. Raises ObjectError."""
        linked = LinkedFunctions([], [], [], [], [], [], [])
        starts: dict[ObjectFunction, int] = {}
        waiting: list[tuple[int, ObjectFunction]] = []
        frame = variables.frame
        if frame is not None:
            linked.generated.append((0, "frame"))
            linked.code.extend(frame.code)
            linked.map_references.extend((at, variables.frame_map) for at in frame.map_references)
            waiting.append((frame.call, entry))
        pending = [entry]
        while pending:
            function = pending.pop(0)
            if function in starts:
                continue
            starts[function] = len(linked.code)
            linked.functions.append((len(linked.code), function))
            called = self._append(function, linked)
            linked.calls.extend((function, target) for _, target in called)
            waiting += called
            pending += [target for _, target in called]
            if len(linked.code) > _MOST:
                raise ObjectError(f"program {entry.name} has more than {_MOST} instructions")
        for at, target in waiting:
            linked.code[at] = linked.code[at]._replace(imm=starts[target] - at - 1)
        _put_in(entry, variables, linked)
        return linked

    def _append(self, function: ObjectFunction, linked: LinkedFunctions) -> list[tuple[int, ObjectFunction]]:
        """Put a function's code behind the rest; the instructions that need the place of another function."""
        first = function.start // 8
        code = self._code[function.section][first : first + function.size // 8]
        base, called = len(linked.code), []
        linked.code.extend(code)
        relocations = self._of_section(function.section)
        for index, each in enumerate(code):
            relocation = relocations.get(function.start + 8 * index)
            if each.opcode == i.LD_IMM64:
                if index + 1 == len(code):
                    raise ObjectError(f"function {function.name} ends in the middle of an instruction")
                if relocation is not None:
                    target = self._load(function, base + index, relocation, linked)
                    called += [(base + index, target)] if target is not None else []
            elif each.opcode == i.JMP | i.CALL and (relocation is not None or each.src == i.CALL_LOCAL):
                target = self._call(function, base + index, index, relocation, linked)
                called += [(base + index, target)] if target is not None else []
            elif each.opcode == i.JMP | i.CALL and each.src == i.CALL_HELPER and each.imm == FETCH_VARIABLES:
                linked.fetches.append((base + index, function))
            elif relocation is not None:
                raise ObjectError(f"function {function.name} has a relocation for an instruction that needs none")
        return called

    def _immediates(self) -> Iterator[tuple[Relocation, int]]:
        for number, code in self._code.items():
            for offset, relocation in self._of_section(number).items():
                if offset // 8 < len(code) and code[offset // 8].opcode == i.LD_IMM64:
                    yield relocation, code[offset // 8].imm

    def _of_section(self, number: int) -> dict[int, Relocation]:
        if number not in self._relocations:
            self._relocations[number] = {each.offset: each for each in self._file.relocations(number)}
        return self._relocations[number]

    def _call(
        self, function: ObjectFunction, at: int, index: int, relocation: Relocation | None, linked: LinkedFunctions
    ) -> ObjectFunction | None:
        instruction = linked.code[at]
        if relocation is None:
            offset = function.start + 8 * (index + 1 + instruction.imm)
            return self._functions.starting_at(function.section, offset)
        symbol = relocation.symbol
        if symbol.section == SHN_UNDEF:
            self._call_external(function, at, symbol.name, linked)
            return None
        linked.code[at] = instruction._replace(src=i.CALL_LOCAL)
        return self._functions.starting_at(symbol.section, self._addends.called(symbol, instruction.imm))

    def _call_external(self, function: ObjectFunction, at: int, name: str, linked: LinkedFunctions) -> None:
        if name == FETCHING:
            linked.fetches.append((at, function))
            return
        external = self._externals.get(name)
        if external is None or external.place is not None or external.symbol:
            raise ObjectError(
                f"function {function.name} calls {name}, which the object only declares",
                "declare a helper by its number, as bpf_helpers.h does, or a function of the kernel by __ksym",
            )
        linked.code[at] = linked.code[at]._replace(src=i.CALL_KFUNC, imm=external.type_id, offset=0)

    def _load(
        self, function: ObjectFunction, at: int, relocation: Relocation, linked: LinkedFunctions
    ) -> ObjectFunction | None:
        """The address that an LD_IMM64 loads; a function's is known only when all have their places."""
        symbol, instruction = relocation.symbol, linked.code[at]
        if symbol.section == SHN_UNDEF:
            self._load_external(function, at, symbol.name, linked)
            return None
        offset = self._addends.offset(symbol, instruction.imm)
        if symbol.section in self._code and self._file.sections[symbol.section].flags & SHF_EXECINSTR:
            linked.code[at] = instruction._replace(src=i.PSEUDO_FUNC)
            return self._functions.starting_at(symbol.section, offset)
        place = self._place(function, symbol.section, offset)
        self._refer(at, place, linked)
        return None

    def _place(self, function: ObjectFunction, section: int, offset: int) -> MapPlace:
        found = self._places.get(section)
        if isinstance(found, str):
            return MapPlace(found, offset, False)
        if found is None or offset not in found:
            name = self._file.sections[section].name if section < len(self._file.sections) else str(section)
            raise ObjectError(f"function {function.name} refers to byte {offset} of section {name}, which is no data")
        return found[offset]

    def _refer(self, at: int, place: MapPlace, linked: LinkedFunctions) -> None:
        linked.map_references.append((at, place.map))
        source = i.PSEUDO_MAP_FD if place.is_map else i.PSEUDO_MAP_VALUE
        linked.code[at] = linked.code[at]._replace(src=source, imm=0)
        linked.code[at + 1] = linked.code[at + 1]._replace(imm=place.offset)

    def _load_external(self, function: ObjectFunction, at: int, name: str, linked: LinkedFunctions) -> None:
        external = self._externals.get(name)
        if name == FETCHING:
            raise ObjectError(f"function {function.name} takes the address of {name}, which can only be called")
        if external is None:
            raise ObjectError(
                f"function {function.name} needs {name}, which the object only declares",
                "variables of the kernel are declared with __ksym, those of its configuration with __kconfig",
            )
        if external.place is not None:
            self._refer(at, external.place, linked)
            return
        source = i.PSEUDO_BTF_ID if external.type_id else i.PSEUDO_VALUE  # 0 where it is missing
        linked.code[at] = linked.code[at]._replace(src=source, imm=external.type_id)
        linked.code[at + 1] = linked.code[at + 1]._replace(imm=0)
        if external.symbol:
            linked.stamps.append(Stamp(at, "symbol", external.symbol))


def _put_in(entry: ObjectFunction, variables: VariableCode, linked: LinkedFunctions) -> None:
    """The functions that fetch, behind all others, and the calls of them. Raises ObjectError."""
    if linked.fetches and not variables.has_line:
        _, function = linked.fetches[0]
        raise ObjectError(
            f"program {entry.name} calls {FETCHING} in {function.name}, and no probe line says which variables it has",
            'name them in its section, SEC("func=FUNCTION VARIABLE"), or in a line of the section config',
        )
    calls = {variables.frame.fetch: variables.arriving} if variables.frame is not None else {}
    for at, _ in linked.fetches:
        if variables.asked:
            calls[at] = variables.asked
        else:
            linked.code[at] = i.call(FETCH_VARIABLES)
    starts: dict[tuple[Instruction, ...], int] = {}
    for at, code in calls.items():
        key = tuple(code)
        if key not in starts:
            starts[key] = len(linked.code)
            linked.generated.append((len(linked.code), f"fetch_{len(starts)}"))
            linked.code.extend(code)
        linked.code[at] = i.call_local(starts[key] - at - 1)


def function_info(linked: LinkedFunctions, extension: Extension, file: ObjectFile) -> list[tuple[int, int]]:
    """(index, FUNC) of each function; none at all if one is not described, since the kernel wants all or none."""
    found = []
    for index, function in linked.functions:
        known = extension.functions.get(file.sections[function.section].name, ())
        types = [each.type for each in known if each.offset == function.start]
        if not types:
            return []
        found.append((index, types[0]))
    return found


def line_info(linked: LinkedFunctions, extension: Extension, file: ObjectFile) -> list[tuple[int, int, int, int]]:
    """(index, file, text, place) of each line; none at all if a function does not begin with one, likewise."""
    found: list[tuple[int, int, int, int]] = []
    for index, function in linked.functions:
        known = extension.lines.get(file.sections[function.section].name, ())
        here = [each for each in known if function.start <= each.offset < function.start + function.size]
        if not here or min(each.offset for each in here) != function.start:
            return []
        rows = {index + (each.offset - function.start) // 8: each for each in here}
        found += [(at, each.file, each.text, each.place) for at, each in sorted(rows.items())]
    return found
