"""Places within functions of the kernel: `fbt:MODULE:FUNCTION:OFFSET`, an instruction by its hexadecimal offset, and
`fbt:MODULE:FILE@LINE:`, wherever control reaches a line. Their forms are those of the pid provider's probes.

A kprobe is at each. Lines need the debug information of the kernel or the module; without it an offset is taken as it
is, and the kernel tells whether an instruction begins there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from sonde.model.errors import BAD_OBJECT, BAD_PROBE_NAME, NO_FUNCTION, NOT_PROBEABLE, OUTSIDE_FUNCTION, SourceError
from sonde.model.probe import KernelFunction, Probe
from sonde.providers.pattern import Pattern, matcher, plain
from sonde.providers.provider import KERNEL_PLACES
from sonde.providers.source_lines import SourceLine, addresses, source_line
from sonde.providers.user_places import FunctionPlace, no_instruction, places
from sonde.symbols.elf.errors import CostError, DebugInfoError
from sonde.symbols.elf.symbol_table import STT_FUNC, STT_NOTYPE
from sonde.symbols.functions import CodeFunction, CodeObject
from sonde.symbols.kallsyms import Kallsyms
from sonde.symbols.kernel_files import VMLINUX
from sonde.symbols.kernel_objects import KernelObjects
from sonde.symbols.kernel_text import KernelText
from sonde.typed import NamedTuple

_OFFSET = re.compile(r"(?:0[xX])?[0-9a-fA-F]{1,8}")
_CODE = "tTwW"


class KernelSite(NamedTuple):
    """Where a probe is: the object of the kernel or a module, and an address in it as it was linked."""

    object: CodeObject
    address: int


def is_place(pattern: Pattern) -> bool:
    """Whether a description is of a place within a function: of a line, or by an offset, which no glob names. Raises
    SourceError for a line of a file that is a glob."""
    if source_line(pattern.function) is not None:
        return True
    return _OFFSET.fullmatch(pattern.name) is not None and bool(plain(pattern.function))


class KernelPlaces:
    """Keeps the probes that it has made, so that each has one identifier."""

    def __init__(self, objects: KernelObjects, kallsyms: str) -> None:
        """`kallsyms` is the path of the symbol list."""
        self._objects = objects
        self._kallsyms = Kallsyms(kallsyms)
        self._texts: dict[str, KernelText] = {}
        self._probes: list[Probe] = []
        self._known: dict[Probe, Probe] = {}
        self._sites: dict[int, KernelSite] = {}
        self.asked: set[str] = set()
        """The modules on whose code what was asked depends."""

    def match(self, pattern: Pattern) -> Sequence[Probe]:
        """The probes of a pattern that `is_place`. Raises SourceError where there are none."""
        line = source_line(pattern.function)
        try:
            return self._at_offset(pattern) if line is None else self._at_line(pattern, line)
        except CostError as error:
            raise SourceError(BAD_OBJECT, f"failed to read the functions of {pattern}: {error}") from None

    def by_id(self, identifier: int) -> Probe | None:
        index = identifier - KERNEL_PLACES.first
        return self._probes[index] if 0 <= index < len(self._probes) else None

    def site(self, probe: Probe) -> KernelSite:
        """Where a probe at a place or at the entry of a function is. Raises DebugInfoError where nothing tells."""
        firing = probe.firing
        assert isinstance(firing, KernelFunction)
        self.asked.add(firing.module)
        if probe.id in self._sites:
            return self._sites[probe.id]
        home = self._objects.of(firing.module)
        found = home.find(firing.name)
        if not found:
            raise DebugInfoError(f"{home.path} has no function {firing.name}")
        if len(found) > 1:
            text = f"{firing.module} has {len(found)} functions {firing.name}"
            raise DebugInfoError(f"{text}: a probe at a line, FILE@LINE, is in one of them")
        return KernelSite(home, found[0].address + firing.offset)

    def _at_offset(self, pattern: Pattern) -> list[Probe]:
        offset = int(pattern.name, 16)
        found: list[Probe] = []
        failures: list[DebugInfoError] = []
        for module in self._modules(pattern.module, pattern.function):
            try:
                there = list(places(self._objects.of(module), pattern.function))
            except DebugInfoError as error:
                failures.append(error)
                found += self._unchecked(pattern, module, offset)
                continue
            for place in there:
                self._require(place, offset, f"offset 0x{offset:x}")
                found.append(self._probe(pattern, place, f"{offset:x}", offset))
        if found:
            return found
        why = str(failures[0]) if failures and self._objects.is_other else ""
        text = f"there is no function {pattern.function} in {pattern.module or 'the kernel'}"
        raise SourceError(NO_FUNCTION, text, hint=why, about=(pattern.function, pattern.module or "the kernel"))

    def _modules(self, module: str, function: str) -> list[str]:
        """The modules that match and have a function, or may have it."""
        wanted = VMLINUX if module == "kernel" else module
        if self._objects.is_other:
            return [VMLINUX] if matcher(wanted)(VMLINUX) else []
        named = dict.fromkeys(each.module for each in self._kallsyms.all(function) if each.kind in _CODE)
        return [each for each in named or (VMLINUX,) if matcher(wanted)(each)]

    def _unchecked(self, pattern: Pattern, module: str, offset: int) -> Iterator[Probe]:
        """A probe without debug information, if the kernel has the function."""
        if any(each.kind in _CODE for each in self._kallsyms.all(pattern.function, module)):
            firing = KernelFunction(module, pattern.function, False, False, True, offset)
            yield self._kept(pattern.provider, pattern.function, f"{offset:x}", firing, None)

    def _at_line(self, pattern: Pattern, line: SourceLine) -> list[Probe]:
        if pattern.name in ("entry", "return"):
            hint = f"control reaches a line; leave the name open, {pattern.provider}:{pattern.module}:{line}:"
            raise SourceError(BAD_PROBE_NAME, f"'{pattern.name}' is an invalid name for a source position", hint=hint)
        test = matcher(pattern.name)
        found = []
        for each, address in self._addresses(pattern, line):
            function = each.containing(address) or each.without_symbol(address)
            offset = address - function.address
            name = f"{function.name}+{offset:x}"
            if test(name):
                place = FunctionPlace(each, function, str(line))
                self._require(place, offset, f"'{line}' at {name}")
                found.append(self._probe(pattern, place, name, offset, str(line)))
        return found

    def _addresses(self, pattern: Pattern, line: SourceLine) -> Iterable[tuple[CodeObject, int]]:
        """Raises SourceError."""
        module = VMLINUX if pattern.module == "kernel" else pattern.module
        if module and plain(module) is None:
            hint = f"name it, {pattern.provider}:vmlinux:{line}: for the kernel itself, or leave it open"
            raise SourceError(NO_FUNCTION, f"a source position is in one module, and {module} is a pattern", hint=hint)
        try:
            return addresses([self._of(module or VMLINUX, line)], module or VMLINUX, line)
        except SourceError as error:
            others = self._objects.with_source(line.file) if not module and error.kind != OUTSIDE_FUNCTION else []
            if not others:
                raise
        return addresses([self._of(each, line) for each in others], "", line)

    def _of(self, module: str, line: SourceLine) -> CodeObject:
        """Raises SourceError."""
        try:
            return self._objects.of(module)
        except DebugInfoError as error:
            text = f"there is no function {line} in {module}"
            raise SourceError(NO_FUNCTION, text, hint=str(error), about=(line, module)) from None

    def _require(self, place: FunctionPlace, offset: int, called: str) -> None:
        """Raises SourceError where no kprobe can be at an offset of a function."""
        error = no_instruction(place, offset, called)
        if error is not None:
            raise error
        text = self._texts.setdefault(place.object.name, KernelText(place.object.loaded.file))
        length = place.object.instructions(place.function)[offset].length
        why = text.obstacle(place.function, offset, length)
        if why:
            name = place.function.name
            raise SourceError(NOT_PROBEABLE, f"{called}: the kernel cannot probe this place of {name}", hint=why)

    def _probe(self, pattern: Pattern, place: FunctionPlace, name: str, offset: int, function: str = "") -> Probe:
        code = place.function
        among = _among_equals(place.object, code)
        firing = KernelFunction(place.object.name, code.name, False, among is None, True, offset, among)
        site = KernelSite(place.object, code.address + offset)
        return self._kept(pattern.provider, function or code.name, name, firing, site)

    def _kept(self, provider: str, function: str, name: str, firing: KernelFunction, site: KernelSite | None) -> Probe:
        self.asked.add(firing.module)
        key = Probe(0, provider, firing.module, function, name, firing)
        found = self._known.get(key)
        if found is None:
            found = key._replace(id=KERNEL_PLACES.first + len(self._probes))
            self._known[key] = found
            self._probes.append(found)
            if site is not None:
                self._sites[found.id] = site
        return found


def _among_equals(home: CodeObject, function: CodeFunction) -> int | None:
    """Which of the functions of its name one is, by address; None if there is no other."""
    table = home.loaded.file.table
    named = (each for each in table.named(function.name) if each.kind in (STT_FUNC, STT_NOTYPE))
    starts = sorted({each.address for each in named if home.code_offset(each.address) is not None})
    return starts.index(function.address) if len(starts) > 1 else None
