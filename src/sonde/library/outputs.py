"""The files that a run writes besides what it prints, and the descriptor of that."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager

from sonde import __version__, written_files
from sonde.captures import file, values
from sonde.library.errors import Error
from sonde.model.named_maps import PERF_RINGS
from sonde.model.options import STANDARD_OUTPUT as STANDARD_OUTPUT
from sonde.model.options import OptionTable
from sonde.model.spec import TracingSpec, has_open_sites
from sonde.recording import file as file_module
from sonde.recording import unseen as recording_unseen
from sonde.session.engines import EMBEDDED
from sonde.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from sonde.captures.file import CaptureFile
    from sonde.recording.file import PerfDataFile


class Files(NamedTuple):
    """Paths, None for those that are not wanted: of records as they are, of packets (pcapng), of samples and records
    (perf.data), and of pictures by their kind; `compared` is what flame graphs are compared with: a profile's path or
    `@` and an aggregation's name."""

    raw: str | None = None
    captures: str | None = None
    recording: str | None = None
    pictures: tuple[tuple[str, str], ...] = ()
    compared: str | None = None


NO_FILES = Files()


def files_of(files: object) -> Files:
    """What a caller gives, with paths as texts. Raises TypeError."""
    if not isinstance(files, Files):
        raise TypeError(f"files are given as sonde.Files(raw=..., captures=...), not {files!r}")
    pictures: object = files.pictures
    if not isinstance(pictures, tuple | list):
        raise TypeError(f"pictures are pairs such as ('flame', 'calls.svg'), not {pictures!r}")
    made = tuple(map(_picture, pictures))
    return Files(_path(files.raw), _path(files.captures), _path(files.recording), made, _path(files.compared))


def _path(path: object) -> str | None:
    if path is None:
        return None
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"a file is given by its path, not {path!r}")
    return os.fsdecode(os.fspath(path))


def _picture(pair: object) -> tuple[str, str]:
    if not (isinstance(pair, tuple | list) and len(pair) == 2 and all(isinstance(part, str) for part in pair)):
        raise TypeError(f"pictures are pairs such as ('flame', 'calls.svg'), not {pair!r}")
    return pair[0], pair[1]


def is_capture(path: str | None) -> bool:
    """Whether an output is a file of packets, by its name."""
    return path is not None and path.lower().endswith(".pcapng")


_TABLES = {".arrow": "arrow", ".parquet": "parquet"}


def settle_format(path: str | None, options: OptionTable) -> None:
    """The name of an output may ask for tables: it sets the option `format`, if nothing else has. `/` behind it stands
    for a folder of them."""
    found = _TABLES.get(os.path.splitext((path or "").rstrip("/"))[1].lower())
    if found is not None and not options.is_set("format"):
        options.set("format", found)


@contextmanager
def opened(path: str | None, what: str, flags: int = os.O_APPEND) -> Iterator[int]:
    """The descriptor to write to: the standard output where there is no path or `-`. A file that is made is for its
    owner. Raises Error."""
    if path is None:
        yield 1
        return

    try:
        descriptor = written_files.create_named(path, flags)
    except OSError as error:
        raise Error(f"failed to open {what}'{path}': {error.strerror}") from None
    try:
        yield descriptor
    finally:
        os.close(descriptor)


OUTPUT = "output file "
"""What messages call the file of -o."""


def emptied(path: str | None, what: str) -> str | None:
    """The path of a file that is written anew. Raises Error."""
    if path is not None:
        with opened(path, what, 0) as descriptor:
            written_files.empty(descriptor)
    return path


def require_apart(written: Iterable[str | None], read: Iterable[str | None]) -> None:
    """Raises Error where a file is to be written that is read meanwhile: what it has would be lost, or come again."""
    inputs = [each for each in read if each]
    for path in filter(None, written):
        if any(_is_same_file(path, each) for each in inputs):
            raise Error(f"'{path}' is read, and cannot be written at once", "give the output another name")


def _is_same_file(one: str, other: str) -> bool:
    try:
        return os.path.isfile(one) and os.path.samefile(one, other)
    except OSError:
        # Whoever opens it says what is wrong.
        return False


@contextmanager
def capture_file(path: str | None, spec: TracingSpec) -> Iterator[file.CaptureFile | None]:
    """The file for the packets that a program captures, if there is a path. Raises Error."""
    if path is None:
        yield None
        return
    # A trace that captures nothing is not to wait for this import.

    if not any(map(values.has_packet, spec.records)):
        text = f"-o {path} is for packets, and the program captures none"
        raise Error(text, "call capture() or pcap() in a clause, or give the output's file another name")
    with opened(path, "capture file ", os.O_TRUNC) as descriptor:
        yield file.CaptureFile(descriptor)


def require_written(packets: CaptureFile | None, path: str | None) -> None:
    """Raises Error if not all could be written."""
    if packets is not None and packets.failure:
        text = f"failed to write capture file '{path}': {packets.failure}"
        raise Error(text, f"it has the first {packets.packets} packets; {packets.lost} more were captured")


@contextmanager
def recording_file(path: str | None, spec: TracingSpec, engine: str) -> Iterator[PerfDataFile | None]:
    """The perf.data file, if there is a path. Raises Error."""
    if path is None:
        yield None
        return
    _require_recordable(engine)
    if has_open_sites(spec):
        text = "probes of processes that are not known yet cannot be recorded"
        raise Error(text, "name the process, python$target with -c or -p, or record with --raw")
    if spec.rings != (PERF_RINGS,):
        text = "this program was compiled to write its records to a BPF ring buffer, where they have no times"
        raise Error(text, "compile it with -xoutput=perf")

    with perf_data_file(path, engine, recording_unseen.unseen(spec)) as made:
        yield made


def _require_recordable(engine: str) -> None:
    """Raises Error."""
    if engine == EMBEDDED:
        raise Error("only what the kernel traces can be recorded", "--engine kernel, with its privileges")


@contextmanager
def perf_data_file(path: str, engine: str, unseen: Collection[int] = ()) -> Iterator[file_module.PerfDataFile]:
    """The file; `unseen` are the layouts of records that perf is not to show. Raises Error."""
    _require_recordable(engine)
    try:
        made = file_module.PerfDataFile(path, __version__, sys.argv, unseen=unseen)
    except file_module.RecordingError as error:
        raise Error(str(error)) from None
    try:
        yield made
    finally:
        made.close()


def complete(recording: PerfDataFile, tell: Callable[[str], None] | None) -> None:
    """End the file, and tell of what it has and lacks. Raises Error if not all could be written."""
    summary = recording.complete()
    if recording.failure:
        text = f"failed to write '{recording.path}': {recording.failure}"
        raise Error(text, "what was recorded before that can be read")
    if recording.undescribed and tell is not None:
        tell(
            f"{recording.path}: perf cannot read it, as the formats of its trace events are missing: "
            f"{recording.undescribed}"
        )
    if summary is not None and tell is not None:
        tell(f"{recording.path}: {summary}")
