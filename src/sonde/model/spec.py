"""What the compiler makes and the engines take: pure values, printable, comparable, picklable.

A `TracingSpec` holds BPF maps and programs, the layout of each record the programs write (`model/records.py`), and how
aggregations are kept. It depends only on the D program, the options, the probe catalog and the `Target`, so the same
input gives the same bytes on any machine. Nothing here owns a descriptor.
"""

from __future__ import annotations

from collections.abc import Iterable

from sonde.model.probe import Internal, KernelIterator, Packet, Probe
from sonde.model.records import (
    Action,
    AggregationSpec,
    ArraySpec,
    CommandAction,
    Field,
    PrintaAction,
    PrintAction,
    PrintfAction,
    RecordLayout,
    ShowAction,
    TraceAction,
    TypeSpec,
)
from sonde.model.report_texts import ReportTexts
from sonde.typed import NamedTuple


class MapSpec(NamedTuple):
    """A BPF map. `kind` is enum bpf_map_type; `inner` is the template of a map of maps.

    `contents` are set at creation, `frozen` makes it read-only to everyone from then on. `typed` asks for BTF key and
    value types, which local storage needs. `by_cpu` means `max_entries` elements for each possible CPU of the
    machine that loads it: `any` nothing more, `chip` one element with the u32 number of the CPU's physical package.
    `elements` name what is in a map of maps, or the programs in an array of programs, by u32 keys; a map of maps where
    they are None has a map of its own, made from `inner`, for each key.
    """

    name: str
    kind: int
    key_size: int
    value_size: int
    max_entries: int
    flags: int = 0
    inner: MapSpec | None = None
    contents: tuple[tuple[bytes, bytes], ...] = ()
    frozen: bool = False
    typed: bool = False
    by_cpu: str = ""
    elements: tuple[tuple[int, str], ...] | None = None


def element_name(name: str, index: int) -> str:
    """What `read_map` and the like call an element of an array of maps: the first by the array's own name."""
    return f"{name}[{index}]" if index else name


class Stamp(NamedTuple):
    """A number that only the machine knows where the program is loaded: the LD_IMM64 at instruction `at` gets it.

    `kind` is
      `cookie`             the cookie of the one probe served, where the kind of firing has no attach cookie: the
                           program is then loaded once for each probe;
      `realtime_offset`    wall clock minus CLOCK_MONOTONIC, in ns;
      `namespace_device`, `namespace_inode`
                           sonde's pid namespace, as stat(2) has it; both 0 where it is the initial one;
      `symbol`             the address of the kernel's symbol `name`, written module`symbol;
      `target`             the process of -c or -p, 0 if there is none;
      `tracer`             sonde's own process.
    """

    at: int
    kind: str
    name: str = ""


class FetchStep(NamedTuple):
    """One step on the way to a variable; all work on one 64-bit number, which begins as 0.

    `operation` is
      `register`     the number is the user register at offset `operand` of struct pt_regs;
      `constant`     the number is `operand`;
      `offset`       `operand` is added;
      `dereference`  the number is the unsigned one of `operand` bytes (1, 2, 4, 8) in the process's memory at it;
      `shift`        the number's lowest `operand` bits are gone, the others follow (a multiple of 8 below 64);
      `extend`       the number's lowest `operand` bytes (1, 2, 4) are a signed number.
    """

    operation: str
    operand: int


class Fetch(NamedTuple):
    """A variable at a probe's place: `size` bytes at `offset` of the program's buffer.

    What `steps` lead to is, by `kind`, the `value` itself (its lowest bytes), the address of as many bytes of `memory`,
    or the address of a `string`: characters, a NUL, and zeros.
    """

    offset: int
    size: int
    kind: str
    steps: tuple[FetchStep, ...]


class VariablesSpec(NamedTuple):
    """What the helper fetch_variables fetches in a program that was fired with this cookie."""

    cookie: int
    fetches: tuple[Fetch, ...]


def buffer_size(variables: Iterable[VariablesSpec]) -> int:
    """How many bytes of buffer the helper fetch_variables needs for any of them."""
    return max((each.offset + each.size for one in variables for each in one.fetches), default=0)


class ProbeSpec(NamedTuple):
    """One firing that a program serves: every probe that it makes happen, and the attach cookie."""

    probe: Probe
    cookie: int


class SitesSpec(NamedTuple):
    """The table of a program for sites that are found while it runs: its map has one value with SITES rows: u32
    identifier of the probe, u32 numbers of its provider's name without the process, module, function and name, the
    u32 words of the mask, zeros up to a multiple of 8, and `arguments` places of arguments. The attach cookie of a site
    is the number of its row. `masks` has the words for each of the program's probes; a site has the bits of all that
    match it."""

    map: str
    arguments: int
    masks: tuple[tuple[int, ...], ...]


