"""What the compiler makes and the engines and the consumer take: pure values, printable, comparable, picklable.

A `TracingSpec` holds BPF maps and programs, the layout of each record the programs write, and how aggregations are
kept. It depends only on the D program, the options, the probe catalog and the `Target`, so the same input gives the
same bytes on any machine. Nothing here owns a descriptor.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

from sonde.model.conversions import Conversion
from sonde.model.probe import Internal, KernelIterator, Packet, Probe
from sonde.model.units import whole_words
from sonde.typed import NamedTuple, TypeAlias

# The map `state`: an array of one value, these u32 words.
STATE_ACTIVITY = 0
STATE_STATUS = 1
"""The argument of the last exit()."""

INACTIVE, ACTIVE, DRAINING, STOPPED = range(4)
"""Activity: probes other than BEGIN fire only while ACTIVE; exit() makes it DRAINING, in which END may run."""

# The map `counters`: a per-CPU array of one value, these u64 words, each counted up by the programs.
COUNTERS = (
    "records",
    "aggregations",
    "variables",
    "speculations",
    "busy_speculations",
    "unavailable_speculations",
    "errors",
    "nested",
    "captures",
)
"""What was lost, by name: records that found the ring full, updates of aggregations or dynamic variables that found
their map full, speculative records, faults inside ERROR clauses, firings nested deeper than scratch memory allows,
packets of which less was captured than asked for since a record has no room for more."""

FAMILY = "family"
"""The map of the threads of $target and of all that it has started: task storage, a u64 that is not 0."""

PACKET_LOSSES = "packet_losses"
"""A map that programs which capture packets have: u64 packets that found no room, by u32 probe. Only programs write it,
when that happens."""

WAITING = "waiting"
"""A map of one u64 that programs have whose firings may be broken off: how many have not gone on yet, since their
system calls have not returned."""

SKIPPED = "skipped"
"""Not a map of the spec, but read like one (a u64 without a key): firings that the engine did not run because the same
program was already running on that CPU. With the key LOST_TICKS: ticks that it has no sample of; with LOST_SWITCHES:
changes of threads that it was not told of; with LOST_BREAKPOINTS: breakpoints that could not be where they should."""

LOST_TICKS, LOST_SWITCHES, LOST_BREAKPOINTS = b"ticks", b"switches", b"breakpoints"

FAULTS = {
    1: "invalid address",
    2: "invalid alignment",
    3: "illegal operation",
    4: "divide-by-zero",
    5: "out of scratch space",
    6: "invalid kernel access",
    7: "invalid user access",
    8: "tuple stack overflow",
    9: "bad stack",
    10: "invalid size",
    11: "index out of bounds",
    1000: "library-level fault",
    13: "more iterations than maxloop allows",
    14: "loops took longer than a second",
    15: "not in the recording",
}
"""DTRACEFLT_* codes, and three of ours, 13 to 15; any other is an unknown fault."""

UNRECORDED = 15
"""The fault that a replay reports in the place of another where the recording is what lacks something: ERROR clauses
see the other."""

FAULT_CLAUSE = 0
"""The clause number of the record that reports a fault: after the header u32 clause, u32 probe, i64 pc, u64 code, u64
value. Its own probe is ERROR."""

HEADER_SIZE = 16
"""Every record begins with u32 layout, u32 probe, u32 cpu, u32 speculation."""
PROBE_AT, CPU_AT, SPECULATION_AT = 4, 8, 12

SPECULATIONS, SPECULATION_COUNTS = "speculations", "spec_counts"
"""Maps with an element for each speculation, by number; 0 is none.

The first has a u64 state: the programs go from FREE over CLAIMED and SPECULATING to CLOSED, only the consumer from
there back to FREE. The second has u64 records written with that number since tracing began, without those that were
given up again, and u64 bytes written since the speculation was taken; only programs write it.
"""

PERF_RINGS, WRITING = "perf_rings", "writing"
"""Maps by which records come through perf rings: the array of perf events that `TracingSpec.rings` then names, and one
with a u64 for each CPU, how many records are about to be written there, one within the other. Only programs write it.
"""

PRINTED, PRINTED_LOST = "printk.ring", "printk.lost"
"""Maps for what programs of objects print: a ring buffer of `PRINTED_RECORD`, the text behind it, and, behind
PRINTED_ROOM bytes for that, the addresses of the kernel's stack; and an array of a u64, texts without room there."""

PRINTED_RECORD, PRINTED_ROOM = struct.Struct("=qq"), 1024
"""The length of the text with its NUL, and the bytes of the stack, or in place of each -errno."""

