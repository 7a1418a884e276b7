"""Programs made ready to run: verified, linked with the session's maps, translated, their helpers bound."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from sonde.bpf.helpers import NUMBERS
from sonde.bpf.instructions import CALL, JMP, decode, encode
from sonde.bpf.maps import PROG_ARRAY
from sonde.bpf.probe_context import ON_STACK
from sonde.bpf.programs import PROBE
from sonde.model.errors import AbortedError, EngineError
from sonde.model.probe import Syscall
from sonde.model.spec import ProbeSpec, ProgramSpec, Stamp
from sonde.runtime.environment import Environment
from sonde.runtime.helpers.table import helpers_by_map, make_helpers
from sonde.runtime.machine.faults import TurnsError
from sonde.runtime.machine.linking import LinkError, link
from sonde.runtime.machine.translation.translator import translate
from sonde.runtime.maps.base import Map
from sonde.runtime.programs import loaded as programs_loaded
from sonde.runtime.programs.verification import verify_here
from sonde.runtime.verifier.verify import Refusal, Verified
from sonde.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from sonde.runtime.programs.loaded import RunnableProgram

Run = Callable[[int], int]
"""Runs a program with the address of its context."""


class ReadyProgram(NamedTuple):
    """A program, the probes that this copy of it serves, how to run it, and, when it runs no more, let go what it
    refers to. `callable` is the program for those that may call it by tail call, None where nobody calls;
    `context_end` is behind the last byte of the context that it accesses, as it was written."""

    spec: ProgramSpec
    probes: tuple[ProbeSpec, ...]
    run: Run
    forget: Callable[[], None]
    callable: RunnableProgram | None = None
    context_end: int = 0


def called_helpers(spec: ProgramSpec) -> frozenset[int]:
    """The numbers of the helpers that a program calls."""
    return _called(spec.code)


@lru_cache(maxsize=64)
def _called(code: bytes) -> frozenset[int]:
    return frozenset(each.imm for each in decode(code) if each.opcode == JMP | CALL and each.src == 0)


def prepare(
    specs: Sequence[ProgramSpec], maps: Mapping[str, Map], environment: Environment, values: Callable[[Stamp], int]
) -> list[ReadyProgram]:
    """Make each ready once or, if cookies are stamped in, once for each probe. Of many programs for system calls each
    is when it is first run: most are of calls that the traced processes never make. Raises EngineError."""
    ready = []
    proved: dict[tuple[object, ...], Verified] = {}
    calls = any(made.spec.kind == PROG_ARRAY for made in maps.values())
    for_calls = {spec.name for spec in specs if _is_for_calls(spec)}
    late = for_calls if len(for_calls) > _MANY and not calls else frozenset()
    for spec in specs:
        is_stamped = any(stamp.kind == "cookie" for stamp in spec.stamps)
        for served in [(probe,) for probe in spec.probes] if is_stamped else [spec.probes]:
            cookie = served[0].cookie if served else 0
            known = {stamp: cookie if stamp.kind == "cookie" else values(stamp) for stamp in spec.stamps}
            if spec.name in late:
                later = _LaterProgram(spec, maps, environment, known.__getitem__)
                ready.append(ReadyProgram(spec, served, later.run, later.forget))
            else:
                ready.append(
                    ReadyProgram(spec, served, *_run(spec, maps, environment, known.__getitem__, calls, proved))
                )
    return ready


_MANY = 32
"""Programs: so many are ready in a second, which a start may take; the first run of one that is not takes up to 40 ms,
which the call that it is for takes longer."""


def _is_for_calls(spec: ProgramSpec) -> bool:
    """Whether it is one of a D program, made of clauses for system calls alone."""
    return bool(spec.probes) and not spec.variables and all(isinstance(p.firing, Syscall) for p, _ in spec.probes)


class _LaterProgram:
    """A program that is made ready when it is first run."""

    def __init__(
        self, spec: ProgramSpec, maps: Mapping[str, Map], environment: Environment, value: Callable[[Stamp], int]
    ) -> None:
        self._wanted: Callable[[], tuple[Run, Callable[[], None]]] | None = lambda: _run(
            spec, maps, environment, value, False, {}
        )[:2]
        self._run: Run = self._first
        self._forget: Callable[[], None] | None = None

    def run(self, context: int) -> int:
        return self._run(context)

    def _first(self, context: int) -> int:
        assert self._wanted is not None
        self._run, self._forget = self._wanted()
        return self._run(context)

    def forget(self) -> None:
        if self._forget is not None:
            self._forget()
        # They refer to each other otherwise.
        self._wanted = None
        del self._run


_TURNING = frozenset({NUMBERS["loop"], NUMBERS["for_each_map_elem"]})


def _bounded(run: Run, spec: ProgramSpec, environment: Environment) -> Run:
    """A program whose loops by helpers end the session where they take too many turns in one firing."""

    def bounded(context: int) -> int:
        environment.turns = 0
        try:
            return run(context)
        except TurnsError as error:
            line = max(((at, line) for at, line in spec.lines if at <= error.at), default=(0, ""))[1]
            place = line or f"instruction {error.at}"
            most = f"{environment.most_turns:,}"
            raise AbortedError(
                f"program {spec.name} used all {most} turns that the loops of a firing may take, the last at {place}; "
                "-xmaxsteps=0 allows any number"
            ) from None

    return bounded


def _subject(spec: ProgramSpec) -> tuple[object, ...]:
    """All of a program that the verifier looks at."""
    attached = spec.kind, spec.attach_type, spec.attach_to, spec.flags
    return *attached, spec.code, spec.map_references, spec.stamps, spec.btf, spec.variables


def _verified(spec: ProgramSpec, maps: Mapping[str, Map]) -> Verified:
    """The program, proved harmless, with its accesses to the context made the engine's. Raises EngineError."""
    try:
        return verify_here(spec, {name: made.spec for name, made in maps.items()})
    except Refusal as error:
        raise EngineError(f"the verifier refuses program {spec.name}: {error}") from None


def _run(
    given: ProgramSpec, maps: Mapping[str, Map], environment: Environment, value: Callable[[Stamp], int], calls: bool,
    proved: dict[tuple[object, ...], Verified],
) -> tuple[Run, Callable[[], None], programs_loaded.RunnableProgram | None, int]:  # fmt: skip
    # Programs may be alike: those for packets that come and that go.
    subject = _subject(given)
    verified = proved[subject] = proved.get(subject) or _verified(given, maps)
    spec = given._replace(code=encode(verified.code))
    try:
        linked = link(spec, maps, value, environment.functions)
    except LinkError as error:
        raise EngineError(f"cannot load program {spec.name}: {error}") from None
    helpers = make_helpers(called_helpers(spec), environment)
    by_map = helpers_by_map(environment)
    execution = translate(linked, environment.memory, helpers, environment.functions, by_map=by_map)
    if environment.most_turns and called_helpers(spec) & _TURNING:
        execution.run = _bounded(execution.run, given, environment)
    if not spec.variables and not calls and spec.kind != PROBE:
        return execution.run, execution.forget, None, verified.context_end

    loaded = programs_loaded.RunnableProgram(
        environment, spec.kind, execution, spec.variables, verified.context_end,
        not ON_STACK.isdisjoint(verified.context_seen),
    )  # fmt: skip
    return lambda context: loaded.run(context, environment.cookie), execution.forget, loaded, verified.context_end
