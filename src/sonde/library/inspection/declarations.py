"""Chosen variables of a probe line, of a program or the kernel, as BPF programs of other compilers declare them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from sonde.library.errors import Error
from sonde.library.inspection.structures import structure_name
from sonde.model.types import Function, name_of
from sonde.objects import kernel_lines, traceable_code, user_lines
from sonde.objects.arguments import structure_of
from sonde.objects.errors import ObjectError
from sonde.objects.kernel_variables import kernel_variables
from sonde.objects.lines import ProbeLine, line_of, wanted
from sonde.providers.kernel_types import KernelTypes
from sonde.typed import NamedTuple

KERNEL = "kernel"
"""In the place of an object's path."""


class KernelFunction(NamedTuple):
    """A function of the kernel, as its BTF describes it: the type that it returns, and of each parameter name and
    type."""

    name: str
    returns: str
    parameters: tuple[tuple[str, str], ...]


def declarations(path: str, place: str, variables: Sequence[str] = (), vmlinux: str = "") -> tuple[str, ...]:
    """The declarations of the structure that these variables of a probe line arrive in, each once: they may differ
    where the line is several places. The path `kernel` stands for the kernel, whose functions' parameters are all
    meant where none is named; `vmlinux` is its file with debug information, "" to look for it. Raises Error."""
    with _errors():
        if path != KERNEL:
            # What the kernel's functions do without.

            found = user_lines.user_line(line_of(path, place, variables), traceable_code.TraceableCode())
            return tuple(dict.fromkeys(structure_of(structure_name(place), each) for _, each in found))
        if variables:
            return _of_kernel(place, variables, vmlinux)
        line, (kind, names) = _kernel_line(place, variables)
        line = line._replace(variables=tuple(map(wanted, names)))
        return (structure_of(structure_name(place), kernel_variables(line, lambda name, module: (kind, names))),)


def _of_kernel(place: str, variables: Sequence[str], vmlinux: str) -> tuple[str, ...]:
    found = kernel_lines.KernelLines(KernelTypes().function, vmlinux).places(
        line_of("", place, variables), traceable_code.TraceableCode()
    )
    return tuple(dict.fromkeys(structure_of(structure_name(place), each.variables) for each in found))


def kernel_function(name: str) -> KernelFunction:
    """Raises Error where the kernel's BTF has none of that name."""
    with _errors():
        line, (kind, names) = _kernel_line(name, ())
    parameters = zip(names, map(name_of, kind.parameters), strict=True)
    return KernelFunction(line.function, name_of(kind.returns), tuple(parameters))


@contextmanager
def _errors() -> Iterator[None]:
    try:
        yield
    except ObjectError as error:
        raise Error(error.text, error.hint) from None


def _kernel_line(place: str, variables: Sequence[str]) -> tuple[ProbeLine, tuple[Function, tuple[str, ...]]]:
    line = line_of("", place, variables)
    described = KernelTypes().function(line.function)
    if described is None:
        raise ObjectError(f"the kernel's BTF has no function {line.function}")
    return line, described
