"""Functions of Python in the stacks of a session: who learns of them, and who is asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sonde.model import python_functions
from sonde.model.python_frames import PYTHON_CODES
from sonde.model.spec import TracingSpec
from sonde.symbols.python import functions, met_functions
from sonde.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from sonde.consume.recorder import Recorder
    from sonde.engines.base import Tracing
    from sonde.model.python_functions import PythonFunction
    from sonde.symbols.following import NameSource


class PythonStacks:
    """`canonical` gives the one of all stacks that are shown alike, None where nothing makes them so. `recorders` keep
    what the numbers of functions mean, and `names` shows them."""

    def __init__(
        self, spec: TracingSpec, tracing: Tracing, recorders: Sequence[Recorder], names: NameSource | None
    ) -> None:
        self.canonical: Callable[[bytes], bytes] | None = names.canonical if names is not None else None
        self._recorders = recorders
        self._functions: functions.PythonFunctions | None = None
        self._met: met_functions.MetFunctions | None = None
        if not any(each.name == PYTHON_CODES for each in spec.maps):
            return
        # Imports that most runs do without.

        self._functions = functions.PythonFunctions()
        self._met = met_functions.MetFunctions(tracing.read_map, tracing.remove_from_map, self._learn)
        self._functions.ask = self._met.poll
        if names is None:
            self.canonical = self._functions.canonical
        else:
            self.canonical = self._functions.with_names(names.canonical)
            names.show_python(self._functions.frame)

    def _learn(self, number: int, function: PythonFunction) -> None:
        assert self._functions is not None
        self._functions.learn(number, function)
        for each in self._recorders:
            each.learn_functions((python_functions.NumberedFunction(number, function),))

    def poll(self) -> None:
        """Take up what programs have met."""
        if self._met is not None:
            self._met.poll()

    @property
    def lost(self) -> int:
        """How often there was no room for a function."""
        return self._met.lost if self._met is not None else 0
