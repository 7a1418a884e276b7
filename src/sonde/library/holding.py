"""The processes of a run, held until its programs are compiled and attached.

The compiler is imported when the processes are there: what makes them is small then, so they and the guardian come
sooner, and get ready on a CPU of their own meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from sonde.engines.embedded.tracer import own_filters
from sonde.library.errors import as_errors
from sonde.model.options import OptionTable
from sonde.session.engines import EMBEDDED as EMBEDDED
from sonde.session.engines import KERNEL as KERNEL
from sonde.session.engines import choose, has_filter
from sonde.session.processes import processes
from sonde.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from sonde.session.traced import Traced


class Held(NamedTuple):
    """The engine, KERNEL or EMBEDDED, and the processes: those of commands first."""

    engine: str
    traced: Sequence[Traced]

    @property
    def process(self) -> int:
        """The process that is $target, 0 without processes."""
        return self.traced[0].pid if self.traced else 0

    def prepare(self, pid: int) -> None:
        """Called before anything looks into process `pid`: a command of the embedded engine's has to be executed for
        that, and then waits where the option evaltime says. Raises SessionError."""
        for each in self.traced:
            if each.pid == pid:
                each.prepare()

    @property
    def is_embedded(self) -> bool:
        return self.engine == EMBEDDED


@contextmanager
def holding(
    engine: str, commands: Sequence[str], pids: Sequence[int], options: OptionTable, tell: Callable[[str], None] | None
) -> Iterator[Held]:
    """Start the commands, and find the processes; given up at the end. `tell` is told of those that are not traced as
    one would expect. Raises Error."""
    with as_errors(), processes(commands, pids, options, engine, tell) as traced:
        yield Held(engine, traced)


def chosen_engine(options: OptionTable, tell: Callable[[str], None], only_compiles: bool = False) -> str:
    """The engine that the option `engine` means. `tell` is told why it is not the kernel. Raises NotPermittedError."""
    with as_errors():
        return choose(options, tell, only_compiles)


def of_filter(options: OptionTable) -> Iterator[str]:
    """What is to be said of the seccomp filter that a command gets on the embedded engine, or does not get."""
    if not has_filter(options):
        return

    if own_filters.are_any():
        yield (
            "sonde runs below a seccomp filter, as containers have one: each system call of the command stops, "
            "so that those that the filter refuses are seen"
        )
    else:
        yield (
            "the command gets a seccomp filter, and no_new_privs with it: setuid programs do not change user, and a "
            "filter of its own cannot notify (-xseccomp=no: no filter)"
        )
