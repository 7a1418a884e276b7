"""The probes that an engine offers, looked up for lists: by words, or by the descriptions of programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from sonde.frontends.d.programs import descriptions
from sonde.frontends.d.report import stability
from sonde.library import replays
from sonde.library.errors import Error, as_errors
from sonde.library.inspection.checking import checked
from sonde.library.inspection.listing import described
from sonde.model.errors import SourceError
from sonde.model.options import OptionTable
from sonde.model.probe import Probe as Probe
from sonde.session.engines import choose_listed
from sonde.session.kernels import registry_of
from sonde.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from sonde.engines.fired import RecordedProbes
    from sonde.frontends.d.syntax import ProbeDescription

NAMES = 4
"""Of a probe: provider, module, function and name."""


def listed_engine(options: OptionTable, tell: Callable[[str], None]) -> str:
    """The engine whose probes are listed: the one that would trace; `tell` is told why it is not the kernel. Raises
    Error."""
    with as_errors():
        return choose_listed(options, tell)


class ProbeTable:
    """The probes of an engine on this kernel, or on one whose BTF is `target`. What takes time to read is read when
    something of it is asked for."""

    def __init__(
        self, engine: str, target: str | None = None, is_portable: bool = False, packets: str = "",
        replay: str = "",
    ) -> None:  # fmt: skip
        """`is_portable`: without probes that not all kernels have. `packets` is the file of --packets, `replay`
        the recording of --replay. Raises Error."""
        source: RecordedProbes | None = None
        if replay:
            source = replays.opened_replay(replay)
        self.process = source.process if source is not None else 0
        """$target of the recording, 0 without one."""
        with as_errors():
            self._registry = registry_of(engine, target, is_portable, packets, source)

    def hold(self, process: int, prepare: Callable[[int], None]) -> None:
        """Paths are those of a process, 0 for none. Processes that are looked into get ready for that by being given to
        `prepare`, by their numbers."""
        self._registry.trace(process, prepare)

    def all(self) -> Sequence[Probe]:
        """Those that can be counted, by number."""
        return self._registry.listed("", "", "", "")

    def described(self, word: str) -> Sequence[Probe]:
        """As `sonde.probes` has it. Raises Error where a provider refuses the description."""
        return described(word, self._registry)

    def mismatch(self, fields: Sequence[str]) -> str:
        """What is wrong with a description, from its provider on, that matches no probe; "" if nothing can be said."""
        return self._registry.mismatch(*fields, *("" for _ in range(NAMES - len(fields))))

    def of_programs(
        self, programs: Sequence[tuple[str, str]], options: OptionTable, arguments: Sequence[str], process: int,
        name: str,
    ) -> Iterator[tuple[str, Sequence[Probe]]]:  # fmt: skip
        """Each probe description of programs in D (`languages.ProgramText`), and the probes that it matches, of which
        there may be none. Raises CompileError, and while they are gone through Error where a provider refuses one."""
        # Lists of what words describe do without.

        found = checked("d", programs, options, self._registry, arguments, process, name)
        return map(self._matched, descriptions.descriptions(found.own, options, arguments, process))

    def _matched(self, spec: ProbeDescription) -> tuple[str, Sequence[Probe]]:
        if spec.identifier is None:
            words = ":".join(spec.fields)
            try:
                return words, self._registry.listed(*spec.fields)
            except SourceError as error:
                raise Error(f"failed to match {words}: {error.text}", error.hint) from None
        probe = self._registry.by_id(spec.identifier)
        return f":::{spec.identifier}", (probe,) if probe is not None else ()

    def arguments_report(self, probe: Probe, is_named: bool) -> str:
        """The block that follows a probe in a verbose listing; names of arguments are not in dtrace's."""
        return stability.arguments_report(probe, self._registry, is_named)
