"""Checked program in, `TracingSpec` out: the code generator's front door.

A pure function of the program, the settings, the target and the questions it may ask the catalog: a kernel type by its
tag, the record fields of a trace event, and the type of a kernel function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from sonde.bpf.programs import F_SLEEPABLE, F_XDP_HAS_FRAGS, PERF_EVENT, XDP
from sonde.codegen.basis import outputs, return_places
from sonde.codegen.basis.faults import ERROR_ROUTINE
from sonde.codegen.basis.generation import Generation, Shared
from sonde.codegen.basis.kernels import has_fragments
from sonde.codegen.basis.maps import MOST_MAPS, MapPool
from sonde.codegen.basis.names import fill_names, is_open, name_width
from sonde.codegen.basis.nullable import gather_nullable
from sonde.codegen.basis.return_places import ReturnPlace
from sonde.codegen.basis.settings import Settings
from sonde.codegen.basis.storage import assign_storage
from sonde.codegen.basis.uses import (
    captures,
    gather_keys,
    gather_looked_at,
    gather_replaceable,
    looks_at_packets,
    samples,
)
from sonde.codegen.clauses.bodies import Planned
from sonde.codegen.clauses.descriptions import compiled_once
from sonde.codegen.clauses.turns import has_loops
from sonde.codegen.firings import conditions as firings_conditions
from sonde.codegen.firings import overflow
from sonde.codegen.firings.groups import ProgramGroup, divided, group
from sonde.codegen.firings.internal import InternalContext
from sonde.codegen.intermediate import ir
from sonde.codegen.intermediate.emit import TooLargeError
from sonde.codegen.intermediate.link import SourcePlaces, link, optimize
from sonde.codegen.partial import require_parts
from sonde.codegen.program import called_programs, frames_of, generate, generate_adapter, generate_error_routine
from sonde.codegen.records import aggregation_maps, kept_arrays, value_names
from sonde.codegen.records.parts import Divider, records
from sonde.codegen.routines import catalog
from sonde.model.errors import UNSUPPORTED, Position, SourceError
from sonde.model.named_maps import GENERATION_PLACES, GENERATIONS
from sonde.model.probe import Internal, KernelFunction, Probe, StaticPattern
from sonde.model.program import Aggregation, Clause, Program, Variable
from sonde.model.records import AggregationSpec, ArraySpec, RecordLayout, ShowAction
from sonde.model.spec import MapSpec, ProbeSpec, ProgramSpec, SitesSpec, TracingSpec
from sonde.model.target import Target
from sonde.model.type_table import TypeTable
from sonde.model.types import Type
from sonde.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from sonde.codegen.firings.conditions import Conditions
    from sonde.codegen.firings.function import Signature
    from sonde.codegen.firings.tracepoint import Fields

ERROR = Probe(3, "dtrace", "", "", "ERROR", Internal("ERROR"))
"""The probe that a fault fires."""

KernelType = Callable[[str, str], Type | None]
"""(keyword, tag) -> a kernel structure, union or enumeration."""

Sources = Mapping[str | None, Sequence[str]]
"""File name (None: command line) -> lines."""


def _unknown(probe: Probe) -> None:
    """The type of a function that nobody describes."""


def _has_functions(groups: Sequence[ProgramGroup]) -> bool:
    """Whether there is a program for functions of the kernel and another that is fired as well."""
    firings = [each.context.probes[0].firing for each in groups]
    return any(isinstance(f, KernelFunction) for f in firings) and sum(not isinstance(f, Internal) for f in firings) > 1


def _flags(main: Generation) -> int:
    if main.context.kind == XDP and has_fragments(main):
        return F_XDP_HAS_FRAGS
    return F_SLEEPABLE if any(part.sleeps for part in (main, *main.subprograms.values())) else 0


def _apart(clauses: tuple[Clause, ...], target: Target, records: bool) -> tuple[tuple[Clause, ...], Conditions]:
    """The clauses, and the conditions that adapters look at in their place. Programs that record their firings look at
    the condition by itself as well, as it says which firings there are."""
    if all(clause.condition is None for clause in clauses):
        return clauses, {}

    bare, conditions = firings_conditions.apart(clauses, "general_probes" in target.features)
    if records:
        bare = tuple(each._replace(condition=own.condition) for each, own in zip(bare, clauses, strict=True))
    return bare, conditions


class Compilation:
    """A program laid out for code generation: maps, keys, records; `spec()` generates."""

    def __init__(
        self, program: Program, settings: Settings, target: Target, kernel_type: KernelType, fields: Fields,
        sources: Sources, signature: Signature = _unknown, return_place: ReturnPlace = return_places.unknown,
    ) -> None:  # fmt: skip
        require_parts(program.clauses)
        bare, conditions = _apart(program.clauses, target, settings.records)
        clauses, numbers = compiled_once(bare)
        has_packets = captures(clauses) or (settings.records and looks_at_packets(clauses))
        settings = settings._replace(output=outputs.chosen(settings.output, target, has_packets))
        longest = max((len(text.encode()) for _, text in program.probe_texts), default=0)
        settings = settings._replace(
            longest_text=min(longest, settings.strsize), has_whole_literals=program.has_whole_literals
        )
        self.clauses = clauses
        self.sources = sources
        self._at_end = program.shown
        self.maps = MapPool()
        self.groups = group(clauses, fields, target, signature, return_place, settings.xdp, conditions)
        self.shared = Shared(
            target, settings, self.maps, {}, {}, gather_keys(clauses, settings),
            gather_replaceable(clauses), gather_nullable(clauses),
            dict.fromkeys(program.scratch, True), {}, kernel_type,
            name_width((p for c in clauses for p in c.probes), settings), TypeTable(settings.strsize),
            frames_of(p for c in clauses for p in c.probes), _has_functions(self.groups),
            has_loops(c for c in clauses if ERROR in c.probes), {},
            any(isinstance(p.firing, StaticPattern) for c in clauses for p in c.probes), numbers,
        )  # fmt: skip
        self.shared = self.shared._replace(
            arrays=_kept(self.shared, program),
            looked_at=gather_looked_at(clauses),
            goes_on=program.goes_on,
            follows_lines=program.follows_lines,
            probe_texts=dict(program.probe_texts),
        )
        self._add_maps(settings)
        assign_storage(self.shared, program.variables)
        used = [a for a in program.aggregations if a in self.shared.keys]
        self.numbers: dict[Aggregation, int] = {a: n for n, a in enumerate(used)}
        self.aggregations = _described(self.shared, used, program.is_typed)
        divider = Divider(self.shared, self.numbers, max((c.id for c in program.clauses), default=0) + 1)
        self.planned: list[Planned] = [(clause, divider.divide(clause)) for clause in clauses]
        self._subprograms: dict[str, Generation] = {}

    def _add_maps(self, settings: Settings) -> None:
        self.maps.state()
        self.maps.counters()
        self._carriers = tuple(self.maps.add(each) for each in outputs.maps(settings))

    def spec(self) -> TracingSpec:
        """Raises SourceError where a clause cannot be compiled."""
        programs = tuple(program for each in self.groups for program in self._programs(each))
        fill_names(self.shared)
        settings = self.shared.settings
        arrays = self._arrays()
        return TracingSpec(
            self._used_maps(programs),
            programs,
            self._layouts(),
            self._aggregations(),
            tuple(self.shared.strings),
            tuple(sorted({p for c in self.clauses for p in c.probes} | {ERROR})),
            outputs.rings(settings),
            tuple(self.shared.types.specs),
            outputs.perf_ring_bytes(settings),
            arrays,
            tuple(self._shown()),
        )

    def _shown(self) -> Iterator[ShowAction]:
        """What is shown at the end, of what there is."""
        for of in self._at_end:
            number = self.shared.arrays.get(of) if isinstance(of, Variable) else self.numbers.get(of)
            if number is not None:
                yield ShowAction(number, isinstance(of, Variable))

    def _layouts(self) -> tuple[RecordLayout, ...]:
        names = self.shared.settings.names
        if not (names or captures(self.clauses)):
            return tuple(record.layout for _, parts in self.planned for record in records(parts))

        return tuple(
            layout for _, parts in self.planned for layout in value_names.named_layouts(parts, self.sources, names)
        )

    def _aggregations(self) -> tuple[AggregationSpec, ...]:
        if not (self.shared.settings.names and self.aggregations):
            return self.aggregations

        return value_names.named_keys(tuple(self.numbers), self.aggregations, self.clauses, self.sources)

    def _arrays(self) -> tuple[ArraySpec, ...]:
        """Those that are kept, for the consumer."""
        if not self.shared.arrays:
            return ()

        described = kept_arrays.describe(self.shared)
        if not self.shared.settings.names:
            return described

        return value_names.named_elements(described, self.sources)

    def functions(self) -> list[ir.BpfFunction]:
        """The intermediate form of every program's main function, optimized."""
        return [optimize(self._main(each).b.function) for each in self.groups]

    def _used_maps(self, programs: Sequence[ProgramSpec]) -> tuple[MapSpec, ...]:
        """Maps that some program refers to, and those the session reads."""
        used = {name for program in programs for _, name in program.map_references}
        used |= {program.sites.map for program in programs if program.sites is not None}
        used |= {"state", "counters", *self._carriers} | {name for name, _ in self.shared.aggregations.values()}
        used |= {self.shared.variables[array][0] for array in self.shared.arrays}
        used |= {GENERATION_PLACES} if GENERATIONS in used else set()
        return tuple(spec for name, spec in self.maps.specs.items() if name in used)

    def _programs(self, each: ProgramGroup) -> list[ProgramSpec]:
        """One, or one for each set of clauses where all of them are too many for one."""
        try:
            return [self._program(each)]
        except SourceError:
            parts = divided(each)
            if len(parts) < 2:
                raise
            return [self._program(part) for part in parts]

    def _program(self, each: ProgramGroup) -> ProgramSpec:
        main = self._main(each)
        try:
            self._subprograms = dict(main.subprograms)
            spec = link(each.name, (main.b.function, main.positions), self._part, self._line)
        except TooLargeError as error:
            text = f"the clauses of {each.context.probes[0]} are too large: {error}"
            raise SourceError(UNSUPPORTED, text, each.clauses[0].position) from None
        used = len({name for _, name in spec.map_references})
        if used > MOST_MAPS:
            text = (
                f"the clauses of {each.context.probes[0]} need {used} maps, and a BPF program may use {MOST_MAPS}: "
                "many aggregations share maps only where the sizes of their keys and values are the same"
            )
            raise SourceError(UNSUPPORTED, text, each.clauses[0].position)
        context = main.context
        return spec._replace(
            kind=context.kind,
            attach_type=context.attach_type,
            attach_to=context.attach_to,
            flags=_flags(main),
            probes=() if each.is_called else tuple(ProbeSpec(*attached) for attached in context.index.attachments),
            samples=samples(each.clauses),
            filters=self.shared.settings.records and all(own.condition is not None for own in each.clauses),
            sample_fields=overflow.sample_fields(each.clauses) if context.kind == PERF_EVENT else 0,
            sites=SitesSpec(main.table, context.index.arguments, main.site_masks) if is_open(main) else None,
        )

    def _main(self, each: ProgramGroup) -> Generation:
        """A program's main function."""
        if each.calls is not None:
            self.maps.add(called_programs([group.name for group in self.groups if group.is_called]))
            return generate_adapter(each.name, each.context, each.calls, self.shared, each.condition)
        wanted = {clause.id for clause in each.clauses}
        planned = [p for p in self.planned if p[0].id in wanted]
        return generate(each.name, each.context, planned, self.shared, each.may_defer, each.caller_at)

    def _part(self, name: str) -> SourcePlaces:
        """A subprogram: the ERROR clauses or a routine of the library."""
        if name in self._subprograms:
            made = self._subprograms[name]
            return made.b.function, made.positions
        if name != ERROR_ROUTINE:
            return catalog.routine(name), ()
        errors = [p for p in self.planned if ERROR in p[0].probes]
        made = generate_error_routine(InternalContext(ERROR), errors, self.shared)
        self._subprograms.update(made.subprograms)
        return made.b.function, made.positions

    def _line(self, position: Position) -> str:
        lines = self.sources.get(position.file, ())
        return lines[position.line - 1].strip() if 0 < position.line <= len(lines) else ""


def _described(shared: Shared, aggregations: Sequence[Aggregation], is_typed: bool) -> tuple[AggregationSpec, ...]:
    """The aggregations for the consumer, whose maps are added."""
    if not aggregations:
        return ()

    found = aggregation_maps.describe(shared, aggregations)
    return aggregation_maps.typed(shared, aggregations, found) if is_typed else found


def _kept(shared: Shared, program: Program) -> dict[Variable, int]:
    """The numbers of the arrays that are kept and used."""
    used = [each for each in program.variables if each.kept is not None and each in shared.keys]
    return {variable: number for number, variable in enumerate(used)}
