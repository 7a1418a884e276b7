"""Types, enumerators and macros by name: those of the program's C text, and those of the kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sonde.frontends.bpftrace.check import header_constants
from sonde.model.types import Type
from sonde.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from sonde.model.catalog import Catalog


class KnownTypes:
    """`tagged` are the program's structures, unions and enumerations by keyword and tag, `named` its typedefs; `macro`
    gives what a macro without parameters stands for."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self.tagged: dict[tuple[str, str], Type] = {}
        self.named: dict[str, Type] = {}
        self.enumerators: dict[str, tuple[Type, int]] = {}
        self.macro: Callable[[str], str | None] = lambda _: None
        self.has_headers = False
        """The C text includes files, whether they are there or not."""

    @contextmanager
    def expanded(self) -> Iterator[None]:
        """In the `with` block no name is a macro: what a macro stands for is expanded already, as far as C does it."""
        macro, self.macro = self.macro, lambda _: None
        try:
            yield
        finally:
            self.macro = macro

    def tagged_type(self, keyword: str, name: str) -> Type | None:
        return self.tagged.get((keyword, name)) or self.catalog.tagged_type(keyword, name)

    def type_named(self, name: str) -> Type | None:
        return self.named.get(name) or self.catalog.type_named(name)

    def enumerator(self, name: str) -> tuple[Type, int] | None:
        return self.enumerators.get(name) or self.catalog.enumerator(name)

    def header_constant(self, name: str) -> int | None:
        """A constant of the kernel's headers that neither they, which need not be there, nor its types have told."""
        if not self.has_headers:
            return None

        return header_constants.header_constants().get(name)
