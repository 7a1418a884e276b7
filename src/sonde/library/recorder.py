"""The programs that record a script's firings in the kernel (`--record`), and the file that they are kept in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress

from sonde.engines.embedded.sources import firing_tap
from sonde.engines.fired import AS_BYTES, BY_FRAMES, BY_TABLES, EMBEDDED, KERNEL, OtherNames
from sonde.library.errors import CompileError, Error, as_errors
from sonde.library.kept_files import kept_file, read_again
from sonde.machine import release
from sonde.machine.system import monotonic_ns, realtime_offset
from sonde.model.options import OptionTable
from sonde.model.probe import Probe, StaticPattern, Tracepoint
from sonde.model.program import Act, Call, Clause, ProbeVariable
from sonde.model.spec import TracingSpec, has_user_addresses
from sonde.model.walk import nodes
from sonde.recording import trace_events
from sonde.recording.anonymity import KINDS, PATHS
from sonde.recording.firing_file import VERSION, FiringFile, RecordingHead
from sonde.recording.kernel_place import kernel_place
from sonde.recording.probe_names import other_names
from sonde.recording.probed_files import ProbedFile, probed_files
from sonde.session.engines import kernel_engine
from sonde.session.recorded_kernel import KernelFirings, ProbePlaces
from sonde.session.traced import Traced
from sonde.typed import NamedTuple

_ELSEWHERE = {"sample": "they have a file of their own: `sonde record`, which --replay takes"}
_UNRECORDED = {"sample": "samples of perf events"}


class DescribedSource(NamedTuple):
    """As much of a source of firings as it takes to compile for it."""

    origin: str
    probes: tuple[Probe, ...]
    process: int
    formats: dict[tuple[str, str], str]
    names: tuple[OtherNames, ...]
    stacks: str = BY_FRAMES

    def file(self, name: str) -> str:
        """Processes run as they are recorded."""
        return name


class FiringRecorder(NamedTuple):
    """The spec of the recording programs."""

    spec: TracingSpec
    process: int
    names: tuple[OtherNames, ...]

    def described(self) -> DescribedSource:
        return DescribedSource(KERNEL, tuple(ProbePlaces(self.spec).probes), self.process, {}, self.names)


def firing_recorder(spec: TracingSpec, process: int) -> FiringRecorder:
    """Of the programs that record, and the process that is $target."""
    return FiringRecorder(spec, process, other_names(ProbePlaces(spec).probes))


def require_recordable(clauses: Sequence[Clause]) -> None:
    """Raises CompileError for what no recording can hold."""
    for clause in clauses:
        for probe in clause.probes:
            if isinstance(probe.firing, StaticPattern):
                text = f"--record cannot keep static probes of processes that are not known yet: {probe}"
                raise CompileError(text, "name the process, python$target with -c or -p, or the file: usdt:/path:::")
        for node in nodes(clause):
            if isinstance(node, (Act, Call)) and node.name in _UNRECORDED:
                text = f"--record cannot keep {_UNRECORDED[node.name]}, which {node.name}() takes"
                raise CompileError(text, _ELSEWHERE[node.name])


def anonymised(options: OptionTable) -> tuple[str, ...]:
    """What gets pseudonyms. Raises Error."""
    wanted = tuple(each for each in options.text("anonymise").split(",") if each)
    for each in wanted:
        if each not in KINDS:
            raise Error(f"option anonymise: there is no kind {each!r}", f"there are {', '.join(KINDS)}")
    return wanted


def lost_names(clauses: Sequence[Clause], spec: TracingSpec, options: OptionTable) -> tuple[str, str] | None:
    """That replays of these clauses will lack what only files tell, which have pseudonyms, and what would help; None
    where they ask for nothing of the kind. Raises Error."""
    if not options.text("record") or PATHS not in anonymised(options):
        return None
    found = [node for clause in clauses for node in nodes(clause) if isinstance(node, ProbeVariable) and node.is_user]
    lost = [f"{found[0].name} and other variables of programs" if len(found) > 1 else found[0].name] if found else []
    lost += ["names of addresses in processes"] if has_user_addresses(spec) else []
    if not lost:
        return None
    text = f"with pseudonyms for paths replays will not find the files of processes: {' and '.join(lost)} take these"
    return text, "--anonymise names,addresses keeps paths; arg0, arg1 ... and uregs[] are recorded in any case"


@contextmanager
def _ended(finish: Callable[[], None]) -> Iterator[None]:
    """A recording gets its end also where the session fails, as when nobody reads what it prints: it has all up to
    there. `finish` may raise OSError."""
    try:
        yield
    except BaseException:
        # What has failed already is told.
        with suppress(OSError):
            finish()
        raise
    finish()


@contextmanager
def recording_embedded(spec: TracingSpec, options: OptionTable, process: int) -> Iterator[tuple[FiringFile, int]]:
    """What records the firings of the embedded engine, and what to add to times for those of the wall clock. Raises
    Error."""
    path = options.text("record")
    if options.is_set("recordstacks"):
        text = "--record-stacks is for the kernel engine: the embedded one walks stacks by tables as it records them"
        raise Error(text, "leave it out")
    with kept_file(path, "recording ") as file:
        offset = realtime_offset()
        head = RecordingHead(
            VERSION, EMBEDDED, release.release(), release.build_id(), firing_tap.recorded_probes(spec), offset, process,
            monotonic_ns(), options.on("recordreads"), anonymised(options),
            files=_files(firing_tap.recorded_probes(spec), options),
            names=_names(other_names(firing_tap.recorded_probes(spec)), options),
            stacks=BY_FRAMES if options.text("unwind") == "frames" else BY_TABLES,
        )  # fmt: skip
        try:
            most = (options.number("pcapsize"),) if options.is_set("pcapsize") else ()
            keeper = FiringFile(file, head, *most)
            with _ended(lambda: keeper.finish(0)):
                yield keeper, offset
        except OSError as error:
            raise Error(f"failed to write recording '{path}': {error.strerror}") from None


def _formats(spec: TracingSpec) -> tuple[tuple[str, str, str], ...]:
    """Of the trace events that fire its probes: a replay may be where there are none."""
    if not any(isinstance(each.firing, Tracepoint) for each in spec.probes):
        return ()

    return trace_events.formats_of(spec.probes)


def _files(probes: Sequence[Probe], options: OptionTable) -> tuple[ProbedFile, ...]:
    """Those that probes are in: a build id would tell what a pseudonym for a path does not."""
    return () if PATHS in anonymised(options) else probed_files(probes)


def _names(names: Sequence[OtherNames], options: OptionTable) -> tuple[OtherNames, ...]:
    """Without paths where these get pseudonyms."""
    if PATHS not in anonymised(options):
        return tuple(names)
    return tuple(each._replace(modules=tuple(one for one in each.modules if "/" not in one)) for each in names)


@contextmanager
def recording_kernel(
    recorder: FiringRecorder, options: OptionTable, traced: Sequence[Traced]
) -> Iterator[KernelFirings]:
    """The firings of a session that is recorded into the file of the option. Raises Error."""
    path = options.text("record")
    with kept_file(path, "recording ") as file, ExitStack() as stack:
        with as_errors():
            tracing = kernel_engine(options, traced).load(recorder.spec)
        places = ProbePlaces(recorder.spec)
        stacks = AS_BYTES if options.is_set("recordstacks") else BY_FRAMES
        source = KernelFirings(tracing, recorder.spec, places, recorder.process, options.on("recordreads"), stacks)
        try:
            head = RecordingHead(
                VERSION, source.origin, release.release(), release.build_id(), source.probes, source.realtime_offset,
                source.process, source.began, options.on("recordreads"), anonymised(options), _formats(recorder.spec),
                _files(source.probes, options), kernel_place(anonymised(options)), places.table(),
                _names(recorder.names, options), stacks,
            )  # fmt: skip
            again = stack.enter_context(read_again(file))
            keeper = source.keeper = FiringFile(file, head, again=again)
            if has_user_addresses(recorder.spec) or options.on("recordreads"):
                source.note_processes(each.pid for each in traced)
            with _ended(lambda: keeper.finish(source.lost)):
                yield source
        except OSError as error:
            raise Error(f"failed to write recording '{path}': {error.strerror}") from None
        finally:
            source.close()
