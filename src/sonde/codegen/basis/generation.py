"""One BPF program while it is generated: what the files that generate its parts share.

Expressions are evaluated through `value` (into a register or constant), `place` (an lvalue's whereabouts),
`string_into` (a string straight into memory) and `branch` (a condition, into jumps), each of which looks up the
function for the kind of node in a table that `codegen/handlers.py` puts together. So the parts import this file, not
each other.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager

from sonde.bpf.helpers import NUMBERS
from sonde.codegen.basis.clause_state import (
    IN_USE,
    STACK_OBJECT,
    STACK_TEMPORARIES,
    Carrying,
    Deferral,
    FaultExit,
    LoopBody,
    OpenRecord,
    Region,
    Scratch,
)
from sonde.codegen.basis.maps import MapPool
from sonde.codegen.basis.places import Memory, Place
from sonde.codegen.basis.settings import Settings
from sonde.codegen.intermediate.builder import Builder
from sonde.codegen.intermediate.ir import Base, CallArgument, Imm, MapDescriptor, Operand, Reg, Slot, SlotAddress
from sonde.model.errors import UNSUPPORTED, Position, SourceError
from sonde.model.firing_record import RESULT
from sonde.model.named_maps import ACTIVE, COUNTERS
from sonde.model.probe import Probe
from sonde.model.program import Aggregation, Clause, Expr, Statement, Variable
from sonde.model.records import Field
from sonde.model.target import Target
from sonde.model.type_table import TypeTable
from sonde.model.types import Type
from sonde.typed import NamedTuple, Protocol

REPLAYS = "replays"
"""The target's feature that firings come from a recording: there is no memory of the kernel's but in its reads."""

RECORDS, RECORD_READS = "records", "record_reads"
"""That programs record their firings, for other scripts as well; and with more than this script asks for."""

RAW_STACKS = "raw_stacks"
"""And this one that stacks are in it as the helper has found them, without what programs add."""

KEPT_RESULTS = frozenset({"get_prandom_u32", "get_numa_node_id"})
"""Helpers whose results belong into the record of a firing."""


class Unsupported(SourceError):  # noqa: N818 - it is a SourceError of a fixed kind
    """The program is right, but this part of the language is not compiled."""

    def __init__(self, what: str, position: Position) -> None:
        super().__init__(UNSUPPORTED, f"{what} is not supported by this engine", position)


class ProbeIndex(NamedTuple):
    """How a program numbers its probes: `places` are the numbers of `Context.probes`, in their order, all less than
    `size`.

    `attachments` are the probes to attach to, each with its cookie. `arguments` is how many arguments of each the
    program's own table has the places of.
    """

    size: int
    places: tuple[int, ...]
    attachments: tuple[tuple[Probe, int], ...]
    arguments: int = 0


class RecordedPacket(NamedTuple):
    """An argument that clauses have recorded as a packet, and how many bytes it has, 0 as long as none has."""

    argument: int
    wanted: Reg


class Context(Protocol):
    """How a kind of firing becomes a probe's arguments: one for each file in `codegen/firings/`."""

    kind: int
    attach_type: int
    attach_to: str | None
    has_kernel_stack: bool
    own_frames: int
    """Frames of a kernel stack that are the program's and its caller's, not the probed code's; -1 where that of the
    probed function is missing."""
    is_user: bool
    """Whether the probed code is that of a process, so that a program may wait for its pages."""
    probes: tuple[Probe, ...]
    index: ProbeIndex

    def enter(self, g: Generation) -> Operand:
        """Code at the start: leave if the firing is not for us; return the index into `probes`."""

    def argument(self, g: Generation, number: int) -> Operand:
        """arg0 ... arg9, 64 bits."""

    def typed_argument(self, g: Generation, number: int, type_: Type) -> Operand | Place:
        """args[number] as the probe has it: a value, or the place of an object."""

    def errno(self, g: Generation) -> Operand:
        """The error number of a system call that is returning, else 0."""

    def is_trusted(self, number: int) -> bool:
        """Whether args[number] is a pointer that programs may load through directly."""


