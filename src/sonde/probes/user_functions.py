"""The probes of a process's own provider: `pid1234:OBJECT:FUNCTION:entry|return|OFFSET`, made as they are asked for.

An object is the program itself, `a.out`, or a library, by its file's name with or without what follows `.so` or from
there on; a function that has several names is called by the best of them. An offset is hexadecimal, and that of an
instruction's first byte: the kernel would put a breakpoint anywhere, and in the middle of one it changes another.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sonde.lang.catalog import ProbeArgument
from sonde.lang.errors import DError
from sonde.probe import Probe, Uprobe
from sonde.probes.pattern import Pattern, matcher, matches, plain
from sonde.probes.pid import check
from sonde.probes.provider import PID
from sonde.symbols.elf import ElfError
from sonde.symbols.functions import PROGRAM, CodeObject, CodeObjects, Function
from sonde.typed import NamedTuple

_ABSOLUTE = "-"
_FEW = 12


class _Place(NamedTuple):
    """A function of an object, as a description names it."""

    pid: int
    object: CodeObject
    function: Function
    asked: str


class UserFunctions:
    """Keeps the probes it has made, so that each has one identifier."""

    def __init__(self, objects: CodeObjects | None = None) -> None:
        self._objects = objects or CodeObjects()
        self._probes: list[Probe] = []
        self._known: dict[tuple[str, str, Uprobe, str], Probe] = {}

    def match(self, pattern: Pattern) -> Sequence[Probe]:
        """The probes of a pattern whose provider is pid and a number. Raises DError with a D_PROC_* tag."""
        if not self._objects.is_own_namespace():
            hint = "/proc is not there, or that of another pid namespace: mount one"
            raise DError("D_PROC_GRAB", f"failed to grab process {pattern.provider[3:]}", hint=hint)
        check(pattern)
        pid = int(pattern.provider.removeprefix("pid"))
        chosen = _chosen(self._of(pid), pattern.module)
        if pattern.function == _ABSOLUTE:
            return [self._absolute(pid, chosen or self._of(pid), pattern.name)]
        named = [place for each in chosen for place in _places(pid, each, pattern.function)]
        found = self._direct(pid, named, plain(pattern.function) is not None)
        if chosen and not found and plain(pattern.function) and plain(pattern.module):
            text = f"failed to lookup '{pattern.function}' in module '{pattern.module}'"
            raise DError("D_PROC_FUNC", text)
        is_exact = plain(pattern.function) is not None
        return [probe for place in found for probe in self._named(place, pattern.name, is_exact)]

    def by_id(self, identifier: int) -> Probe | None:
        index = identifier - PID.first
        return self._probes[index] if index < len(self._probes) else None

    def arguments(self, probe: Probe) -> tuple[ProbeArgument, ...] | None:
        return None

    def mismatch(self, pattern: Pattern) -> str:
        """Why a description matches no probe, for people."""
        objects = self._of(int(pattern.provider.removeprefix("pid")))
        if _chosen(objects, pattern.module):
            return f"no function there matches {pattern.function}"
        names = ", ".join(each.name for each in objects[:_FEW])
        return f"the process has no object {pattern.module}; it has {names}{' ...' if len(objects) > _FEW else ''}"

    def _of(self, pid: int) -> list[CodeObject]:
        try:
            return self._objects.of(pid)
        except OSError as error:
            text = f"failed to grab process {pid}"
            raise DError("D_PROC_GRAB", text, hint=f"its mappings cannot be read: {error.strerror}") from None

    def _direct(self, pid: int, places: list[_Place], is_exact: bool) -> list[_Place]:
        """The places of the functions themselves where symbols are those that choose them.

        With a pattern each is there once; if `is_exact`, one that is not known is an error.
        """
        found = [place for place in places if not place.function.is_indirect]
        indirect = [place for place in places if place.function.is_indirect]
        if not indirect:
            return found
        there = {(place.object.path, place.function.offset) for place in found}
        for place, function in self._behind(pid, indirect):
            if function is None and is_exact:
                hint = "such a function (STT_GNU_IFUNC) is chosen when the process links to it"
                raise DError(
                    "D_PROC_FUNC", f"function '{place.asked}' has not been chosen yet in the process", hint=hint
                )
            if function is not None and (is_exact or (place.object.path, function.offset) not in there):
                there.add((place.object.path, function.offset))
                found.append(place._replace(function=function))
        return found

    def _behind(self, pid: int, places: list[_Place]) -> Iterator[tuple[_Place, Function | None]]:
        try:
            slots = self._objects.slots(pid)
            for place in places:
                yield place, self._objects.behind(pid, place.object, place.function, slots)
        except (OSError, ElfError) as error:
            hint = f"it cannot be read what its functions are: {error}"
            raise DError("D_PROC_GRAB", f"failed to grab process {pid}", hint=hint) from None

    def _named(self, place: _Place, name: str, is_exact: bool) -> Iterator[Probe]:
        """The function's probes whose name matches; if `is_exact` one that cannot be is an error, else left out."""
        exact = plain(name)
        if exact in ("entry", "return"):
            error = self._refused(place, exact)
            if error is None:
                yield self._probe(place, exact, 0)
            elif is_exact:
                raise error
            return
        if exact:
            yield from self._at(place, int(exact, 16), is_exact)
            return
        test = matcher(name)
        for kind in ("entry", "return"):
            if test(kind) and self._refused(place, kind) is None:
                yield self._probe(place, kind, 0)
        for offset, instruction in place.object.instructions(place.function):
            if instruction.is_probeable and test(f"{offset:x}"):
                yield self._probe(place, f"{offset:x}", offset)

    def _refused(self, place: _Place, kind: str) -> DError | None:
        """Why a function cannot have its `entry` or `return` probe, None if it can."""
        first = place.object.first_instruction(place.function)
        if first is None or not first.is_probeable:
            text = f"function '{place.function.name}' begins with an instruction that the kernel cannot probe"
            return DError("D_PROC_CREATEFAIL", text)
        if kind == "return" and not place.object.can_tell_return(place.function):
            text = f"function '{place.function.name}' would not return as it does if that were probed"
            return DError("D_PROC_CREATEFAIL", text)
        return None

    def _at(self, place: _Place, offset: int, is_exact: bool) -> Iterator[Probe]:
        error = _obstacle(place, offset, f"offset 0x{offset:x}")
        if error is None:
            yield self._probe(place, f"{offset:x}", offset)
        elif is_exact:
            raise error

    def _absolute(self, pid: int, objects: Sequence[CodeObject], name: str) -> Probe:
        """The probe at an address of the program, as it was linked."""
        program = next((each for each in objects if each.name == PROGRAM), None)
        exact = plain(name) or ""
        if program is None or exact in ("entry", "return"):
            raise DError("D_PROC_NAME", f"'{name}' is an invalid probe name")
        address = int(exact, 16)
        function = program.containing(address)
        if function is None:
            raise DError("D_PROC_OFF", f"address 0x{address:x} is in no function of the program that has a symbol")
        place = _Place(pid, program, function, _ABSOLUTE)
        error = _obstacle(place, address - function.address, f"address 0x{address:x}")
        if error is not None:
            raise error
        return self._probe(place, f"{address:x}", address - function.address, _ABSOLUTE)

    def _probe(self, place: _Place, name: str, offset: int, function: str = "") -> Probe:
        """Each name of a function that descriptions give has a probe of its own, which fires."""
        kind = name if name in ("entry", "return") else "offset"
        firing = Uprobe(place.pid, place.object.path, place.function.offset + offset, kind)
        key = place.asked, name, firing, place.object.name
        found = self._known.get(key)
        if found is None:
            number = PID.first + len(self._probes)
            shown = function or place.function.name
            found = Probe(number, f"pid{place.pid}", place.object.name, shown, name, firing)
            self._known[key] = found
            self._probes.append(found)
        return found


