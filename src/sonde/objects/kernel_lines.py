"""Probe lines about the kernel: their places, and variables that the debug information of vmlinux or a module tells of.

The parameters at a function's entry, and its result, are those of BTF (`kernel_variables.py`) wherever that has them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sonde.model.catalog import Located
from sonde.model.errors import UNKNOWN_VARIABLE, SourceError
from sonde.model.location import MASK, Constant, Value
from sonde.model.probe import KernelFunction, Probe
from sonde.objects.errors import ObjectError
from sonde.objects.kernel_functions import one_function
from sonde.objects.kernel_variables import RESULT, Describe, kernel_variable
from sonde.objects.lines import ProbeLine, WantedVariable
from sonde.objects.numbered_arguments import is_numbered, numbered
from sonde.objects.paths import FoundVariable, located
from sonde.objects.traceable_code import TraceableCode
from sonde.providers.kernel_places import KernelPlaces
from sonde.providers.kernel_variables import KernelVariables
from sonde.providers.pattern import Pattern
from sonde.symbols.dwarf.expressions import UnsupportedError
from sonde.symbols.kallsyms import Kallsyms
from sonde.symbols.kernel_objects import KernelObjects
from sonde.typed import NamedTuple

_ENTRY, _RETURN = "entry", "return"


class KernelPlace(NamedTuple):
    """A place of a line, and its variables there."""

    firing: KernelFunction
    variables: tuple[FoundVariable, ...]


class KernelLines:
    """Those about the running kernel; debug information is read where BTF does not tell."""

    def __init__(self, describe: Describe, vmlinux: str = "", kallsyms: str = "/proc/kallsyms") -> None:
        """`describe` is what BTF tells of functions; `vmlinux` is the kernel's file, "" to look for it."""
        self._describe = describe
        self._symbols = Kallsyms(kallsyms)
        self._places = KernelPlaces(KernelObjects(vmlinux), kallsyms)
        self._variables = KernelVariables(self._places, self._address)

    def places(self, line: ProbeLine, traceable: TraceableCode) -> list[KernelPlace]:
        """The places of a line. Raises ObjectError."""
        named = next((each.text for each in line.variables if each.file), "")
        if named:
            raise ObjectError(f"{named}: a file before a variable is for programs and libraries", "leave it away")
        with _errors(line):
            if line.file or (line.offset and line.variables):
                function = f"{line.file}@{line.line}" if line.file else line.function
                name = "" if line.file else f"{line.offset:x}"
                found = self._places.match(Pattern("fbt", line.module, function, name))
                return [self._at(line, each) for each in found]
        text = line.function + (f"+{line.offset}" if line.offset else "")
        firing = one_function(text, line.text, line.is_return, traceable)
        firing = firing._replace(module=line.module or firing.module)
        return [KernelPlace(firing, tuple(self._of_function(line, firing, each) for each in line.variables))]

    def _at(self, line: ProbeLine, probe: Probe) -> KernelPlace:
        assert isinstance(probe.firing, KernelFunction)
        return KernelPlace(probe.firing, tuple(self._variable(line, probe, each) for each in line.variables))

    def _of_function(self, line: ProbeLine, firing: KernelFunction, wanted: WantedVariable) -> FoundVariable:
        """A parameter or the result by BTF, else whatever debug information tells."""
        if is_numbered(wanted):
            return numbered(line, wanted)
        described = self._describe(line.function, line.module or None)
        if described is not None and (wanted.name in (RESULT, *described[1]) or firing.is_return):
            return kernel_variable(line, wanted, *described)
        if described is None and not self._symbols.all(line.function, line.module or None):
            where = f"the module {line.module}" if line.module else "the kernel"
            raise ObjectError(f"{line.text!r}: {where} has no function {line.function}, or hides its symbols")
        name = _RETURN if firing.is_return else _ENTRY
        return self._variable(line, Probe(0, "fbt", firing.module, firing.name, name, firing), wanted)

    def _variable(self, line: ProbeLine, probe: Probe, wanted: WantedVariable) -> FoundVariable:
        if is_numbered(wanted):
            return numbered(line, wanted)
        with _errors(line):
            if probe.name == _RETURN and wanted.name == RESULT:
                return _found(wanted, self._variables.find(probe, "args", 1))
            try:
                return _found(wanted, self._variables.find(probe, "locals", wanted.name))
            except SourceError as error:
                found = self._global(probe, wanted.name) if error.kind == UNKNOWN_VARIABLE else None
                if found is None:
                    raise
            return _found(wanted, found)

    def _global(self, probe: Probe, name: str) -> Located | None:
        try:
            return self._variables.find(probe, "globals", name)
        except SourceError as error:
            if error.kind == UNKNOWN_VARIABLE:
                return None
            raise

    def _address(self, symbol: str, offset: int) -> Value:
        """Where something is in the kernel that runs: an object is loaded into that alone."""
        module, _, name = symbol.partition("`")
        found = self._symbols.find(name, module)
        if found is None:
            raise UnsupportedError("the kernel does not show its addresses: /proc/kallsyms needs root or CAP_SYSLOG")
        return Constant(found.address + offset & MASK)


@contextmanager
def _errors(line: ProbeLine) -> Iterator[None]:
    try:
        yield
    except SourceError as error:
        raise ObjectError(f"{line.text!r}: {error.text}", error.hint) from None


def _found(wanted: WantedVariable, found: Located) -> FoundVariable:
    try:
        return located(found.type, found.pieces, wanted)
    except UnsupportedError as error:
        raise ObjectError(f"{wanted.text} cannot be fetched: {error}") from None
