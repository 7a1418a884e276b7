"""One compiled program run, with the files of -o and --raw."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from sonde.cli.arguments import Arguments
from sonde.cli.destructive import require_allowed
from sonde.cli.endings import require_command, status_of
from sonde.cli.errors import engine_error
from sonde.cli.messages import FatalError, Messages
from sonde.launch import CommandError, GuardianError
from sonde.model.errors import EngineError
from sonde.model.options import OptionTable
from sonde.model.spec import PERF_RINGS, TracingSpec, has_open_sites
from sonde.private_files import STANDARD_OUTPUT, create_named
from sonde.session.engines import EMBEDDED, has_filter, make
from sonde.session.errors import limit_hint
from sonde.session.names import Names
from sonde.session.tracing import Session, Traced
from sonde.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from sonde.captures.file import CaptureFile
    from sonde.cli.pictures import Pictures
    from sonde.consume.raw import RawFile
    from sonde.recording.file import PerfDataFile

_RECORD_OVERHEAD = 40
"""Bytes that dtrace needs in a buffer for a record besides the record itself."""

_MOST_TOLD = 10
"""Objects that are told of which names are missing."""


def _of_filter() -> str:
    """What -v says of the filter that a command gets or does not get."""
    from sonde.engines.embedded.tracer.own_filters import are_any  # of the embedded engine alone

    if are_any():
        return (
            "sonde runs below a seccomp filter, as containers have one: each system call of the command stops, "
            "so that those that the filter refuses are seen"
        )
    return (
        "the command gets a seccomp filter, and no_new_privs with it: setuid programs do not change user, and a "
        "filter of its own cannot notify (-xseccomp=no: no filter)"
    )


def run(
    spec: TracingSpec, destructive: bool, arguments: Arguments, options: OptionTable, messages: Messages,
    traced: Sequence[Traced], engine: str,
) -> int:  # fmt: skip
    """Trace to the end; returns the exit status. `destructive`: there are actions that need -w. Raises FatalError."""
    require_allowed(destructive, options)
    _check_enabling(spec, options)
    require_command(arguments.commands, options)
    if "verbose" in arguments.flags and engine == EMBEDDED and arguments.commands and has_filter(options):
        messages.error(_of_filter())
    _require_apart(arguments)
    names = Names(options, traced[0].pid if traced else 0)
    pictures = _pictures(arguments, spec, names, options, messages)
    text, captures = (None, arguments.output) if is_capture(arguments.output) else (arguments.output, None)
    with (
        opened(text, "output file ") as output, _raw_file(arguments.raw) as raw,
        capture_file(captures, spec) as packets, _recording(arguments, spec, engine) as recording,
    ):  # fmt: skip
        try:
            made = make(engine, options, traced, recording.records if recording else None)
            blocks = [each.block for each in (raw, recording) if each is not None]
            session = Session(spec, made, options, names, traced, output, messages.program, blocks, names,
                              pictures.album if pictures else None, packets, recording)  # fmt: skip
            if options.on("destructive") and not options.on("quiet"):
                messages.error("allowing destructive actions")
            status = session.run().status & 0xFF
            if pictures is not None:
                pictures.write()
            require_written(packets, captures)
            if recording is not None:
                _complete(recording, options, messages)
            return status_of(status, traced, options, messages)
        except EngineError as error:
            raise engine_error(error) from None
        except CommandError as error:
            raise FatalError(str(error)) from None
        except GuardianError as error:
            raise FatalError(f"processing aborted: {error}") from None
        except OSError as error:
            raise FatalError(f"processing aborted: {error.strerror}", hint=limit_hint(error)) from None
        finally:
            _tell_refused(names, messages)
            names.close()
            if pictures is not None:
                pictures.close()


def _tell_refused(names: Names, messages: Messages) -> None:
    """Say of which objects names are missing, as reading them takes too much."""
    refused = names.refused()
    for path, reason in refused[:_MOST_TOLD]:
        messages.error(f"{path}: {reason}: names in it are missing")
    if len(refused) > _MOST_TOLD:
        messages.error(f"so it is with {len(refused) - _MOST_TOLD} more objects")


def _pictures(
    arguments: Arguments, spec: TracingSpec, names: Names, options: OptionTable, messages: Messages
) -> Pictures | None:
    if not arguments.pictures and arguments.flame_diff is None:
        return None
    # A trace without pictures is not to wait for this import.
    from sonde.cli.pictures import Pictures

    return Pictures(arguments, spec, names, options, messages)


def _check_enabling(spec: TracingSpec, options: OptionTable) -> None:
    """What dtrace refuses only when tracing is about to begin."""
    needed = max((layout.size for layout in spec.records), default=0) + _RECORD_OVERHEAD
    if options.is_set("bufsize") and options.number("bufsize", 0) < needed:
        text = "could not enable tracing: Enabling exceeds size of buffer"
        raise FatalError(text, hint=f"a record takes {needed} bytes: give -b a greater size")


def _require_apart(arguments: Arguments) -> None:
    """Records and text do not go to one standard output. Raises FatalError."""
    if arguments.raw == STANDARD_OUTPUT and arguments.output in (None, STANDARD_OUTPUT):
        text = "--raw -: what is printed goes to the standard output, too"
        raise FatalError(text, hint="give what is printed a file with -o")


def is_capture(path: str | None) -> bool:
    """Whether the file of -o is one of packets."""
    return path is not None and path.lower().endswith(".pcapng")


@contextmanager
def capture_file(path: str | None, spec: TracingSpec) -> Iterator[CaptureFile | None]:
    """The file for the packets that a program captures, if there is a path. Raises FatalError."""
    if path is None:
        yield None
        return
    # A trace that captures nothing is not to wait for this import.
    from sonde.captures.file import CaptureFile
    from sonde.captures.values import has_packet

    if not any(map(has_packet, spec.records)):
        text = f"-o {path} is for packets, and the program captures none"
        raise FatalError(text, hint="call capture() or pcap() in a clause, or give the output's file another name")
    with opened(path, "capture file ", os.O_TRUNC) as descriptor:
        yield CaptureFile(descriptor)


def require_written(packets: CaptureFile | None, path: str | None) -> None:
    """Raises FatalError if not all could be written."""
    if packets is not None and packets.failure:
        text = f"failed to write capture file '{path}': {packets.failure}"
        raise FatalError(text, hint=f"it has the first {packets.packets} packets; {packets.lost} more were captured")


@contextmanager
def opened(path: str | None, what: str, flags: int = os.O_APPEND) -> Iterator[int]:
    """The descriptor to write to: the standard output where there is no path or `-`. A file that is made is for its
    owner. Raises FatalError."""
    if path is None:
        yield 1
        return
    try:
        descriptor = create_named(path, flags)
    except OSError as error:
        raise FatalError(f"failed to open {what}'{path}': {error.strerror}") from None
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def _raw_file(path: str | None) -> Iterator[RawFile | None]:
    if path is None:
        yield None
        return
    with opened(path, "raw file ", os.O_TRUNC) as descriptor, open(descriptor, "wb", closefd=False) as file:
        from sonde.consume.raw import RawFile  # an import that most runs do without

        yield RawFile(file)


@contextmanager
def _recording(arguments: Arguments, spec: TracingSpec, engine: str) -> Iterator[PerfDataFile | None]:
    """The file of `sonde record`. Raises FatalError."""
    if arguments.recording is None:
        yield None
        return
    if engine == EMBEDDED:
        raise FatalError("only what the kernel traces can be recorded", hint="--engine kernel, with its privileges")
    if has_open_sites(spec):
        text = "probes of processes that are not known yet cannot be recorded"
        raise FatalError(text, hint="name the process, python$target with -c or -p, or record with --raw")
    if spec.rings != (PERF_RINGS,):
        text = "this program was compiled to write its records to a BPF ring buffer, where they have no times"
        raise FatalError(text, hint="compile it with -xoutput=perf")
    from sonde import __version__
    from sonde.recording.file import PerfDataFile, RecordingError
    from sonde.recording.unseen import unseen

    try:
        made = PerfDataFile(arguments.recording, __version__, sys.argv, unseen=unseen(spec))
    except RecordingError as error:
        raise FatalError(str(error)) from None
    try:
        yield made
    finally:
        made.close()


def _complete(recording: PerfDataFile, options: OptionTable, messages: Messages) -> None:
    """Raises FatalError if not all could be written."""
    summary = recording.complete()
    if recording.failure:
        text = f"failed to write '{recording.path}': {recording.failure}"
        raise FatalError(text, hint="what was recorded before that can be read")
    if summary is not None and not options.on("quiet"):
        messages.error(f"{recording.path}: {summary}")