def _obstacle(place: _Place, offset: int, called: str) -> DError | None:
    """What is wrong with an offset in a function, None if nothing is."""
    name = place.function.name
    if offset >= place.function.size:
        return DError("D_PROC_OFF", f"{called} outside of function '{name}'")
    instruction = dict(place.object.instructions(place.function)).get(offset)
    if instruction is None:
        return DError("D_PROC_ALIGN", f"{called} is not aligned on an instruction")
    if not instruction.is_probeable:
        return DError("D_PROC_CREATEFAIL", f"{called}: the kernel cannot probe this instruction of function '{name}'")
    return None


def _chosen(objects: Sequence[CodeObject], module: str) -> list[CodeObject]:
    return [each for each in objects if any(matches(module, name) for name in _names(each))]


def _names(each: CodeObject) -> Iterator[str]:
    """What an object may be called: libc.so.6, libc.so and libc are one."""
    yield each.name
    stem, dot, version = each.name.partition(".so")
    if dot and each.name != PROGRAM:
        if version:
            yield stem + dot
        yield stem


def _places(pid: int, each: CodeObject, pattern: str) -> Iterator[_Place]:
    """The object's functions that a pattern matches, one that it matches by several names once."""
    exact = plain(pattern)
    if exact:
        yield from (_Place(pid, each, function, exact) for function in each.find(exact))
        return
    test = matcher(pattern)
    for function in each.functions:
        if test(function.name):
            yield _Place(pid, each, function, function.name)
