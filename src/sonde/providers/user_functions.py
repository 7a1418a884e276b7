"""Probes in functions, made as they are asked for: `pid1234:OBJECT:FUNCTION:entry|return|OFFSET` for one process,
`uprobe:/path/of/file:FUNCTION:...` for whoever runs the file's code.

An object is the program itself, `a.out`, or a library, by its file's name with or without what follows `.so` or from
there on, or by its path; a function that has several names is called by the best of them. An offset is hexadecimal, and
that of an instruction's first byte: the kernel would put a breakpoint anywhere, and in the middle of one it changes
another. A source position may stand in the place of the function (`source_lines.py`).

Breakpoints belong to files, so a library that the process has yet to load is probed like others if its file is known.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches

from sonde import others
from sonde.model.catalog import TypedArgument
from sonde.model.errors import BAD_OBJECT, BAD_PROBE_NAME, NO_FUNCTION, OUTSIDE_FUNCTION, SourceError
from sonde.model.probe import Probe, Uprobe
from sonde.providers.pattern import Pattern, matcher, matches, plain
from sonde.providers.pid import badly_named, check, check_name, not_to_be_had
from sonde.providers.provider import FILES, PID
from sonde.providers.source_lines import SourceLine, addresses, source_line, unknown_function
from sonde.providers.user_places import (
    FunctionPlace,
    NamedProbes,
    may_be_of_source,
    obstacle,
    places,
    places_in_source,
)
from sonde.symbols.code_objects import CodeObjects
from sonde.symbols.elf.errors import CostError
from sonde.symbols.elf.file import ElfError
from sonde.symbols.elf.library_search import spellings
from sonde.symbols.functions import PROGRAM, CodeFunction, CodeObject
from sonde.typed import NamedTuple

_BEFORE_GLOB = re.compile(r"lib[\w.+-]+|[\w.+-]{4,}")
"""The beginning of a glob that is for few libraries, and not for most of those that are installed."""

_ABSOLUTE = "-"
_FEW = 12

_MOVING = (
    "Go moves the stacks of its functions when they have to grow: the returns of calls that are on a stack then are "
    "not told"
)


class Site(NamedTuple):
    """Where a probe is: an object, and an address in it as it was linked."""

    object: CodeObject
    address: int


class UserFunctions:
    """Keeps the probes it has made, so that each has one identifier."""

    def __init__(self, objects: CodeObjects | None = None, looks_at_calls: bool = False) -> None:
        """`looks_at_calls`: as `CodeObject.return_obstacle` has it."""
        self._looks_at_calls = looks_at_calls
        self._objects = objects or CodeObjects()
        self._probes: list[Probe] = []
        self._known: dict[tuple[str, str, Uprobe, str], Probe] = {}
        self._sites: list[Site] = []
        self.remarks: dict[str, None] = {}
        """What to tell who asked for the probes, each once."""

    def match(self, pattern: Pattern) -> Sequence[Probe]:
        """The probes of a pattern whose provider is FILES, or pid and a number. Raises SourceError."""
        try:
            return self._matching(pattern)
        except CostError as error:
            text = f"failed to read the functions of {pattern}: {error}"
            raise SourceError(BAD_OBJECT, text, hint="name a smaller object, if it is one of several") from None

    def _matching(self, pattern: Pattern) -> list[Probe]:
        chosen = self._chosen(pattern)
        if pattern.function == _ABSOLUTE:
            return [self._absolute(pattern, chosen)]
        line = source_line(pattern.function)
        if line is not None:
            return self._at_line(pattern, chosen, line)
        is_exact = plain(pattern.function) is not None
        there = [place for each in chosen for place in places(each, pattern.function)]
        if not there and plain(pattern.module) and may_be_of_source(pattern.function):
            there = [place for each in chosen for place in places_in_source(each, pattern.function)]
        found = self._direct(pattern, there)
        if chosen and not found and (is_exact or "(" in pattern.function) and plain(pattern.module):
            hint = _stripped(chosen) or _overloads(pattern.function, chosen)
            raise unknown_function(pattern.function, pattern.module, hint, _alike(pattern.function, chosen))
        wanted = NamedProbes(pattern.name, is_exact, self._looks_at_calls)
        probes = [self._probe(pattern, place, *each) for place in found for each in wanted.of(place)]
        for kind, left_out in wanted.left_out.items():
            self._tell_left_out(pattern, kind, left_out)
        if any(place.object.is_go for place in found) and any(each.name == "return" for each in probes):
            self.remarks[_MOVING] = None
        return probes

    def _tell_left_out(self, pattern: Pattern, kind: str, left_out: Counter[str]) -> None:
        count = sum(left_out.values())
        if count:
            functions = "a function" if count == 1 else f"{count} functions"
            whose = "; ".join(f"{number if count > 1 else 'one'} {each}" for each, number in left_out.most_common())
            self.remarks[f"{pattern} leaves out the {kind} of {functions}: {whose}"] = None

    def by_id(self, identifier: int) -> Probe | None:
        index = identifier - PID.first
        return self._probes[index] if index < len(self._probes) else None

    def site(self, probe: Probe) -> Site:
        """Where one of these probes is."""
        return self._sites[probe.id - PID.first]

    def site_in(self, path: str, offset: int) -> Site | None:
        """The instruction at an offset in a file; None where that is none."""
        for each in self._objects.files(path):
            address = each.loaded.file.address_at(offset)
            if address is not None:
                return Site(each, address)
        return None

    def arguments(self, probe: Probe) -> tuple[TypedArgument, ...] | None:
        return None

    def mismatch(self, pattern: Pattern) -> str:
        """Why a description matches no probe, for people."""
        try:
            return self._mismatch(pattern)
        except CostError as error:
            return str(error)

    def _mismatch(self, pattern: Pattern) -> str:
        chosen = self._chosen(pattern)
        if chosen:
            there = (place for each in chosen for place in places(each, pattern.function))
            wanted = NamedProbes(pattern.name, plain(pattern.function) is not None, self._looks_at_calls)
            found = next((text for place in there if (text := wanted.without(place))), "")
            return found or f"no function there matches {pattern.function}"
        if pattern.provider == FILES:
            if others.exists(pattern.module):
                return f"{pattern.module} is no program or library (an ELF file), or may not be read"
            if "/" in pattern.module:
                return f"there is no {pattern.module}"
            return f"there is no {pattern.module} in PATH or where libraries usually are: name the file by its path"
        objects = self._of(_pid(pattern))
        names = ", ".join(each.name for each in objects[:_FEW]) + (" ..." if len(objects) > _FEW else "")
        known = f"it has {names}" if names else "it has mapped no program or library that can be read"
        text = f"the process has no object {pattern.module}; {known}"
        return f"{text}. A library that it loads later can be named by its path, {pattern.provider}:/path/of/library:"

    def _chosen(self, pattern: Pattern) -> list[CodeObject]:
        """The objects that a description means."""
        if pattern.provider == FILES:
            if plain(pattern.module) is None:
                hint = "the module is the path of a file, uprobe:/path/of/file:FUNCTION:entry, or a program of PATH"
                raise SourceError(BAD_OBJECT, "a probe in a file needs that file's name", hint=hint)
            check_name(pattern)
            return self._objects.files(pattern.module)
        if not self._objects.is_own_namespace():
            hint = "/proc is not there, or that of another pid namespace: mount one"
            raise not_to_be_had(pattern.provider[3:], hint)
        check(pattern)
        objects = self._of(_pid(pattern))
        if pattern.function == _ABSOLUTE:
            return [each for each in objects if each.name == PROGRAM]
        found = objects_called(objects, pattern.module)
        if found:
            return found
        if plain(pattern.module):
            to_come = self._objects.to_come(_pid(pattern), pattern.module)
        else:
            to_come = self._fitting(pattern)
        for each in to_come:
            self.remarks[f"process {_pid(pattern)} has not loaded {each.name}: the probes are in {each.where}"] = None
        return to_come

    def _fitting(self, pattern: Pattern) -> list[CodeObject]:
        """The libraries that a process may come to load whose names fit a glob, if it begins with the name of a few."""
        module = pattern.module
        begin = _BEFORE_GLOB.match(module)
        if begin is None:
            return []
        found = self._objects.to_come(
            _pid(pattern), begin[0], lambda file: any(matches(module, name) for name in spellings(file))
        )
        return found if len(found) <= _FEW else []

    def _of(self, pid: int) -> list[CodeObject]:
        try:
            return self._objects.of(pid)
        except OSError as error:
            raise not_to_be_had(pid, f"its mappings cannot be read: {error.strerror}") from None

    def _direct(self, pattern: Pattern, found: list[FunctionPlace]) -> list[FunctionPlace]:
        """The places of the functions themselves where symbols are those that choose them.

        With a pattern each is there once; with a name one that is not known is an error.
        """
        is_exact = plain(pattern.function) is not None
        indirect = [place for place in found if place.function.is_indirect]
        if not indirect:
            return found
        direct = [place for place in found if not place.function.is_indirect]
        there = {(place.object.path, place.function.offset) for place in direct}
        # What a library chooses depends on the machine, so for all processes it is what it has chosen in this one.
        for place, function in self._behind(_pid(pattern) or os.getpid(), indirect):
            if function is None and is_exact:
                text = f"function '{place.asked}' has not been chosen yet in the process"
                hint = "such a function (STT_GNU_IFUNC) is chosen when the process links to it"
                if pattern.provider == FILES:
                    text, hint = (
                        f"function '{place.asked}' is another in each process",
                        f"{hint}: name one, pid1234:...",
                    )
                raise SourceError(NO_FUNCTION, text, hint=hint)
            if function is not None and (is_exact or (place.object.path, function.offset) not in there):
                there.add((place.object.path, function.offset))
                direct.append(place._replace(function=function))
        return direct

    def _behind(self, pid: int, found: list[FunctionPlace]) -> Iterator[tuple[FunctionPlace, CodeFunction | None]]:
        """What each has been resolved to in a process, None for a file that the process has not mapped."""
        try:
            slots, mapped = self._objects.slots(pid), self._of(pid)
            for place in found:
                home = next((each for each in mapped if each.is_same_file(place.object)), place.object)
                yield place, self._objects.behind(pid, home, place.function, slots)
        except (OSError, ElfError) as error:
            hint = f"it cannot be read what its functions are: {error}"
            raise not_to_be_had(pid, hint) from None

    def _absolute(self, pattern: Pattern, objects: Sequence[CodeObject]) -> Probe:
        """The probe at an address of the program, as it was linked."""
        program = next(iter(objects), None)
        exact = plain(pattern.name) or ""
        if program is None or exact in ("", "entry", "return"):
            raise badly_named(pattern.name)
        address = int(exact, 16)
        function = program.containing(address)
        if function is None:
            raise SourceError(
                OUTSIDE_FUNCTION, f"address 0x{address:x} is in no function of the program that has a symbol"
            )
        place = FunctionPlace(program, function, _ABSOLUTE)
        error = obstacle(place, address - function.address, f"address 0x{address:x}")
        if error is not None:
            raise error
        return self._probe(pattern, place, f"{address:x}", address - function.address, _ABSOLUTE)

    def _at_line(self, pattern: Pattern, objects: Sequence[CodeObject], line: SourceLine) -> list[Probe]:
        """The probes of the places where control reaches a line, as far as the pattern's name matches them."""
        if pattern.name in ("entry", "return"):
            hint = f"control reaches a line; leave the name open, {pattern.provider}:{pattern.module}:{line}:"
            raise SourceError(BAD_PROBE_NAME, f"'{pattern.name}' is an invalid name for a source position", hint=hint)
        test = matcher(pattern.name)
        found = []
        for each, address in addresses(objects, pattern.module, line):
            function = each.containing(address) or each.without_symbol(address)
            offset = address - function.address
            name = f"{function.name}+{offset:x}"
            if test(name):
                place = FunctionPlace(each, function, str(line))
                error = obstacle(place, offset, f"'{line}' at {name}")
                if error is not None:
                    raise error
                found.append(self._probe(pattern, place, name, offset, str(line)))
        return found

    def _probe(self, pattern: Pattern, place: FunctionPlace, name: str, offset: int, function: str = "") -> Probe:
        """Each name of a function that descriptions give has a probe of its own, which fires."""
        kind = name if name in ("entry", "return") else "offset"
        is_32_bit = not place.object.loaded.file.is_64_bit
        each, at = place.object, place.function.offset + offset
        firing = Uprobe(_pid(pattern), each.path, at, kind, is_32_bit=is_32_bit, file=each.identity)
        key = place.asked, name, firing, place.object.name
        found = self._known.get(key)
        if found is None:
            number = PID.first + len(self._probes)
            shown = function or place.function.name
            provider = f"pid{firing.pid}" if firing.pid else FILES
            found = Probe(number, provider, place.object.name, shown, name, firing)
            self._known[key] = found
            self._probes.append(found)
            self._sites.append(Site(place.object, place.function.address + offset))
        return found


