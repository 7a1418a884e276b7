"""Probe lines in programs and libraries: their places, and variables by debug information."""

from __future__ import annotations

from sonde.arch import registers
from sonde.model.location import Address, InMemory, InRegister, IsValue, Piece
from sonde.model.probe import Firing, Uprobe
from sonde.model.spec import FetchStep
from sonde.model.types import size_of
from sonde.objects.errors import ObjectError
from sonde.objects.kernel_variables import RESULT
from sonde.objects.lines import ProbeLine, WantedVariable
from sonde.objects.paths import FoundVariable, Reached, follow
from sonde.objects.traceable_code import TraceableCode
from sonde.objects.user import EVERY_PROCESS, found_file, place_of, user_function
from sonde.symbols.dwarf.errors import DebugInfoError, damaged
from sonde.symbols.dwarf.fetching import fetches, steps
from sonde.symbols.dwarf.information import open_information
from sonde.symbols.dwarf.points import CodePoint, Points
from sonde.symbols.elf.file import ElfError, ElfFile


def user_line(line: ProbeLine, traceable: TraceableCode) -> list[tuple[tuple[Firing, ...], tuple[FoundVariable, ...]]]:
    """The places of a line, and its variables at each. Raises ObjectError."""
    path = found_file(line.path)
    if line.function.startswith("%"):
        # What notes and operands are read with.
        from sonde.objects.static_probes import static_line

        return static_line(path, line, traceable)
    if not line.file and (not line.variables or line.is_return):
        offset = f"+{line.offset}" if line.offset else ""
        kind = "return" if line.is_return else "entry"
        firings = user_function(f"{path}:{line.function}{offset}", repr(line.text), kind, traceable)
        return [(firings, tuple(_result(path, line, each) for each in line.variables))]
    try:
        with damaged(path, OSError, ElfError, ObjectError):
            return _with_variables(path, line, traceable)
    except OSError as error:
        raise ObjectError(f"{line.text!r}: {path}: {error.strerror}") from None
    except (DebugInfoError, ElfError) as error:
        raise ObjectError(f"{line.text!r}: {error}") from None


def _with_variables(
    path: str, line: ProbeLine, traceable: TraceableCode
) -> list[tuple[tuple[Firing, ...], tuple[FoundVariable, ...]]]:
    points = Points(open_information(path))
    file = ElfFile.open(path)
    found = points.at_line(line.file, line.line) if line.file else _in_function(path, points, line, file, traceable)
    code = traceable.functions_of(path, repr(line.text))
    made: list[tuple[tuple[Firing, ...], tuple[FoundVariable, ...]]] = []
    for point in found:
        offset = place_of(code, point.address, repr(line.text))
        kind = "offset" if line.file or line.offset else "entry"
        variables = tuple(_variable(points, point, each) for each in line.variables)
        made.append(((Uprobe(EVERY_PROCESS, path, offset, kind),), variables))
    return made


def _in_function(
    path: str, points: Points, line: ProbeLine, file: ElfFile, traceable: TraceableCode
) -> tuple[CodePoint, ...]:
    if not line.offset:
        return points.at_function(line.function)
    ((place,),) = [user_function(f"{path}:{line.function}+{line.offset}", repr(line.text), "entry", traceable)]
    assert isinstance(place, Uprobe)
    address = file.address_at(place.offset)
    point = points.at_address(address) if address is not None else None
    if point is None:
        raise ObjectError(f"{line.text!r}: no debug information tells of what is there")
    return (point,)


def _result(path: str, line: ProbeLine, wanted: WantedVariable) -> FoundVariable:
    if wanted.name != RESULT:
        raise ObjectError(
            f"{wanted.text}: when {line.function} returns its variables are gone", f"there is {RESULT} alone"
        )
    try:
        with damaged(path, OSError, ElfError, ObjectError):
            points = Points(open_information(path))
            kind = points.returned(points.at_function(line.function)[0])
    except OSError as error:
        raise ObjectError(f"{line.text!r}: {path}: {error.strerror}") from None
    except (DebugInfoError, ElfError) as error:
        raise ObjectError(f"{line.text!r}: {error}") from None
    return follow(Reached(kind, (FetchStep("register", registers.RESULTS[0]),), False), wanted)


def _variable(points: Points, point: CodePoint, wanted: WantedVariable) -> FoundVariable:
    named = {each.variable.name: each for each in points.named(point)}
    if wanted.name not in named:
        known = ", ".join(sorted(filter(None, named)))
        raise ObjectError(
            f"{wanted.text}: {point.what} has no variable {wanted.name}", f"it has {known}" if known else ""
        )
    each = named[wanted.name]
    pieces = points.pieces(each.variable, point)
    if _is_static(pieces):
        raise ObjectError(f"{wanted.text} is static: where it is differs between processes")
    size = size_of(each.variable.type)
    if len(pieces) == 1 and not pieces[0].offset and not pieces[0].bits:
        place = pieces[0].place
        if isinstance(place, InMemory):
            return follow(Reached(each.variable.type, steps(place.address), True), wanted)
        if isinstance(place, InRegister):
            way = fetches(pieces, 8)[0].steps
            return follow(Reached(each.variable.type, way, False), wanted)
        if isinstance(place, IsValue):
            return follow(Reached(each.variable.type, steps(place.value), False), wanted)
    if wanted.parts:
        raise ObjectError(f"{wanted.text}: {wanted.name} is in pieces here, of which none can be fetched alone")
    return FoundVariable(wanted, each.variable.type, fetches(pieces, size))


def _is_static(pieces: object) -> bool:
    """Whether an address as linked is part of the way."""
    if isinstance(pieces, (Address,)):
        return True
    return isinstance(pieces, (tuple, Piece)) and any(map(_is_static, pieces))
