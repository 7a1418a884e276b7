"""What an engine offers the session: objects made from a `TracingSpec`, programs fired, and what they wrote.

The kernel engine does it with bpf(2) and perf_event_open(2). A ring's bytes and a map's contents are the same whatever
engine made them, so the consumer above does not know which one runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from sonde.model.probe import Probe
from sonde.model.spec import TracingSpec
from sonde.typed import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from sonde.model.samples import Samples
    from sonde.symbols.process_events import ProcessEvent


Progress = Callable[[int, int], None]
"""Told now and then of how many things, out of how many, something is done."""


class Ring(Protocol):
    """One ring buffer, in the format of the kernel's BPF_MAP_TYPE_RINGBUF (kernel/bpf/ringbuf.c).

    Records stand one behind the other, as `formats/bpf_ring.py` says.
    """

    def read(self) -> memoryview:
        """All records from the consumer position to the first still BUSY one, empty if none; valid until advance."""

    def advance(self, size: int) -> None:
        """Give `size` bytes back to the producers."""

    def unread(self) -> memoryview:
        """All records that have not been given back, in any order: a look at them changes nothing that `read` has
        given."""


class ProcessEvents(Protocol):
    """What processes map, execute and make, and their ends. `lost` counts what could not be noted."""

    lost: int

    @property
    def descriptors(self) -> Sequence[int]:
        """Readable when there is something to be read."""

    def read(self) -> Sequence[ProcessEvent]:
        """What has happened since the last time, in order."""

    def advance(self, pid: int) -> int | None:
        """Begin another generation of a process, as programs record it, and give its number; None where they record
        none."""


class SiteOfFile(NamedTuple):
    """An instruction of a file, by its offset, that a program is to be fired by with a cookie in every process, and the
    offset of the u16 that counts who listens, 0 if there is none."""

    offset: int
    semaphore: int
    cookie: int


class PacketFeed(Protocol):
    """Packets of the file `path`. `count` have been taken up; `damage` is what is wrong with it behind them, ""
    if nothing."""

    path: str
    count: int
    damage: str

    @property
    def is_over(self) -> bool:
        """Whether there are no more."""


class FiringKeeper(Protocol):
    """What writes a recording (`recording/firing_file.py`). `reads_more`: strings behind arguments and stacks are to be
    in it whether programs ask for them or not. `packet_bytes` are those of a packet that are kept at most."""

    @property
    def reads_more(self) -> bool: ...
    @property
    def packet_bytes(self) -> int: ...
    @property
    def walks_tables(self) -> bool:
        """Whether stacks of processes are walked by tables before they are kept."""

    @property
    def takes_rings(self) -> bool:
        """Whether `ring` may be called: records are kept as they are."""

    def firing(self, record: bytes) -> None: ...
    def ring(self, data: bytes) -> None:
        """Records as they stand in a ring that was read, whole ones."""

    @property
    def can_give_back(self) -> bool:
        """Whether `kept_ring` may be called, of one that takes rings."""

    def kept_ring(self, data: bytes) -> Iterator[bytes]:
        """As `ring`; what it gives reads the same records from the file, one after the other."""

    def event(self, event: ProcessEvent) -> None: ...
    def rest(self) -> None:
        """Nothing more has come: what waits for long is written."""

    def finish(self, lost: int) -> None: ...


class FiringFeed(Protocol):
    """Firings of a recording, which is over when all have been taken up. `sentences` say what programs have asked of it
    in vain, and what would help; `damage` is what is wrong with the file `path`, `remainder` what was replayed of it
    all the same; `lost` are firings that found no room when it was made; `origin` is what made it, as
    `fired.RecordedProbes` has it; `progress` are bytes of the file that were read, and all."""

    @property
    def is_over(self) -> bool: ...
    @property
    def origin(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def damage(self) -> str: ...
    @property
    def remainder(self) -> str: ...
    @property
    def progress(self) -> tuple[int, int]: ...
    @property
    def lost(self) -> int: ...
    def sentences(self) -> list[tuple[str, str]]: ...
    def adopt_descendants(self, pid: int) -> None: ...
    def finish(self) -> None:
        """Of a session that is recorded as it goes: nothing more happens, but for what is on its way."""


class DataSource(Protocol):
    """Where a consumer reads what programs have recorded."""

    @property
    def rings(self) -> Sequence[Ring]:
        """The rings, in the order of the spec."""

    def read_map(self, name: str) -> list[tuple[bytes, bytes]]:
        """All keys and values; a per-CPU value is the values of all possible CPUs, each padded to 8 bytes.

        An element of an array of maps is called as `spec.element_name` says. `spec.SKIPPED` is answered, too, with one
        u64.
        """

    def replace_map(self, name: str) -> list[tuple[bytes, bytes]]:
        """Put an empty map in the place of a replaceable one; return the old one's final contents."""

    def write_map(self, name: str, key: bytes, value: bytes) -> None:
        """Set one element."""

    def remove_from_map(self, name: str, key: bytes) -> None:
        """Delete one element, if it is there."""