def _pid(pattern: Pattern) -> int:
    """The process of a description, 0 for all."""
    return 0 if pattern.provider == FILES else int(pattern.provider.removeprefix("pid"))


def objects_called(objects: Sequence[CodeObject], module: str) -> list[CodeObject]:
    """The objects that a description means."""
    return [each for each in objects if _is_called(each, module)]


def _is_called(each: CodeObject, module: str) -> bool:
    if module.startswith("/"):
        return each.where == module
    names: Iterable[str] = (PROGRAM,) if each.name == PROGRAM else spellings(each.name)
    return any(matches(module, name) for name in names)


def _alike(function: str, objects: Sequence[CodeObject]) -> list[str]:
    """Functions that are spelled nearly as one that is not there."""
    return get_close_matches(function, sorted({name for each in objects for name in each.function_names}), cutoff=0.7)


def _overloads(function: str, objects: Sequence[CodeObject]) -> str:
    """The functions of a name where there is none with its parameters, for people."""
    if "(" not in function:
        return ""
    found = list(dict.fromkeys(meaning for each in objects for meaning in each.meanings(function)))
    return f"there is {', '.join(found[:_FEW])}" if found else ""


def _stripped(objects: Sequence[CodeObject]) -> str:
    """What may be the reason where there is no function of a name."""
    stripped = [each.name for each in objects if each.is_stripped]
    return "\n".join(f"{name} is stripped: only functions that it exports have names" for name in stripped)
