"""The probes and the kernel's structures that there are, as bpftrace lists them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress

from sonde.frontends.bpftrace.check.listing import DescribedProbe as DescribedProbe
from sonde.frontends.bpftrace.check.listing import listed, of_points
from sonde.frontends.bpftrace.check.parameters import parameters
from sonde.frontends.bpftrace.check.probes import Machine
from sonde.frontends.bpftrace.errors import BtError
from sonde.frontends.bpftrace.programs.front_end import points_of
from sonde.library.errors import Error, as_errors
from sonde.library.holding import Held
from sonde.library.inspection.variables import points
from sonde.model.probe import Probe, Uprobe
from sonde.session.kernels import registry_of

STRUCTURES = ("struct ", "union ", "enum ")
"""How a search for structures begins."""


def matching(search: str, held: Held) -> Iterator[DescribedProbe]:
    """The probes that a description finds; none is no error. Raises Error for a type that there is not."""
    with as_errors():
        try:
            yield from listed(search, _machine(held), _parameters)
        except BtError as error:
            raise Error(error.text, error.hint) from None


def of_program(programs: Sequence[tuple[str, str]], words: Sequence[str], held: Held) -> Iterator[DescribedProbe]:
    """The probes of a program. Raises CompileError."""
    with as_errors():
        yield from points_of(programs, parameters(words), lambda found: of_points(found, _machine(held), _parameters))


def is_program(word: str) -> bool:
    """Whether a word after -l is a file and no description."""
    return os.path.isfile(word)


def _machine(held: Held) -> Machine:
    registry = registry_of(held.engine)
    registry.trace(held.process, held.prepare)
    return Machine(registry, held.process)


def _parameters(probe: Probe) -> tuple[str, ...]:
    """Of a function that debug information tells of."""
    if not isinstance(probe.firing, Uprobe):
        return ()
    with suppress(Error):
        for point in points(probe.firing.path, probe.function):
            return tuple(f"{each.type} {each.name}" for each in point.variables if each.is_parameter)
    return ()
