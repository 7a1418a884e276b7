"""What the checker asks the outside for: probes by pattern, their arguments, kernel types and kernel data.

The providers implement it; tests pass a dictionary-like stand-in.
"""

from __future__ import annotations

from collections.abc import Sequence

from sonde.model.probe import KernelFunction, Probe
from sonde.model.types import Type
from sonde.typed import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from sonde.model.location import Piece


class TypedArgument(NamedTuple):
    """One element of `args[]`: the type the kernel has and its spelling, the type D shows (a translator's output, or
    the same), and which native argument it comes from."""

    native: Type
    shown: Type
    source: int


class Derivation(NamedTuple):
    """How a probe follows from another: it fires when `source` does and `condition` holds.

    All but `source` is D text over the source's own `args[]`, `arg0` ... and built-in variables: `values` are the
    probe's `arg0`, `arg1` ..., of the native types that `arguments` tells, `condition` is "" where it always fires.
    `before` are D sources, declarations and clauses, that must be part of the program for the values to be known.
    `most` is how many arguments the probe has where all of them can be known: of `values` some may be missing.
    """

    source: Probe
    condition: str
    values: tuple[str, ...]
    before: tuple[str, ...] = ()
    most: int = 0


class Located(NamedTuple):
    """A variable of the code that a probe is in: its type, and where it is when the probe fires; `is_user` tells that
    this is the code of a process, not the kernel's. `name` is that of a parameter, where it is known."""

    type: Type
    pieces: tuple[Piece, ...]
    is_user: bool = True
    name: str = ""


class KernelSymbol(NamedTuple):
    """Kernel data: its module, address and type (None where only the address is known)."""

    name: str
    module: str
    address: int
    type: Type | None


class Catalog(Protocol):
    def match(self, provider: str, module: str, function: str, name: str) -> Sequence[Probe]:
        """The probes whose four fields match the glob patterns ("" matches all), by identifier.

        Raises SourceError where the provider refuses the description itself.
        """

    def awaited(self, provider: str, module: str, function: str, name: str) -> Probe | None:
        """What stands for the static probes of all processes, those to come included, that a description matches, or of
        the process that it names; None where it matches none of these."""

    def is_awaited(self, probe: Probe, provider: str, module: str, function: str, name: str) -> bool:
        """Whether `awaited` stands for a probe that `match` gives."""

    def absence(self, provider: str) -> str:
        """Why a description with this provider can match no probe, "" where it could."""

    def unawaited(self, provider: str) -> str:
        """Why nothing is waited for that a description with this provider may match later, "" where it is, or where
        nothing can come."""

    def lacks(self, what: str, name: str) -> tuple[str, str]:
        """That a program may not use a built-in `variable`, a `function` or kernel `data`, or that an `argument` is not
        known, and what would help; "" where it may."""

    def mismatch(self, provider: str, module: str, function: str, name: str) -> str:
        """Which field of a description that matches no probe is the one that none has, for people."""

    def alike(self, provider: str, module: str, function: str, name: str) -> tuple[str, ...]:
        """Descriptions that one which matches no probe may have meant, the likeliest first."""

    def files(self, path: str) -> Sequence[str]:
        """The files at a path, which may have wildcards, where probes are looked for: in the root directory of the
        process that is traced, or here."""

    def offers(self, what: str, name: str) -> bool:
        """Whether there is a `provider` or a kernel `module` of that name, or a `helper` of the engine's own that tells
        programs (`open_file`, `cpu_time`) what they find in the kernel's structures elsewhere."""

    def by_id(self, identifier: int) -> Probe | None:
        """The probe with this identifier, as `-i` takes it."""

    def arguments(self, probe: Probe) -> tuple[TypedArgument, ...] | None:
        """The probe's `args[]`; None where the provider has no typed arguments."""

    def argument_names(self, probe: Probe) -> tuple[str, ...] | None:
        """The names of the probe's `args[]`, None where they have none, or are variables of a program."""

    def has_variables(self, probe: Probe) -> bool:
        """Whether the probe is in a program, or at a place within a function of the kernel, where `args[]` are
        variables with names and places."""

    def variable(self, probe: Probe, scope: str, name: str | int) -> Located:
        """A variable where a process's probe is: `scope` is `args`, `locals` or `globals`, or
        `symbols`: what the symbol table has, an unsigned integer.

        Of `args` the number may be given instead: that of a parameter at an entry, 1 for the result at a return.

        Raises SourceError, which says why there is none and what would help.
        """

    def derivations(self, probe: Probe) -> tuple[Derivation, ...]:
        """How the probe follows from others; () for a probe that has its firing to itself."""

    def type_named(self, name: str, module: str | None = None) -> Type | None:
        """A kernel typedef or base type."""

    def tagged_type(self, keyword: str, name: str, module: str | None = None) -> Type | None:
        """A kernel `struct`, `union` or `enum` by its tag."""

    def enumerator(self, name: str) -> tuple[Type, int] | None:
        """A kernel enumeration constant."""

    def symbol(self, name: str, module: str | None = None) -> KernelSymbol | None:
        """Kernel data by name."""

    def place_at(self, address: int) -> KernelFunction | None:
        """The instruction of the kernel at an address, None where no function of its own or of a module is."""