class ProgramSpec(NamedTuple):
    """A BPF program. `kind` is enum bpf_prog_type, `attach_type` enum bpf_attach_type.

    `code` is a sequence of struct bpf_insn. `map_references` pairs instruction indexes (of LD_IMM64, whose source
    register tells descriptor from direct value) with map names, `stamps` are the numbers to be put in when it is
    loaded. `attach_to` names the BTF typedef a tp_btf program is for. `btf`, `func_info`, `line_info`, `license` and
    `flags` are what BPF_PROG_LOAD takes. `lines` pairs instruction indexes with source positions "file:line" for
    listings. `variables` are those that can be fetched where it is fired. `samples`: it may let the sample of the perf
    event that fires it through, so that somebody wants to read those; `sample_fields` are the bits of attr.sample_type
    for what it reads of such a sample, which perf has only where it is asked for. `sites`: it serves sites
    that are found while tracing. `filters`: it records firings, and only those
    that meet the condition of its probes.
    """

    name: str
    kind: int
    attach_type: int
    code: bytes
    map_references: tuple[tuple[int, str], ...]
    probes: tuple[ProbeSpec, ...]
    stamps: tuple[Stamp, ...] = ()
    attach_to: str | None = None
    btf: bytes = b""
    func_info: bytes = b""
    line_info: bytes = b""
    lines: tuple[tuple[int, str], ...] = ()
    variables: tuple[VariablesSpec, ...] = ()
    license: str = "GPL"
    flags: int = 0
    samples: bool = False
    sample_fields: int = 0
    sites: SitesSpec | None = None
    filters: bool = False


class SourceFunction(NamedTuple):
    """A function of the source, of a language that has some: its file, first and last line, and its clauses."""

    name: str
    file: str
    first: int
    last: int
    clauses: tuple[int, ...]


class TracingSpec(NamedTuple):
    """Everything an engine needs to trace and a consumer to understand what comes back.

    `programs` are attached in order; those whose probe's firing is Internal are run by hand. `rings` names the map of
    the ring buffers (one map, an array of maps indexed by CPU, or an array of perf events, whose rings have
    `ring_bytes` each). `probes` are all probes by identifier. `types` are those that print() shows and all that they
    consist of. `shown` are the actions when all is over; those of no record have no fields. `language` is the one in
    whose layouts text is (`frontends/languages.py`), and `texts` are what these show besides.
    `functions` are those that messages about faults name. `is_filed`: it was read from a file, and its programs may
    record something else than it says.
    """

    maps: tuple[MapSpec, ...]
    programs: tuple[ProgramSpec, ...]
    records: tuple[RecordLayout, ...]
    aggregations: tuple[AggregationSpec, ...]
    strings: tuple[bytes, ...]
    probes: tuple[Probe, ...]
    rings: tuple[str, ...] = ("ring",)
    types: tuple[TypeSpec, ...] = ()
    ring_bytes: int = 0
    arrays: tuple[ArraySpec, ...] = ()
    shown: tuple[ShowAction, ...] = ()
    language: str = "d"
    texts: ReportTexts | None = None
    is_filed: bool = False
    functions: tuple[SourceFunction, ...] = ()


def devices(spec: TracingSpec) -> list[str]:
    """The network devices whose packets fire programs."""
    firings = [probe.firing for program in spec.programs for probe, _ in program.probes]
    return sorted({firing.device for firing in firings if isinstance(firing, Packet)})


def fires_elsewhere(spec: TracingSpec) -> bool:
    """Whether anything but packets, and the session itself, fires programs."""
    firings = [probe.firing for program in spec.programs for probe, _ in program.probes]
    return not all(isinstance(firing, (Internal, Packet)) for firing in firings)


def has_open_sites(spec: TracingSpec) -> bool:
    """Whether a program serves static probes that are found while tracing."""
    return any(program.sites is not None for program in spec.programs)


def is_iterated(program: ProgramSpec) -> bool:
    """Whether an iterator of the kernel fires the program, once."""
    firings = (each.probe.firing for each in program.probes)
    return any(isinstance(firing, KernelIterator) and not firing.pin for firing in firings)


def is_internal(program: ProgramSpec) -> bool:
    """Whether the session itself fires the program."""
    return all(isinstance(each.probe.firing, Internal) for each in program.probes)


OF_PROCESSES = ("ustack", "usym")
"""In the names of structures that have addresses of processes."""


def is_of_process(field: Field) -> bool:
    """Whether the value has addresses of a process, with its number."""
    return field.kind in ("ustack", "user_symbol") or any(each in field.detail for each in OF_PROCESSES)


def shown_fields(action: Action) -> tuple[Field, ...]:
    """The fields that an action shows, as far as they may have names."""
    match action:
        case TraceAction():
            return (action.field,)
        case PrintfAction() | CommandAction():
            return action.fields
        case PrintAction():
            return (action.object,)
    return ()


def has_user_addresses(spec: TracingSpec) -> bool:
    """Whether the report may ask for names in a process."""
    groups = [aggregation.keys for aggregation in spec.aggregations] + [array.keys for array in spec.arrays]
    actions = [action for layout in spec.records for action in layout.actions]
    groups += map(shown_fields, actions)
    groups += [(array.value,) for array in spec.arrays]
    if any(is_of_process(field) for group in groups for field in group):
        return True
    formats = [action.conversions or () for action in actions if isinstance(action, (PrintfAction, PrintaAction))]
    return any(conversion.letters == "A" for format_ in formats for conversion in format_)


def has_samples(spec: TracingSpec) -> bool:
    """Whether any program may let samples of perf events through."""
    return any(program.samples for program in spec.programs)
