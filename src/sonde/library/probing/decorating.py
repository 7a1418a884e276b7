"""Probe functions: Python functions that run where a probe fires."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType

from sonde.library.probing import capturing
from sonde.library.probing.sources import Decorated, source_of
from sonde.typed import TYPE_CHECKING, Any


class ProbeFunction:
    """A function with the descriptions of its probes. Give it to `sonde.run`, `sonde.compile` or `sonde.trace`; other
    probe functions may call it."""

    def __init__(self, decorated: Decorated) -> None:
        self.decorated = decorated
        self.__name__ = decorated.function.__name__
        self.__doc__ = decorated.function.__doc__

    if TYPE_CHECKING:

        def __call__(self, *arguments: Any) -> Any: ...

    else:

        def __call__(self, *arguments):
            raise TypeError(f"{self.__name__} runs where its probe fires: sonde.run({self.__name__})")

    def together(self, functions: Sequence[Any]) -> str:
        """The text of the program that probe functions make. Raises CompileError, and Error."""
        return capturing.captured([each.decorated for each in functions])

    def __repr__(self) -> str:
        return f"<probe function {self.__name__} for {', '.join(self.decorated.descriptions)}>"


def probe(*descriptions: str) -> Callable[[Callable[..., Any] | ProbeFunction], ProbeFunction]:
    """Have a function run where these probes fire, `provider:module:function:name` as in D. The function's source is
    read now, and compiled when it is run. Raises CompileError where the source is not to be had."""
    if not descriptions or not all(isinstance(each, str) for each in descriptions):
        raise TypeError('a probe function has descriptions of probes: @probe("syscall::read:entry")')

    def made(function: Callable[..., Any] | ProbeFunction) -> ProbeFunction:
        if isinstance(function, ProbeFunction):
            known = function.decorated
            return ProbeFunction(known._replace(descriptions=(*descriptions, *known.descriptions)))
        if not isinstance(function, FunctionType):
            raise TypeError(f"a probe function is made by def, not {function!r}")
        return ProbeFunction(Decorated(function, descriptions, source_of(function)))

    return made
