"""The providers `fbt` and `rawfbt`: `fbt:MODULE:FUNCTION:entry|return`, the kernel's functions.

What arguments they have BTF says, for the functions that it describes; the others have only `arg0` and so on.
"""

from __future__ import annotations

from collections.abc import Sequence

from sonde.model.catalog import TypedArgument
from sonde.model.probe import KernelFunction, Probe
from sonde.model.types import INT, VOID, Function, resolve
from sonde.providers.functions import TraceableFunction, TraceableFunctions
from sonde.providers.pattern import Pattern, matches, plain
from sonde.providers.provider import FBT, RAWFBT, IdentifierBlock
from sonde.symbols.kallsyms import Kallsyms
from sonde.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from sonde.providers.kernel_types import KernelTypes

ENTRY, RETURN = "entry", "return"
BLOCKS: dict[str, IdentifierBlock] = {"fbt": FBT, "rawfbt": RAWFBT}


class FunctionProvider:
    """`fbt`, or `rawfbt`, which has the same probes, attached by kprobes."""

    def __init__(self, name: str, functions: TraceableFunctions, types: KernelTypes, kallsyms: str) -> None:
        """`kallsyms` is the path of the symbol list."""
        self._name = name
        self._kallsyms = kallsyms
        self._functions = functions
        self._types = types
        self._first = BLOCKS[name].first
        # Who lists probes asks twice for what may be a hundred thousand.
        self._asked: Pattern | None = None
        self._matched: Sequence[Probe] = ()

    def match(self, pattern: Pattern) -> Sequence[Probe]:
        if pattern != self._asked:
            names = [name for name in (ENTRY, RETURN) if matches(pattern.name, name)]
            found = self._functions.matching(pattern.module, pattern.function) if names else ()
            self._matched = [self._probe(function, name) for function in found for name in names]
            self._asked = pattern
        return self._matched

    def by_id(self, identifier: int) -> Probe | None:
        place, is_return = divmod(identifier - self._first, 2)
        function = self._functions.at(place)
        return self._probe(function, RETURN if is_return else ENTRY) if function else None

    def arguments(self, probe: Probe) -> tuple[TypedArgument, ...] | None:
        """At entry the function's parameters; at a return where it returned from, an offset, and the value unless it
        has none."""
        signature = self.signature(probe)
        if signature is None:
            return None
        self._types.asked.add(("function", f"{probe.module}`{probe.function}"))
        kinds = signature.parameters
        if probe.name == RETURN:
            kinds = (INT,) if resolve(signature.returns) == VOID else (INT, signature.returns)
        return tuple(TypedArgument(kind, kind, number) for number, kind in enumerate(kinds))

    def argument_names(self, probe: Probe) -> tuple[str, ...] | None:
        """The parameters' names in the source; None where BTF has none."""
        found = self._described(probe)
        return found[1] if found and probe.name == ENTRY else None

    def absence(self, pattern: Pattern) -> str:
        """Why a function that is named outright has no probe, "" if nobody knows."""
        if not self._functions.readable:
            why = f"fbt knows no functions: this is missing, empty or may not be read:\n{self._functions.path}"
            return f"{why}\nrawtp and sdt have the kernel's tracepoints: sonde -l rawtp"
        name = plain(pattern.function)
        if not name or any(self._functions.matching("", name)):
            return ""
        clones = [each.name for each in self._functions.matching("", f"{name}.*")]
        if clones:
            return f"the compiler has made {', '.join(clones)} of {name}: these can be probed"
        kind = {symbol.kind for symbol in Kallsyms(self._kallsyms).all(name)}
        if kind & set("tTwW"):
            return f"{name} cannot be traced: it is notrace, or code that tracing itself needs, or runs only at boot"
        if self._types.function(name):
            return (
                f"{name} is no function of its own in this kernel: the compiler has put it into those that call it\n"
                f"where the kernel's debug information is installed, {self._name}::FILE@LINE: is a line of it in each"
            )
        return ""

    def signature(self, probe: Probe) -> Function | None:
        """The function's type, None where BTF does not describe it."""
        found = self._described(probe)
        return found[0] if found else None

    def _described(self, probe: Probe) -> tuple[Function, tuple[str, ...]] | None:
        return self._types.function(probe.function, probe.module)

    def _probe(self, function: TraceableFunction, name: str) -> Probe:
        is_return = name == RETURN
        firing = KernelFunction(function.module, function.name, is_return, function.is_unique, self._name == "rawfbt")
        identifier = self._first + 2 * function.place + is_return
        return Probe(identifier, self._name, function.module, function.name, name, firing)