class Tracing(DataSource, Protocol):
    """The objects made from one TracingSpec. Closing detaches and frees everything."""

    def heed(self, is_ending: Callable[[], bool]) -> None:
        """Cut loops short from when this says that the session is to end, if this process executes programs."""

    def answer(self, asked: Callable[[], None]) -> None:
        """Call this as soon as a program has asked for something in the map `spec.UNWIND_WANTED`, before it goes on, if
        this process executes programs."""

    def attach(self) -> Sequence[Probe]:
        """Attach every program whose probes the system fires. Of several probes of a program those are left out, and
        given back, that the kernel refuses."""

    def go_over(self, name: str) -> Iterator[None]:
        """Have the program of an iterator run for all there is; rests after some, so that rings do not get full. Raises
        EngineError."""

    def measure(self, program: str, times: int) -> int:
        """Run a program of an internal probe that is measured so often; ns each time. Raises EngineError."""

    def attach_sites(self, program: str, path: str, sites: Sequence[SiteOfFile], pid: int) -> None:
        """Attach a program to places in a file, in a process or, if `pid` is 0, in all, those to come included. Raises
        EngineError."""

    def await_files(self, mapped: Callable[[int], None]) -> bool:
        """Call this with a process that has mapped code of a file, before it executes that; whether the engine can."""

    def process_events(self) -> ProcessEvents | None:
        """Begin to note what processes map, so that their addresses can be named after their end; None if the engine
        cannot."""

    def samples(self) -> Samples | None:
        """The samples that programs let through, None where no program does. There are none before `attach`."""

    def packets(self) -> PacketFeed | None:
        """The packets of a file that programs are run for, None where they are run for those of devices, or none."""

    def firings(self) -> FiringFeed | None:
        """The firings of a recording that programs are run for, None where what happens fires them."""

    def run(self, program: str) -> None:
        """Run a program of an internal probe (BEGIN, END) once, on this CPU, to its end."""

    def restart_timers(self) -> None:
        """From now on the first period of each timer passes: BEGIN's program has run. Once, behind `attach`."""

    def wait(self, timeout: float | None, others: Sequence[int] = ()) -> list[int]:
        """Sleep until a ring has data, one of the `others` (file descriptors) is readable, a signal arrives or
        `timeout` seconds have passed; return those of `others` that are readable."""

    def pause(self, seconds: float, others: Sequence[int] = ()) -> list[int]:
        """Let so many seconds pass, whatever the rings have, while the system goes on firing; less if one of `others`
        is readable or a ring would be full. Return those of `others` that are readable."""

    def adopt_descendants(self, pid: int) -> None:
        """Let the programs know who descends from the process by now, in the map `spec.FAMILY`. Raises EngineError."""

    def close(self, progress: Progress | None = None) -> None:
        """Detach and free everything; `progress` is told of how many probes that is done, where it takes long."""


class Written(NamedTuple):
    """What was read of an array of perf events: the records' bytes, each padded as the kernel pads them, their times in
    ns since 1970, and how many found no room."""

    records: list[bytes]
    times: list[int]
    lost: int


class PerfRecords(Protocol):
    """What programs write to an array of perf events with bpf_perf_event_output."""

    @property
    def descriptors(self) -> Sequence[int]:
        """Readable when there is something to be read; none where the engine's `wait` looks itself."""

    def read(self) -> Written:
        """All records since the last call, in the order of their times."""

    def lost_last(self) -> int:
        """How many found no room behind the last record that did: of those no record tells."""

    def close(self) -> None: ...


class ObjectTracing(Tracing, Protocol):
    """Besides, what only programs of objects need."""

    def perf_output(self, name: str, has_packets: bool = False) -> PerfRecords:
        """What programs write to an array of perf events, through larger rings where packets are in it; the caller's to
        close. Raises EngineError."""

    def program_code(self, name: str) -> list[tuple[int, int]]:
        """Where in the kernel's memory a program's functions are, [start, end) each, as far as that is told."""

    def iterate(self, name: str, map_name: str) -> Iterator[bytes]:
        """What an iterator writes, over the elements of a map unless `map_name` is "". Raises EngineError."""


class Engine(Protocol):
    def load(self, spec: TracingSpec) -> Tracing:
        """Create the maps and load the programs. Raises EngineError."""


class ObjectEngine(Engine, Protocol):
    tells_printed: bool
    """Whether what programs print stands in the map `spec.PRINTED` by itself, and need not be caught."""

    def load(self, spec: TracingSpec) -> ObjectTracing:
        """As `Engine` does."""