class Handlers(NamedTuple):
    """Functions by the type of the node they are for. Tables that small programs do without are imported when they are
    asked for."""

    values: dict[type, Callable[[Generation, Expr], Operand]]
    places: Callable[[], Mapping[type, Callable[[Generation, Expr], Place]]]
    strings: Callable[[], Mapping[type, Callable[[Generation, Expr, Memory, int], None]]]
    conditions: Callable[[], Mapping[type, Callable[[Generation, Expr, int, int], None]]]
    statements: dict[type, Callable[[Generation, Statement], None]]


class Shared(NamedTuple):
    """What all programs of one compilation have in common. `scratch` has the ids of variables that hold pointers into
    scratch memory. `variables` has the map and offset of each, `aggregations` the map of each and, if that is an array
    of maps, the index there. `frames` is how many scratch frames a CPU has.
    `has_functions`: there are probes of kernel functions, and other programs that may call those. `error_loops`: there
    are loops in clauses of ERROR. `has_open`: some probes are found while tracing. `numbers`: of clauses before several
    descriptions the number that each probe knows, by clause and probe (`codegen/clauses/descriptions.py`). `arrays`:
    those that are kept, with their numbers. `looked_at`: the aggregations whose elements programs look at. `goes_on`:
    clauses do so behind some faults (`codegen/basis/faults.py`). `probe_texts`: as `Program` has them. `statements`:
    the numbers of statements that record, by their places and words. `follows_lines`: as `Program` has it."""

    target: Target
    settings: Settings
    maps: MapPool
    variables: dict[Variable, tuple[str, int]]
    aggregations: dict[Aggregation, tuple[str, int | None]]
    keys: dict[Variable | Aggregation, tuple[tuple[Field, ...], int]]
    replaceable: frozenset[Aggregation]
    nullable: frozenset[Variable]
    scratch: Mapping[int, bool]
    strings: dict[bytes, int]
    kernel_type: Callable[[str, str], Type | None]
    name_width: int
    types: TypeTable
    frames: int
    has_functions: bool
    error_loops: bool
    statements: dict[tuple[object, ...], int]
    has_open: bool = False
    numbers: Mapping[int, Mapping[int, int]] = {}
    arrays: Mapping[Variable, int] = {}
    looked_at: frozenset[Aggregation] = frozenset()
    goes_on: bool = False
    probe_texts: Mapping[int, str] = {}
    follows_lines: bool = False


