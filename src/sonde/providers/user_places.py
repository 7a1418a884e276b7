"""Functions of objects as probe descriptions name them, and which of their instructions can be probed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator

from sonde.model.errors import NOT_PROBEABLE, OUTSIDE_FUNCTION, UNALIGNED, SourceError
from sonde.providers.pattern import matcher, plain
from sonde.symbols import return_obstacles
from sonde.symbols.functions import CodeFunction, CodeObject
from sonde.symbols.return_obstacles import LEFT, ReturnObstacle
from sonde.symbols.source_names.nested_names import SEPARATOR
from sonde.typed import NamedTuple

_ENTRY, _RETURN = "entry", "return"
_OPEN = frozenset("*?")
"""Wildcards that stand for anything; names of the source have brackets."""


class FunctionPlace(NamedTuple):
    """A function of an object, and the name by which it was asked for."""

    object: CodeObject
    function: CodeFunction
    asked: str


def places(each: CodeObject, pattern: str) -> Iterator[FunctionPlace]:
    """The object's functions that a pattern matches, one that it matches by several names once.

    What has `::` or parameters in it means names of the source. There an asterisk may be part of the name.
    """
    exact = plain(pattern)
    if is_of_source(pattern):
        named = () if pattern.startswith(SEPARATOR) else each.find(pattern)
        if not named and (exact or "(" in pattern or _OPEN.isdisjoint(pattern)):
            named = each.named_in_source(pattern)
        if named or exact:
            yield from (FunctionPlace(each, function, pattern) for function in named)
            return
        for function in each.matching_in_source(pattern, matcher(pattern.removeprefix(SEPARATOR))):
            yield FunctionPlace(each, function, function.name)
        return
    if exact:
        yield from (FunctionPlace(each, function, exact) for function in each.find(exact))
        return
    for function in each.matching(matcher(pattern)):
        yield FunctionPlace(each, function, function.name)


def is_of_source(pattern: str) -> bool:
    """Whether a name or pattern is one of the source, not of symbols."""
    return SEPARATOR in pattern or "(" in pattern


def places_in_source(each: CodeObject, name: str) -> Iterator[FunctionPlace]:
    """Those of the functions that the source calls by a name, whatever scope they are in, or by one in which a question
    mark stands for each character that a description cannot have."""
    if plain(name):
        yield from (FunctionPlace(each, function, name) for function in each.named_in_source(name))
        return
    for function in each.matching_in_source(name, matcher(name)):
        yield FunctionPlace(each, function, function.name)


def may_be_of_source(pattern: str) -> bool:
    """Whether a name or pattern that no symbol matches may be one of the source."""
    return plain(pattern) is not None or ("?" in pattern and _OPEN.isdisjoint(pattern.replace("?", "")))


class NamedProbes:
    """The probes of a name, or of a pattern of names, in functions. `left_out` has how many functions of a pattern have
    no `entry` or `return` that would have one by their names, and why."""

    def __init__(self, name: str, is_exact: bool, looks_at_calls: bool) -> None:
        """`is_exact`: functions are named, so that one without a probe is an error. `looks_at_calls`: as
        `CodeObject.return_obstacle` has it."""
        self._name = name
        self._is_exact = is_exact
        self._looks_at_calls = looks_at_calls
        self.left_out: dict[str, Counter[str]] = {_ENTRY: Counter(), _RETURN: Counter()}

    def of(self, place: FunctionPlace) -> Iterator[tuple[str, int]]:
        """Names and offsets of a function's probes. Raises SourceError."""
        exact = plain(self._name)
        if exact in (_ENTRY, _RETURN):
            error = self._error(place, exact)
            if error is None:
                yield exact, 0
            elif self._is_exact:
                raise error
            return
        if exact:
            offset = int(exact, 16)
            error = self._at_offset(place) or obstacle(place, offset, f"offset 0x{offset:x}")
            if error is None:
                yield f"{offset:x}", offset
            elif self._is_exact:
                raise error
            return
        test = matcher(self._name)
        for kind in (_ENTRY, _RETURN):
            if test(kind) and self._error(place, kind) is None:
                yield kind, 0
        if self._obstacle(place) is not None:
            return
        for offset, instruction in place.object.instructions(place.function).items():
            if instruction.is_probeable and test(f"{offset:x}"):
                yield f"{offset:x}", offset

    def without(self, place: FunctionPlace) -> str:
        """Why a function has no probe of this name; "" if it is not known."""
        exact = plain(self._name)
        error = self._error(place, exact) if exact in (_ENTRY, _RETURN) else None
        if error is None:
            return ""
        return f"{error.text}: {error.hint}" if error.hint else error.text

    def _error(self, place: FunctionPlace, kind: str) -> SourceError | None:
        """Why a function cannot have its `entry` or `return` probe, None if it can."""
        found = self._obstacle(place) or (self._return_obstacle(place) if kind == _RETURN else _at_first(place))
        if found is None:
            return None
        self.left_out[kind][found.of_several] += 1
        text = f"function '{place.function.name}' has no {kind} probe: {found.cause}"
        return SourceError(NOT_PROBEABLE, text, hint=found.remedy)

    def _at_offset(self, place: FunctionPlace) -> SourceError | None:
        found = self._obstacle(place)
        if found is None:
            return None
        text = f"function '{place.function.name}' has no probes: {found.cause}"
        return SourceError(NOT_PROBEABLE, text, hint=found.remedy)

    def _obstacle(self, place: FunctionPlace) -> ReturnObstacle | None:
        """The cause for which no instruction of a function can be probed; None without one."""
        return return_obstacles.WRITABLE if place.object.is_writable and not self._looks_at_calls else None

    def _return_obstacle(self, place: FunctionPlace) -> ReturnObstacle | None:
        found = _at_first(place) or place.object.return_obstacle(place.function, self._looks_at_calls)
        if found is None and not self._is_exact and place.object.is_unwound(place.function):
            return LEFT
        return found


def _at_first(place: FunctionPlace) -> ReturnObstacle | None:
    first = place.object.first_instruction(place.function)
    return return_obstacles.NOT_PROBEABLE if first is None or not first.is_probeable else None


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
        text = f"{called} outside of function '{place.function.name}'"
        return SourceError(OUTSIDE_FUNCTION, text, about=(place.function.name, place.function.size))
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