FREE, CLAIMED, SPECULATING, CLOSED, COMMITTED, DISCARDED = range(6)
"""States of a speculation: CLAIMED is being prepared, CLOSED was committed or discarded and waits for the consumer. So
do COMMITTED and DISCARDED, of which no record tells: the ring had no room for it."""


UNWIND_PROCESSES, UNWIND_MAPPINGS, UNWIND_FILES, UNWIND_WANTED, UNWIND_CUT = (
    "unwind_process", "unwind_mapping", "unwind_file", "unwind_wanted", "unwind_cut"
)  # fmt: skip
"""Maps by which user stacks are walked without frame pointers, which the session fills
(`symbols/unwinding/unwind_tables.py`).

Where programs can look at a process's mappings themselves, the third has the u32 number of an object for each file, by
u64 inode, u64 and u32 seconds and nanoseconds of its last change, u32 device in between (`UNWIND_FILE`). Elsewhere the
first has for each process, by u64 number, u32 first and u32 count of its entries in the second; that has pages of
entries by address, u64 start, u64 end, u64 that turns addresses into file offsets, u32 number of the object. The
fourth is written by programs: a file that is not known, with u64 process and u64 address at which that has it, or u64 1
for a process of which something is not known. The last counts the stacks for which a table was not there (u64).
"""

UNWIND_FILE = struct.Struct("<QQII")
"""Inode, seconds of its last change, device as the kernel numbers it, nanoseconds of the change; all 0 for the vdso."""

UNWIND_OBJECTS, UNWIND_BLOCKS, UNWIND_ROWS, UNWIND_RULES = (
    "unwind_object", "unwind_block", "unwind_row", "unwind_rule"
)  # fmt: skip
"""The tables of objects: for each u32 number what `UNWIND_OBJECT` has, and pages of what `symbols/dwarf/unwind_rows.py`
makes. Number 0 is an object without any. In the last pages of rows are frame descriptions as they are in files, of
objects whose rows are still being made, where programs look at mappings themselves."""

UNWIND_OBJECT = struct.Struct("<IIIIIIqqqqII")
"""First row, first block, count of blocks, first rule. Of an object without rows: the first pair of addresses of its
descriptions, and how many there are; what turns file offsets into addresses as pairs have them, counted from -2^31;
the place from which pairs count descriptions; and those of the two beginnings that signals' frames and outermost ones
have in common, -1 if there are none. And the number of the interpreter of Python in it (`python_frames.py`), 0 if
there is none."""

UNWIND_PAGE = 4096
"""Bytes of entries in an element of an array of pages."""


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


SITES = 8192
"""Sites of static probes that a program of all processes can have."""

NAMES_MAP, NAMES_ROOM = "names", 16384
"""The map of interned strings, for names that an expression needs as characters, and the elements in it for names that
are found while tracing."""

SITE_ARGUMENT = 24
"""Bytes in a row of sites that say where an argument is: u8 how (ABSENT: it is 0; VALUE; MEMORY: at the address that
follows; UNKNOWN: it cannot be had), u8 bytes less one, u8 bits above it, u8 is signed, u8 shift of the second register,
u8 bits below it, u16 offsets of two registers in struct pt_regs (NO_REGISTER: none), six bytes of zeros, and i64 what
is added to them."""

ABSENT, IS_VALUE, IN_MEMORY, UNKNOWN = range(4)
NO_REGISTER = 0xFFFF


class SitesSpec(NamedTuple):
    """The table of a program for sites that are found while it runs: its map has one value with SITES rows: u32
    identifier of the probe, u32 numbers of its provider's name without the process, module, function and name, the
    u32 words of the mask, zeros up to a multiple of 8, and `arguments` places of arguments. The attach cookie of a site
    is the number of its row. `masks` has the words for each of the program's probes; a site has the bits of all that
    match it."""

    map: str
    arguments: int
    masks: tuple[tuple[int, ...], ...]


def sites_row_size(words: int, arguments: int) -> int:
    """Bytes of a row with so many words of a mask and arguments."""
    return whole_words(20 + 4 * words) + SITE_ARGUMENT * arguments


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


LITERAL = "literal"
TYPED = " #"