class Generation:
    """The state of one program's generation."""

    def __init__(self, name: str, context: Context, shared: Shared, handlers: Handlers, parameters: int = 1) -> None:
        self.b = Builder(name, parameters)
        self.context = context
        self.shared = shared
        self.handlers = handlers
        self.positions: list[Position | None] = [None]
        self.locals: dict[Variable, Place] = {}
        self.element_keys: dict[int, tuple[str, Memory]] = {}
        self.subscripts: dict[int, Operand] = {}
        self.writable: dict[int, Memory] = {}
        self.clause: Clause | None = None
        self.probe_index: Operand = Imm(0)
        self.mask_words = 0
        self.numbered: tuple[int, ...] = ()
        """The clauses whose numbers the probe table has, by their ids (`codegen/basis/names.py`)."""
        self.site_masks: tuple[tuple[int, ...], ...] = ()
        """The words of the mask that a site has of each of the probes, where sites are not known yet."""
        # The names of programs differ where they end or begin, in what is behind the first letter.
        self.table = f"probes_{name}" if len(name) < 9 else f"_{name[-14:]}"
        self.in_memory: set[Variable] = set()
        self.leave = self.b.label()
        self.exit = self.b.label()
        self.record: OpenRecord | None = None
        self.scratch = Scratch(reserved=IN_USE)
        self.region_memory: Memory | None = None
        self.region: Region | None = None
        self.carrying: Carrying | None = None
        self.tokens: Memory | None = None
        self.token_start: Reg | None = None
        """Where strtok() went on when the clause last could not be begun again from before
        (`codegen/clauses/deferral.py`)."""
        self.storage_version = 0
        self.fault: FaultExit | None = None
        self.fields: deque[Field] = deque()
        self.is_error_routine = False
        self.may_sleep = False
        self.sleeps = False
        self.activity = ACTIVE
        self.parameters: tuple[Reg, ...] = self.b.function.parameters
        self.finish = 0
        self.returned = 0
        """Where the innermost inlined function ends."""
        self.loop: LoopBody | None = None
        self.turns: Memory | None = None
        self.subprograms: dict[str, Generation] = {}
        self.caller_at: tuple[tuple[int, int], ...] = ()
        """Where the address of a process's function's caller is (`codegen/expressions/callers.py`): ranges of probes,
        each with its end and the place."""
        self.shares_clock = False
        self.clock: Reg | None = None
        self.speculation: Reg | None = None
        self.has_exited: Reg | None = None
        self.sampled: Reg | None = None
        self.result: Operand = Imm(0)
        self.deferral: Deferral | None = None
        self.resumed: Reg | None = None
        """Where a firing that was broken off goes on (`deferral.WHERE`), in the program that does so."""
        self.done: Reg | None = None
        """How far the clause has got, or, where it goes on, had got."""
        self.firing_time: Reg | None = None
        """When the firing happened, in ns, where that is not when its program runs."""
        self.firing_record: Memory | None = None
        """Where the program builds the record of its firing (`codegen/basis/firing_records.py`)."""
        self.firing_packet: RecordedPacket | None = None
        """The packet that belongs to that record, if clauses record one that is an argument."""
        self.kept: set[Hashable] | None = None
        """The pointers that a clause which keeps what it reads has had recorded (`codegen/basis/kept_reads.py`)."""
        self.is_kept_already = False
        """Whether what is being loaded is recorded already."""
        self.meets: Reg | None = None
        """Whether the recorded firing meets the condition of its probe, where all clauses have one."""
        self.lacks: Mapping[str, str] = {}
        """Helpers that programs of this kind may not call, and what that denies to D."""

    @property
    def ctx(self) -> Reg:
        return self.parameters[0]

    # Nodes

    def value(self, expression: Expr) -> Operand:
        """The expression in a register, extended to 64 bits as its type says."""
        outer = self._begin(expression)
        result = self.handlers.values[type(expression)](self, expression)
        self.b.position = outer
        return result

    def _begin(self, expression: Expr) -> int:
        """Where a program goes on behind faults each of these has its place, and where functions are copied an
        expression may be of another line than its statement: code from here on is for the expression. Gives the
        position to go back to."""
        outer = self.b.position
        if self.shared.goes_on or self.shared.follows_lines:
            self.at(expression.position)
        return outer

    def place(self, expression: Expr) -> Place:
        """Where the object that an lvalue denotes is."""
        handler = self.handlers.places().get(type(expression))
        if handler is None:
            raise Unsupported("the address of this expression", expression.position)
        outer = self._begin(expression)
        found = handler(self, expression)
        self.b.position = outer
        return found

    def string_into(self, expression: Expr, memory: Memory, capacity: int) -> None:
        """The string at `memory`: its characters, then zeros up to `capacity` bytes, at least one."""
        outer = self._begin(expression)
        self.handlers.strings()[type(expression)](self, expression, memory, capacity)
        self.b.position = outer

    def branch(self, expression: Expr, then: int, otherwise: int) -> None:
        """Go to `then` if the expression is true, else to `otherwise`."""
        handler = self.handlers.conditions().get(type(expression))
        if handler is not None:
            handler(self, expression, then, otherwise)
        else:
            self.b.branch("ne", self.value(expression), Imm(0), then, otherwise)

    def statement(self, statement: Statement) -> None:
        self.at(statement.position)
        self.handlers.statements[type(statement)](self, statement)

    def at(self, position: Position) -> None:
        """Code from here on is for this source position."""
        if self.positions[-1] != position:
            self.positions.append(position)
        self.b.position = len(self.positions) - 1

    # Helpers and maps

    def call(self, name: str, *arguments: CallArgument, pure: str = "") -> Reg:
        """Call a BPF helper by its name without `bpf_`. Raises SourceError where the program may not."""
        if name in self.lacks:
            text = f"{self.lacks[name]} at {self.context.probes[0]}: the kernel has no bpf_{name} for such programs"
            raise SourceError(UNSUPPORTED, text, self.positions[-1] or Position(None, 1, 1))
        result = self.b.call(NUMBERS[name], *arguments, pure=pure)
        if self.firing_record is not None and name in KEPT_RESULTS:
            self.keep_result(NUMBERS[name], result)
        return result

    def keep_result(self, helper: int, result: Operand) -> None:
        """A helper's result, which no replay could have again, into the record of the firing."""
        assert self.firing_record is not None
        number = self.b.copy(Imm(helper))
        self.routine(
            f"firing_value_{RESULT}", self.address(self.firing_record), number, self.b.copy(Imm(8)),
            self.b.in_register(result),
        )  # fmt: skip

    def routine(self, name: str, *arguments: CallArgument, pure: str = "") -> Reg:
        """Call a subprogram of `routines/`, which is then linked in."""
        return self.b.call_local(name, *arguments, pure=pure)

    def count(self, counter: str) -> None:
        """Add one to a loss counter of this CPU."""
        slot = self.b.slot(8)
        # A whole word, though keys have half of one: what a slot held before matters no more, to the verifier either.
        self.b.store(slot, 0, 8, Imm(0))
        counters = MapDescriptor(self.shared.maps.counters())
        value = self.call("map_lookup_elem", counters, SlotAddress(slot))
        with self.b.when("ne", value, Imm(0)):
            self.b.atomic_add(value, 8 * COUNTERS.index(counter), Imm(1))
        self.b.release(slot)

    def cpu_number(self) -> Reg:
        """The CPU that the firing happened on."""
        helper = "firing_cpu" if REPLAYS in self.shared.target.features else "get_smp_processor_id"
        return self.call(helper, pure="cpu" if helper != "firing_cpu" else "firing cpu")

    def current_task(self) -> Reg:
        """The current thread's task_struct, a trusted pointer."""
        return self.call("get_current_task_btf", pure="task")

    def map_of(self, aggregation: Aggregation, absent: int) -> MapDescriptor | Reg:
        """The map as an argument of a call; goes to `absent` where an array of maps has none for it."""
        name, number = self.shared.aggregations[aggregation]
        if number is None:
            return MapDescriptor(name)
        outer = self.b.slot(8)
        self.b.store(outer, 0, 8, Imm(number))
        found = self.call("map_lookup_elem", MapDescriptor(name), SlotAddress(outer))
        self.b.release(outer)
        self.b.branch("eq", found, Imm(0), absent)
        return found

    def argument_of(self, base: Base, offset: int) -> CallArgument:
        """The address base + offset, as an argument of a call."""
        if isinstance(base, Slot):
            return SlotAddress(base, offset)
        moved = self.b.alu("add", base, Imm(offset))
        assert isinstance(moved, Reg)
        return moved

    def address(self, memory: Memory) -> Reg:
        """The address of memory in a register."""
        if isinstance(memory.base, Slot):
            return self.b.address(memory.base, memory.offset)
        moved = self.b.alu("add", memory.base, Imm(memory.offset))
        assert isinstance(moved, Reg)
        return moved

    # Temporary memory

    def temporary(self, size: int) -> Memory:
        """Memory until the end of the statement: on the stack if small, else in this firing's scratch frame."""
        if size <= STACK_OBJECT and sum(s.size for s in self.scratch.slots) + size <= STACK_TEMPORARIES:
            slot = self.b.slot(size)
            self.scratch.slots.append(slot)
            return Memory(slot, 0)
        return self.framed(size)

    def framed(self, size: int) -> Memory:
        """Temporary memory that is never on the stack: programs may write at offsets known only when they run."""
        if self.scratch.base is None:
            self.scratch.base = self.b.register()
        return Memory(self.scratch.base, self.scratch.take(size))

    @contextmanager
    def released(self) -> Iterator[None]:
        """Temporaries that are taken within the `with` block are free behind it."""
        kept, offset = len(self.scratch.slots), self.scratch.mark()
        yield
        for slot in self.scratch.slots[kept:]:
            self.b.release(slot)
        del self.scratch.slots[kept:]
        self.scratch.back_to(offset)

    def lasting(self, size: int) -> Memory:
        """Scratch memory until the end of the firing, for clause-local objects."""
        if self.scratch.base is None:
            self.scratch.base = self.b.register()
        return Memory(self.scratch.base, self.scratch.keep(size))

    def number_box(self) -> Memory:
        """Eight bytes of scratch memory: what is stored there comes back as a plain number."""
        return self.framed(8)

    def release_temporaries(self) -> None:
        for slot in self.scratch.slots:
            self.b.release(slot)
        self.scratch.slots.clear()
        self.scratch.reset()

    def intern(self, text: bytes) -> int:
        """The number of a string that records name by number."""
        return self.shared.strings.setdefault(text, len(self.shared.strings))
