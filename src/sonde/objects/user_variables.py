"""Probe lines at functions and lines of programs and libraries: their places, and variables by debug information."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches

from sonde.arch import registers
from sonde.model.location import Piece
from sonde.model.probe import Firing, Uprobe
from sonde.model.spec import FetchStep
from sonde.model.types import Type
from sonde.objects.errors import ObjectError
from sonde.objects.global_variables import global_pieces, global_variable
from sonde.objects.kernel_variables import RESULT
from sonde.objects.lines import ProbeLine, WantedVariable
from sonde.objects.numbered_arguments import is_numbered, numbered
from sonde.objects.paths import FoundVariable, Reached, follow, located
from sonde.objects.traceable_code import TraceableCode
from sonde.objects.user import EVERY_PROCESS, place_of, user_function
from sonde.providers.placement import Surroundings, surroundings
from sonde.providers.unavailable import whereabouts
from sonde.providers.user_variables import fetchable
from sonde.symbols.dwarf.errors import DebugInfoError, damaged
from sonde.symbols.dwarf.points import CodePoint, Points
from sonde.symbols.elf.file import ElfError
from sonde.symbols.functions import CodeObject
from sonde.typed import TypeAlias

UserPlace: TypeAlias = tuple[tuple[Firing, ...], tuple[FoundVariable, ...]]
"""What fires at a place of a line, and its variables there."""


def code_places(path: str, line: ProbeLine, traceable: TraceableCode) -> list[UserPlace]:
    """The places of a line that names a function or a line of source. Raises ObjectError."""
    home = traceable.functions_of(path, repr(line.text))
    if not line.file and all(map(is_numbered, line.variables)):
        named = [line._replace(function=each) for each in _symbols(line, home)]
        return [_by_convention(path, each, traceable) for each in named]
    with _errors(path, line):
        points = Points(home.information)
        if line.is_return:
            named = [line._replace(function=each) for each in _symbols(line, home)]
            return [_at_return(path, each, points, home, traceable) for each in named]
        if line.file:
            return [_at_point(path, line, points, each, home) for each in points.at_line(line.file, line.line)]
        named = [line._replace(function=each) for each in _symbols(line, home)] if line.offset else [line]
        return [
            _at_point(path, each, points, point, home)
            for each in named
            for point in _in_function(path, points, each, traceable)
        ]


def _symbols(line: ProbeLine, home: CodeObject) -> list[str]:
    """What linkers call the functions of a name: itself, or, as of C++, what debug information tells."""
    if home.find(line.function):
        return [line.function]
    try:
        entries = Points(home.information).at_function(line.function)
    except (OSError, ElfError, DebugInfoError):
        return [each.name for each in home.named_in_source(line.function)] or [line.function]
    found = [home.containing(each.address) for each in entries if not each.scopes[-1].is_inlined]
    return list(dict.fromkeys(each.name for each in found if each is not None)) or [line.function]


@contextmanager
def _errors(path: str, line: ProbeLine) -> Iterator[None]:
    try:
        with damaged(path, OSError, ElfError, ObjectError):
            yield
    except OSError as error:
        raise ObjectError(f"{line.text!r}: {path}: {error.strerror}") from None
    except (DebugInfoError, ElfError) as error:
        raise ObjectError(f"{line.text!r}: {error}") from None


def _by_convention(path: str, line: ProbeLine, traceable: TraceableCode) -> UserPlace:
    """A place by the symbols of the file, with arguments by their numbers: what takes no debug information."""
    offset = f"+{line.offset}" if line.offset else ""
    kind = "return" if line.is_return else "entry"
    firings = user_function(f"{path}:{line.function}{offset}", repr(line.text), kind, traceable)
    return firings, tuple(numbered(line, each) for each in line.variables)


def _at_return(path: str, line: ProbeLine, points: Points, home: CodeObject, traceable: TraceableCode) -> UserPlace:
    firings = user_function(f"{path}:{line.function}", repr(line.text), "return", traceable)
    point = points.at_function(line.function)[0]
    assert isinstance(firings[0], Uprobe)
    around = surroundings(firings[0], home, point.address)
    return firings, tuple(_when_returned(points, point, around, each) for each in line.variables)


def _when_returned(points: Points, point: CodePoint, around: Surroundings, wanted: WantedVariable) -> FoundVariable:
    if wanted.name == RESULT:
        kind = points.returned(point)
        return follow(Reached(kind, (FetchStep("register", registers.RESULTS[0]),), False), wanted)
    own = any(each.name == wanted.name for scope in point.scopes for each in scope.variables)
    if own or is_numbered(wanted):
        raise ObjectError(
            f"{wanted.text}: when {point.what} returns its variables are gone", f"there is {RESULT} alone, and globals"
        )
    return _global(points, point, around, wanted)


def _at_point(path: str, line: ProbeLine, points: Points, point: CodePoint, home: CodeObject) -> UserPlace:
    offset = place_of(home, point.address, repr(line.text))
    kind = "offset" if line.file or line.offset else "entry"
    firing = Uprobe(EVERY_PROCESS, path, offset, kind, file=home.identity)
    around = surroundings(firing, home, point.address)
    is_clone = "." in getattr(home.containing(point.address), "name", "")
    return (firing,), tuple(_variable(line, points, point, around, each, is_clone) for each in line.variables)


def variable_at(line: ProbeLine, fired: Uprobe, wanted: WantedVariable, traceable: TraceableCode) -> FoundVariable:
    """A variable where something else than a function or a line is fired. Raises ObjectError."""
    with _errors(fired.path, line):
        home = traceable.functions_of(fired.path, repr(line.text))
        points = Points(home.information)
        address = home.loaded.file.address_at(fired.offset)
        point = points.at_address(address) if address is not None else None
        if point is None:
            raise ObjectError(f"{wanted.text}: no debug information tells of what is at {line.function}")
        around = surroundings(fired, home, point.address)
        return _variable(line, points, point._replace(what=line.function), around, wanted, False)


def _in_function(path: str, points: Points, line: ProbeLine, traceable: TraceableCode) -> tuple[CodePoint, ...]:
    if not line.offset:
        return points.at_function(line.function)
    ((place,),) = [user_function(f"{path}:{line.function}+{line.offset}", repr(line.text), "entry", traceable)]
    assert isinstance(place, Uprobe)
    address = traceable.functions_of(path, repr(line.text)).loaded.file.address_at(place.offset)
    point = points.at_address(address) if address is not None else None
    if point is None:
        raise ObjectError(f"{line.text!r}: no debug information tells of what is there")
    return (point,)


def _variable(
    line: ProbeLine, points: Points, point: CodePoint, around: Surroundings, wanted: WantedVariable, is_clone: bool
) -> FoundVariable:
    if is_numbered(wanted):
        if point.scopes[-1].is_inlined:
            raise ObjectError(f"{wanted.text} of {point.what}: an inlined copy is not called", "name the variable")
        return numbered(line, wanted)
    if wanted.name == RESULT:
        raise ObjectError(f"{RESULT} is there when a function returns", f"write {line.function or 'FUNCTION'}%return")
    named = {} if wanted.file else {each.name: each for each in point.nameable}
    if wanted.name not in named:
        return _global(points, point, around, wanted)
    variable = named[wanted.name]
    with _reasons(wanted, point):
        pieces = fetchable(points, point, variable, around, is_clone)
    if pieces is None:
        raise _unavailable(
            wanted, point, "it is optimised out here", f"it is available {whereabouts(variable, points, point)}"
        )
    return _found(wanted, point, variable.type, pieces)


def _global(points: Points, point: CodePoint, around: Surroundings, wanted: WantedVariable) -> FoundVariable:
    """What no scope around the place has."""
    with _reasons(wanted, point):
        variable = global_variable(points, point, wanted)
        pieces = global_pieces(points, variable, around) if variable is not None else ()
    if variable is None:
        raise _unknown(points, point, wanted)
    if pieces is None:
        raise _unavailable(wanted, point, "it is optimised out", "")
    return _found(wanted, point, variable.type, pieces)


@contextmanager
def _reasons(wanted: WantedVariable, point: CodePoint) -> Iterator[None]:
    """Why a variable cannot be had is said with its name."""
    try:
        yield
    except DebugInfoError as error:
        raise _unavailable(wanted, point, str(error), "") from None


def _found(wanted: WantedVariable, point: CodePoint, kind: Type, pieces: tuple[Piece, ...]) -> FoundVariable:
    with _reasons(wanted, point):
        return located(kind, pieces, wanted)


def _unavailable(wanted: WantedVariable, point: CodePoint, reason: str, hint: str) -> ObjectError:
    return ObjectError(f"{wanted.text} of {point.what} cannot be fetched: {reason}", hint)


def _unknown(points: Points, point: CodePoint, wanted: WantedVariable) -> ObjectError:
    elsewhere = next((each for each in points.elsewhere(point) if each.name == wanted.name), None)
    text = f"{wanted.text}: {point.what} has no variable {wanted.name}"
    if elsewhere is not None:
        return ObjectError(text, f"it is in another block of the function, {whereabouts(elsewhere, points, point)}")
    known = sorted({each.name for each in point.nameable if each.name})

    close = get_close_matches(wanted.name, known, cutoff=0.75)
    if close:
        return ObjectError(text, f"did you mean {' or '.join(close)}?")
    return ObjectError(text, f"it has {', '.join(known)}" if known else "")