class Field(NamedTuple):
    """One value in a record or an aggregation key, `size` bytes at `offset`.

    `kind` is
      `int`          an integer of that size, `signed` or not;
      `string`       characters up to the first NUL, zeros after it;
      `interned`     u32, an index into `TracingSpec.strings`;
      `long_string`  u32 offset from the record's start, u32 length: bytes behind the fixed part;
      `long_bytes`   the same, of bytes that may be zero;
      `bytes`        anything else, shown raw;
      `stack`        u64 kernel addresses, 0 after the last;
      `ustack`       u64 process (its id, in the upper half the vdso's page: docs/records.md), then u64 user
                     addresses, 0 after the last;
      `symbol`       u64 kernel address;     `user_symbol`  the same u64, u64 address;
      `named`        i64 number, which `detail` names a table for; `noted`  memory of a process as `model/readings.py`
                     says: `detail` is its form, bytes and number of elements.
    For the four before these `detail` says what is wanted: `sym`, `func`, `mod`, `usym`, `ufunc`, `umod`, `uaddr`, the
    string size of a ustack, or how many frames of a stack to show: the first ones of it may be the tracepoint's own.
    That of `bytes` that printf() shows begins with the name of their structure, if they are one; behind TYPED is the
    number of their type. That of a `string` is LITERAL where it can only be characters of the program's source.
    """

    offset: int
    size: int
    kind: str
    signed: bool = False
    detail: str = ""


class TraceAction(NamedTuple):
    field: Field


class TracememAction(NamedTuple):
    """`dynamic` is a Field with the number of bytes to show, or None."""

    field: Field
    dynamic: Field | None = None


class PacketAction(NamedTuple):
    """A packet of a network: `time` in ns since 1970, its true `length`, how many of its bytes are in `data`, and the
    link type of its beginning (https://www.tcpdump.org/linktypes.html). `data` is `bytes`, or `long_bytes` that the
    kernel has appended to the record; `captured` is then a part of that field."""

    time: Field
    length: Field
    captured: Field
    link: Field
    data: Field


class CaptureAction(NamedTuple):
    """capture(): a packet whose bytes the kernel has appended to the record: `time` in ns since 1970 (8 bytes), the
    packet's true `length` (4 bytes), and `data`, a `long_bytes`, what was captured of it. The probe says which way it
    went, and where."""

    time: Field
    length: Field
    data: Field


class PrintfAction(NamedTuple):
    conversions: tuple[Conversion, ...]
    fields: tuple[Field, ...]


class PrintAction(NamedTuple):
    """A typed dump: `type` is an index into `TracingSpec.types`.

    `object` has the value's bytes, as many as were recorded, or its text if it is a string; `address` the address it
    was read from, None for a value that has none. `label` is the name of the variable that the value is shown as, if
    it is.
    """

    type: int
    object: Field
    address: Field | None = None
    label: str = ""


class PrintaAction(NamedTuple):
    """`aggregations` are indexes into `TracingSpec.aggregations`."""

    conversions: tuple[Conversion, ...] | None
    aggregations: tuple[int, ...]


class ShowAction(NamedTuple):
    """An aggregation, or an array that is kept, by its index in `TracingSpec.aggregations` or, `is_array`,
    `TracingSpec.arrays`. Of its rows only the last `top`, their values divided by `divisor`, where there are these."""

    number: int
    is_array: bool
    top: Field | None = None
    divisor: Field | None = None


class ExitAction(NamedTuple):
    field: Field


class ClearAction(NamedTuple):
    aggregation: int


class EmptyAction(NamedTuple):
    """All elements of an array that is kept, by its index in `TracingSpec.arrays`, are deleted or, with `keeps_keys`,
    become zero."""

    array: int
    keeps_keys: bool


class TruncAction(NamedTuple):
    """`keep` None removes all keys."""

    aggregation: int
    keep: Field | None


class NormalizeAction(NamedTuple):
    """`factor` None takes normalization back."""

    aggregation: int
    factor: Field | None


class SetOptionAction(NamedTuple):
    name: Field
    value: Field | None


class CommandAction(NamedTuple):
    """`system` or `freopen` with its formatted argument."""

    name: str
    conversions: tuple[Conversion, ...]
    fields: tuple[Field, ...]


class OtherAction(NamedTuple):
    """An action the consumer carries out by name: `commit` and `discard` (fields: the speculation, and how many
    records the programs have written with its number so far), `ftruncate` ..."""

    name: str
    fields: tuple[Field, ...]


Action: TypeAlias = (
    TraceAction | TracememAction | PrintfAction | PrintAction | PrintaAction | ShowAction | ExitAction | ClearAction
    | EmptyAction
    | PacketAction | CaptureAction | TruncAction | NormalizeAction | SetOptionAction | CommandAction | OtherAction
)  # fmt: skip


