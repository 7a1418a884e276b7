"""A perf.data file as a source of firings: `--replay` runs scripts on it.

Samples are firings of the probes that `perf_probes.py` says, with the stacks that they have; what processes map, make
and execute stands among them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from sonde.arch import is_this_machines
from sonde.engines.fired import BY_FRAMES, FOREIGN, Happening, OtherNames, RecordedFiring
from sonde.formats import perf_events as perf
from sonde.formats.perf_data import PerfDataError
from sonde.formats.perf_data_input import FiledSampleOf, PerfDataInput
from sonde.formats.perf_side_band import (
    FileMapped,
    RecordsLost,
    RecordStamp,
    SideBand,
    ThreadEnded,
    ThreadMade,
    ThreadNamed,
)
from sonde.recording.file_progress import progress_of
from sonde.recording.filed_names import RecordedKernel, filed_objects, last_written, names_of
from sonde.recording.perf_probes import FiledProbes
from sonde.recording.running import KERNEL
from sonde.symbols.mappings import Mapping
from sonde.symbols.process_events import Executed, Exited, Forked, Mapped, ProcessEvent
from sonde.symbols.symbolizer import SystemSymbolizer
from sonde.symbols.unwinding.kept_stacks import KeptStacks
from sonde.typed import BinaryIO

_ANONYMOUS = "//anon"


class PerfFirings:
    """The FiringSource of a perf.data file."""

    origin = FOREIGN
    stacks = BY_FRAMES
    process = 0
    descriptors: Sequence[int] = ()

    def __init__(self, file: BinaryIO, path: str) -> None:
        """The file becomes the source's to close. Raises PerfDataError."""
        self.path = path
        self._file = file
        self._input = PerfDataInput(file)
        if not is_this_machines(self._input.architecture):
            raise PerfDataError(
                f"it was recorded on {self._input.architecture}, whose system calls and registers are not known here"
            )
        self._build_ids = {each.path: each.id for each in self._input.build_ids if each.id and not each.is_kernel}
        kernels = (each.id for each in self._input.build_ids if each.is_kernel and each.path.startswith(KERNEL))
        kernel = next(kernels, b"")
        self._kernel = RecordedKernel(kernel)
        self._objects = filed_objects(self._build_ids, kernel.hex(), last_written(file))
        self._stacks = KeptStacks(self._objects)
        self._probes = FiledProbes(self._input, self._stacks)
        why = _why_nothing_fires(self._input, self._probes)
        if why:
            raise PerfDataError(why)
        self.probes = tuple(self._probes.all)
        self.formats = {
            (each.group, each.name): each.format
            for event in self._input.events
            if (each := self._input.described.get(event.config)) is not None
        }
        self.names: tuple[OtherNames, ...] = ()
        first = self._first_time()
        self.began = first
        self.realtime_offset = _realtime_offset(file, self._input, first)
        self.lost = 0
        self.damage = ""
        self.remainder = "what stands before was replayed"
        self.reads_more = False
        self.is_over = False

    @property
    def progress(self) -> tuple[int, int]:
        return progress_of(self._file)

    def file(self, name: str) -> str:
        """perf's files do not tell what lay behind names in /proc."""
        return ""

    def start(self) -> None:
        """All is there already."""

    def finish(self) -> None:
        """The file has an end."""

    def adopt_descendants(self, pid: int) -> None:
        """Nobody is traced."""

    def internal(self, name: str) -> RecordedFiring | None:
        """None: perf has no BEGIN and no END."""
        return None

    def happenings(self) -> Iterator[Happening]:
        """Firings, and what processes do, in the order of time."""
        for value in self._input.values():
            if isinstance(value, FiledSampleOf):
                yield from self._probes.sampled(value.event, value.sample)
                continue
            stamp, told = value
            if isinstance(told, RecordsLost):
                self.lost += told.number
            if isinstance(told, FileMapped):
                self._map(told)
            event = _process_event(stamp, told)
            if event is not None:
                self._stacks.take(event)
                yield event
            yield from self._probes.told(stamp.time, stamp.pid, stamp.tid, stamp.cpu, told)
        self.damage = self._damage()
        self.is_over = True

    def symbolizer(self, demangles: bool) -> SystemSymbolizer:
        """What names the addresses in the file, as far as they have been read and their files are here."""
        return names_of(self._kernel, self._objects, demangles)

    def _map(self, told: FileMapped) -> None:
        if told.pid < 0:
            self._kernel.mapped(told.path, told.offset)
        elif told.build_id:
            self._build_ids[told.path] = told.build_id

    def _first_time(self) -> int:
        """When the first sample was taken, 0 if there is none."""
        return next((each.sample.time for each in self._input.values() if isinstance(each, FiledSampleOf)), 0)

    def _damage(self) -> str:
        found = [self._input.damage]
        if self._input.strange:
            found.append(f"{self._input.strange} of its records make no sense")
        if self._input.is_torn:
            found.append("some of its records are not in the order of time")
        return "; ".join(filter(None, found))

    def close(self) -> None:
        """Closing twice is harmless."""
        self._file.close()


def _why_nothing_fires(file: PerfDataInput, probes: FiledProbes) -> str:
    """Why samples are firings of no probe, "" if they are of some."""
    if any(each.provider != "rawtp" for each in probes.all):
        return ""
    if any(event.type == perf.TYPE_TRACEPOINT for event in file.events) and not file.described:
        return (
            "it does not describe its trace events, as perf does when it ends: was perf killed, or the file cut off? "
            "What their samples have cannot be told without"
        )
    return "" if probes.all else "none of its events is one that there is a probe for"


def _process_event(stamp: RecordStamp, told: SideBand) -> ProcessEvent | None:
    match told:
        case FileMapped(pid=pid) if pid >= 0:
            path = "" if told.path == _ANONYMOUS else told.path
            device = f"{told.device[0]:02x}:{told.device[1]:02x}"
            end = told.start + told.size
            return Mapped(stamp.time, pid, Mapping(
                told.start, end, told.offset, device, told.inode, path, True, told.generation
            ))  # fmt: skip
        case ThreadNamed(by_exec=True):
            return Executed(stamp.time, told.pid)
        case ThreadMade() if told.pid != told.parent:
            return Forked(stamp.time, told.pid, told.parent)
        case ThreadEnded() if told.tid == told.pid:
            return Exited(stamp.time, told.pid)
    return None


def _realtime_offset(file: BinaryIO, found: PerfDataInput, first: int) -> int:
    """The wall clock less the samples' clock, ns: as the file tells, else as if it had been written to the end when its
    last sample was taken, or, of which none is told, its first."""
    if found.clock is not None:
        _, wall, time = found.clock
        return wall - time
    last = found.last_time or first
    return os.fstat(file.fileno()).st_mtime_ns - last if last else 0
