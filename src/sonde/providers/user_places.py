"""Functions of objects as probe descriptions name them, and which of their instructions can be probed."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from sonde.model.errors import NOT_PROBEABLE, OUTSIDE_FUNCTION, UNALIGNED, SourceError
from sonde.providers.pattern import matcher, plain
from sonde.symbols.functions import CodeFunction, CodeObject
from sonde.symbols.source_names.nested_names import SEPARATOR
from sonde.typed import NamedTuple


class FunctionPlace(NamedTuple):
    """A function of an object, and the name by which it was asked for."""

    object: CodeObject
    function: CodeFunction
    asked: str


def places(each: CodeObject, pattern: str) -> Iterator[FunctionPlace]:
    """The object's functions that a pattern matches, one that it matches by several names once.

    What has `::` in it means names of the source.
    """
    exact = plain(pattern)
    if exact:
        found = each.named_in_source(exact) if SEPARATOR in exact else each.find(exact)
        yield from (FunctionPlace(each, function, exact) for function in found)
        return
    test = matcher(pattern)
    is_of_source = SEPARATOR in pattern
    for function in each.matching_in_source(pattern, test) if is_of_source else each.matching(test):
        yield FunctionPlace(each, function, function.name)


def places_in_source(each: CodeObject, name: str) -> Iterator[FunctionPlace]:
    """Those of the functions that the source calls by a name, whatever scope they are in."""
    yield from (FunctionPlace(each, function, name) for function in each.named_in_source(name))


def named(place: FunctionPlace, name: str, is_exact: bool) -> Iterator[tuple[str, int]]:
    """Names and offsets of the function's probes that a name matches.

    If `is_exact` one that cannot be is an error (SourceError), else it is left out, as is the return
    of a function that exceptions leave: the kernel's return address would end the program then.
    """
    exact = plain(name)
    if exact in ("entry", "return"):
        error = _refused(place, exact)
        if error is not None and is_exact:
            raise error
        if error is None and not (exact == "return" and is_left_out(place, is_exact)):
            yield exact, 0
        return
    if exact:
        offset = int(exact, 16)
        error = obstacle(place, offset, f"offset 0x{offset:x}")
        if error is None:
            yield f"{offset:x}", offset
        elif is_exact:
            raise error
        return
    test = matcher(name)
    for kind in ("entry", "return"):
        if test(kind) and _refused(place, kind) is None and not (kind == "return" and is_left_out(place, is_exact)):
            yield kind, 0
    for offset, instruction in place.object.instructions(place.function).items():
        if instruction.is_probeable and test(f"{offset:x}"):
            yield f"{offset:x}", offset


def without(place: FunctionPlace, name: str) -> str:
    """Why a function that a pattern matches has no probe of a name; "" if it is not known."""
    exact = plain(name)
    error = _refused(place, exact) if exact in ("entry", "return") else None
    if error is not None:
        return f"{error.text}: {error.hint}" if error.hint else error.text
    if exact == "return" and is_left_out(place, False):
        return (
            f"exceptions leave function '{place.function.name}', which a probe at its return would end: name it alone"
        )
    return ""


def is_left_out(place: FunctionPlace, is_exact: bool) -> bool:
    """Whether a pattern leaves out the function's return."""
    return not is_exact and place.object.is_unwound(place.function)


def obstacle(place: FunctionPlace, offset: int, called: str) -> SourceError | None:
    """What is wrong with an offset in a function, None if nothing is."""
    error = no_instruction(place, offset, called)
    if error is None and not place.object.instructions(place.function)[offset].is_probeable:
        text = f"{called}: the kernel cannot probe this instruction of function '{place.function.name}'"
        error = SourceError(NOT_PROBEABLE, text)
    return error


def no_instruction(place: FunctionPlace, offset: int, called: str) -> SourceError | None:
    """Why no instruction of a function begins at an offset, None if one does."""
    if offset >= place.function.size:
        return SourceError(OUTSIDE_FUNCTION, f"{called} outside of function '{place.function.name}'")
    instructions = place.object.instructions(place.function)
    if offset not in instructions:
        return SourceError(UNALIGNED, f"{called} is not aligned on an instruction", hint=_around(instructions, offset))
    return None


def _around(instructions: Collection[int], offset: int) -> str:
    before = max((each for each in instructions if each < offset), default=None)
    after = min((each for each in instructions if each > offset), default=None)
    if before is None or after is None:
        return "the function's bytes could not be read as instructions up to there"
    return f"instructions begin at {before:x} and at {after:x}"


def _refused(place: FunctionPlace, kind: str) -> SourceError | None:
    """Why a function cannot have its `entry` or `return` probe, None if it can."""
    first = place.object.first_instruction(place.function)
    if first is None or not first.is_probeable:
        text = f"function '{place.function.name}' begins with an instruction that the kernel cannot probe"
        return SourceError(NOT_PROBEABLE, text)
    reason = place.object.return_obstacle(place.function) if kind == "return" else ""
    if reason:
        text = f"function '{place.function.name}' would not return as it does if that were probed"
        return SourceError(NOT_PROBEABLE, text, hint=reason)
    return None