class RecordLayout(NamedTuple):
    """A record: `size` bytes of fixed part (header included) and what to do with it, in order.

    `number` is what its header begins with. `clause` is the clause that writes it: the two are the same for the first
    record of a clause, and the further ones, which a clause with branches has, are numbered behind the clauses. What
    records nothing writes no record and has no layout. `is_default` marks the empty clause, which only shows its
    header line. `names` are what the source calls the values before capture(), or, if wanted, all of them, "" where it
    does not say. `time`: u64, the firing's `timestamp`, where it is wanted of all records. `others` are probes of
    other descriptions of the clause, each with the clause's number there.
    """

    number: int
    size: int
    actions: tuple[Action, ...]
    is_default: bool = False
    clause: int = 0
    names: tuple[str, ...] = ()
    time: Field | None = None
    others: tuple[tuple[int, int], ...] = ()

    def clause_of(self, probe: int) -> int:
        """The clause's number where that probe, by its identifier, has fired."""
        return dict(self.others).get(probe, self.clause)


class AggregationSpec(NamedTuple):
    """How one aggregation is kept: map `map`, keys at the offsets of `keys`, `words` u64 words a value.

    Values start at zero and only grow, one instance per CPU, so that reading never loses a count; what the words are
    for each function is in `model/aggregating.py`.
    `replaceable`: the map is an element of an array of maps and may be replaced by an empty one as a whole.
    An aggregation without keys is an array of one element, which is there from the start. Where its words may all be
    zero though it has been used, one more stands behind them, which is then not zero. `key_types` are indexes into
    `TracingSpec.types`, where the keys' types are wanted, `key_names` the source texts of their parts, "" where it does
    not say, none where they are not wanted. `title` is what it shows, in words, "" where the program does not say.
    """

    name: str
    function: str
    parameters: tuple[int, ...]
    keys: tuple[Field, ...]
    key_size: int
    words: int
    map: str
    replaceable: bool
    key_types: tuple[int, ...] = ()
    key_names: tuple[str, ...] = ()
    title: str = ""


class ArraySpec(NamedTuple):
    """An associative array that is kept: map `map`, keys at the offsets of `keys`, a value at the start of the map's.
    `key_types` and `type` are indexes into `TracingSpec.types`; `key_names` as an aggregation's."""

    name: str
    keys: tuple[Field, ...]
    key_types: tuple[int, ...]
    key_size: int
    value: Field
    type: int
    map: str
    key_names: tuple[str, ...] = ()


class MemberSpec(NamedTuple):
    """A member of a structure or union: type by number, `offset` in bits; `bits` is 0 unless it is a bit-field.

    An anonymous structure or union has the name "".
    """

    name: str
    type: int
    offset: int
    bits: int = 0


class TypeSpec(NamedTuple):
    """A C type as print() shows it; `name` as C spells it, an anonymous one by its keyword alone.

    `kind` is
      `integer`   of that `size`, `signed` or not;
      `char`      a character;
      `float`     of that size (of 16 bytes the processor's own); `quad`, `bfloat` IEEE's of 16 and the short one of 2
                  bytes;
      `complex`   two of half the size;
      `enum`      whose `values` are (name, number) pairs;
      `pointer`   shown as an address: what it points to is not described, so no type contains itself;
      `string`    a D string;
      `array`     of `size` bytes, its elements of type number `element`;
      `struct`    a structure or union with its `members`;
      `opaque`    anything else, of which only the name is shown.
    """

    kind: str
    name: str
    size: int
    signed: bool = False
    element: int = 0
    values: tuple[tuple[str, int], ...] = ()
    members: tuple[MemberSpec, ...] = ()


class TracingSpec(NamedTuple):
    """Everything an engine needs to trace and a consumer to understand what comes back.

    `programs` are attached in order; those whose probe's firing is Internal are run by hand. `rings` names the map of
    the ring buffers (one map, an array of maps indexed by CPU, or an array of perf events, whose rings have
    `ring_bytes` each). `probes` are all probes by identifier. `types` are those that print() shows and all that they
    consist of. `shown` are the actions when all is over; those of no record have no fields.
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


def has_user_addresses(spec: TracingSpec) -> bool:
    """Whether the report may ask for names in a process."""
    groups = [aggregation.keys for aggregation in spec.aggregations] + [array.keys for array in spec.arrays]
    actions = [action for layout in spec.records for action in layout.actions]
    groups += [(action.field,) for action in actions if isinstance(action, TraceAction)]
    groups += [action.fields for action in actions if isinstance(action, PrintfAction)]
    groups += [(array.value,) for array in spec.arrays]
    groups += [(action.object,) for action in actions if isinstance(action, PrintAction)]
    if any(field.kind in ("ustack", "user_symbol") for group in groups for field in group):
        return True
    if any(each in field.detail for group in groups for field in group for each in OF_PROCESSES):
        return True
    formats = [action.conversions or () for action in actions if isinstance(action, (PrintfAction, PrintaAction))]
    return any(conversion.letters == "A" for format_ in formats for conversion in format_)


def has_samples(spec: TracingSpec) -> bool:
    """Whether any program may let samples of perf events through."""
    return any(program.samples for program in spec.programs)
