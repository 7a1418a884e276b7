"""Programs of BPF objects that other compilers have made: chosen, fitted to this kernel, run."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from sonde.bpf.helpers import POISON
from sonde.bpf.programs import FOR_PACKETS, TRACE_UPROBE_MULTI
from sonde.captures import file as captures_file
from sonde.captures import object_packets
from sonde.consume import description
from sonde.consume import options as consume_options
from sonde.engines.embedded import object_offer, offer
from sonde.engines.kernel import features
from sonde.formats import raw_file
from sonde.library import object_events, outputs
from sonde.library.errors import DestructiveError, Error, ScriptError, TracingError, aborted, as_errors, engine_error
from sonde.library.foreground import Ended, require_bounded, require_whole
from sonde.library.holding import Held
from sonde.library.outputs import opened
from sonde.library.verdicts import Verdict, verdict_by_verdict
from sonde.model.errors import EngineError
from sonde.model.options import OptionTable
from sonde.model.records import TypeSpec
from sonde.model.spec import TracingSpec, has_samples
from sonde.objects.alternatives import alternatives
from sonde.objects.choices import Words as Words
from sonde.objects.choices import given_choices
from sonde.objects.display import display
from sonde.objects.errors import ObjectError
from sonde.objects.front_end import Host, Loadable, Refused, loadable
from sonde.objects.reading import LARGEST, read_object
from sonde.objects.running_kernel import RunningKernel
from sonde.report.object_text import MapTypes, ObjectReport
from sonde.session import kernels, packet_devices
from sonde.session.engines import KERNEL, make
from sonde.session.harm import harm
from sonde.session.names import Names
from sonde.session.objects import ObjectSession, packet_arrays
from sonde.session.replay_inputs import packets_of, recording_of
from sonde.typed import TYPE_CHECKING, NamedTuple
from sonde.untrusted import read_regular

if TYPE_CHECKING:
    from sonde.captures.file import CaptureFile
    from sonde.library.events import Event
    from sonde.recording.file import PerfDataFile
    from sonde.report.object_sink import ObjectSink
    from sonde.session.participants import Asked

_LINKS = ("uprobe_multi",)
_PROBE = re.compile(r"object::([^\s:]+):(\S+?)(?=: |$)")
"""How the probe of an object's program is called where engines speak of it: the program, and its section."""


class LoadedObject(NamedTuple):
    """An object with what was chosen of it, as it would be loaded into this kernel. `remark`: why values of some types
    are shown as bytes, "" if none are."""

    path: str
    made: Loadable
    types: tuple[TypeSpec, ...]
    by_map: dict[str, MapTypes]
    remark: str

    @property
    def spec(self) -> TracingSpec:
        return self.made.spec

    @property
    def reason(self) -> str:
        """Why it needs the option destructive, "" if it only looks."""
        return harm(self.made.spec)

    @property
    def idle(self) -> Sequence[str]:
        """Programs that nothing fires and no other program calls."""
        return self.made.idle

    @property
    def sections(self) -> dict[str, tuple[str, int]]:
        """Each program's section, and in how many places it is attached."""
        return {name: (wanted.shown, len(wanted.firings)) for name, wanted in self.made.requests.items()}

    def is_for_packets(self, name: str) -> bool:
        """Whether a program is for packets, so that where it is attached is a device."""
        return self.made.requests[name].kind in FOR_PACKETS

    def alternatives(self) -> list[tuple[str, list[tuple[str, str]]]]:
        """Events that several programs are attached to by different ways, with these and their sections: what they
        count is counted twice."""
        return [(event, list(programs)) for event, programs in alternatives(self.made.requests)]


def load_words(
    path: str,
    words: Words,
    process: int | None = None,
    engine: str = KERNEL,
    vmlinux: str = "",
    packets: str = "",
) -> LoadedObject:
    """Read an object for an engine, with what the values of -D, --map, --program, --attach and --record choose of it;
    `process` is what $target stands for, `vmlinux` the kernel's file with debug information, "" to look for it,
    `packets` the file of --packets. Raises ScriptError."""
    with _errors(path):
        object_ = read_object(_content(path))
        chosen = given_choices(words, process)._replace(vmlinux=vmlinux)
        made = loadable(object_, _host(engine, packets), chosen)
        if engine == KERNEL and _lacks_links(made):
            made = loadable(object_, RunningKernel(links_uprobes=False), chosen)
        types, shown, remark = display(object_, made.definitions, chosen.records)
    return LoadedObject(path, made, types, {name: MapTypes(*each) for name, each in shown.items()}, remark)


def _lacks_links(made: Loadable) -> bool:
    """Whether it is to be attached by links of uprobes, which this kernel has not."""
    if not any(each.attach_type == TRACE_UPROBE_MULTI and each.probes for each in made.spec.programs):
        return False

    return not features.detect(_LINKS)


def _host(engine: str, packets: str = "", is_run: bool = True) -> Host:
    if engine == KERNEL:
        return RunningKernel()

    if not packets:
        return object_offer.EmbeddedTypes(None if is_run else ())

    with as_errors():
        return object_offer.EmbeddedTypes([each.name for each in kernels.filed_devices(packets)])


def object_verdicts(
    path: str, words: Words, engine: str, rules: str, with_listing: bool = False, process: int | None = None, *,
    most: int,
) -> Iterator[Verdict]:  # fmt: skip
    """What sonde's own verifier says of each program, as the engine would load it, by the rules of that one or the
    other; a firing may take `most` steps, 0: any number. Raises ScriptError."""
    with _errors(path):
        made = loadable(read_object(_content(path)), _host(engine, is_run=False), given_choices(words, process))
    for verdict in verdict_by_verdict(made.spec, rules, with_listing, most):
        reason = _reason(made, verdict.reason)
        if reason is None:
            yield verdict
            continue
        place = verdict.reason.partition("helper#")[0]
        told = f"{place}{reason.text}, in program {verdict.program}"
        yield verdict._replace(reason="; ".join(filter(None, (told, reason.remedy))))


def _content(path: str) -> bytes:
    try:
        return read_regular(path, LARGEST)
    except OSError as error:
        raise ScriptError(f"failed to open {path}: {error.strerror}") from None


@contextmanager
def _errors(path: str) -> Iterator[None]:
    try:
        yield
    except ObjectError as error:
        raise ScriptError(f"{path} cannot be loaded: {error.text}", error.hint) from None


def require_allowed(loaded: LoadedObject, options: OptionTable) -> None:
    """Raise DestructiveError where it does more than look, and that is not allowed."""
    reason = loaded.reason
    if reason and not options.on("destructive"):
        raise DestructiveError(reason)


@contextmanager
def recorded(path: str | None, loaded: LoadedObject, engine: str) -> Iterator[PerfDataFile | None]:
    """The perf.data file for the samples that it lets through, if there is a path. Raises Error."""
    if path is None:
        yield None
        return
    if not has_samples(loaded.spec):
        text = f"{loaded.path} cannot be recorded: no result of its programs lets a sample through"
        raise ScriptError(text, 'a program of SEC("perf_event/software/page-faults/1") does, by the result 1')
    # What is not recorded does without.

    with outputs.perf_data_file(path, engine) as made:
        made.block(raw_file.DESCRIPTION, description.describe(_NO_RECORDS, 1, consume_options.Options()))
        yield made


_NO_RECORDS = TracingSpec((), (), (), (), (), ())
"""Of whom a recording says that nothing but samples is in it: what programs write is shown at once."""


def run_here(
    loaded: LoadedObject, held: Held, options: OptionTable, output: int, tell: Callable[[str], None], *,
    shows_maps: bool = False, asked: Asked | None = None, take: Callable[[bytes], None] | None = None,
    recording: PerfDataFile | None = None, captures: CaptureFile | None = None,
    put: Callable[[list[Event]], None] | None = None,
) -> Ended:  # fmt: skip
    """Run it to its end, which signals ask for, or `asked`; what it writes goes to the descriptor, with `shows_maps`
    what is in its maps, too. `take` gets that in place of a descriptor. The samples that it lets through go to
    `recording`, or are lines of the rest; packets behind records to `captures`, likewise. `put` gets all of it as
    events, in place of text. Raises Error."""
    _require_shown(loaded, options, recording, put is not None)
    require_allowed(loaded, options)
    require_bounded(loaded.spec, held.engine, options, False)
    if recording_of(options):
        raise Error("programs of objects cannot be run on a recording", "--replay takes scripts")
    if options.text("record"):
        text = "firings that run programs of objects are not recorded: what these read is theirs alone to know"
        raise Error(text, "record a script with the same probes, which other scripts can be run on")
    if held.is_embedded and not held.traced:
        _require_processes(loaded)
    names = Names(options, held.process)
    report: ObjectSink
    if put is not None:
        report = object_events.ObjectEvents(loaded.types, loaded.by_map, put)
    else:
        report = ObjectReport(output, loaded.types, loaded.by_map, tell, names, held.process, take)
    with as_errors():
        engine = make(held.engine, options, held.traced, recording.records if recording is not None else None)
        try:
            packets = _object_packets(loaded, options, captures) if captures is not None else None
            session = ObjectSession(loaded.made, engine, report, held.traced, names, recording, packets)
            session.run(shows_maps, asked)
        except EngineError as error:
            raise _refused(error, loaded.made) from None
        except ObjectError as error:
            raise ScriptError(f"{loaded.path} cannot be loaded: {error.text}", error.hint) from None
        except OSError as error:
            raise aborted(error) from None
    require_whole(session.packets())
    return Ended(0, {each.pid: each.collect() for each in held.traced})


def _require_shown(
    loaded: LoadedObject, options: OptionTable, recording: PerfDataFile | None, are_values: bool
) -> None:
    """Raises Error for a format that objects have not, and for samples where all is values."""
    if options.text("format") in ("arrow", "parquet"):
        text = "--object makes no tables: each ring and map has records of its own"
        raise Error(text, "-f json has them as values, a line each")
    if are_values and recording is None and has_samples(loaded.spec):
        text = f"{loaded.path} lets samples through, which are no values of records"
        raise Error(text, "leave -f json out, or record them: sonde record --object FILE")


def _require_processes(loaded: LoadedObject) -> None:
    """Raises Error where a program is fired by processes, and the embedded engine has none."""
    text, remedy = offer.needs_processes(loaded.spec.probes)
    if text:
        raise Error(text, remedy)


_FOLLOWED = re.compile(r"the verifier refuses .* is a number, not a pointer", re.S)
"""What the embedded engine's verifier says where a structure's pointer is followed."""


def _object_packets(loaded: LoadedObject, options: OptionTable, file: CaptureFile) -> object_packets.ObjectPackets:
    path = packets_of(options)
    return object_packets.ObjectPackets(file, packet_devices.object_devices(loaded.spec, path), not path)


@contextmanager
def captured(path: str | None, loaded: LoadedObject) -> Iterator[captures_file.CaptureFile | None]:
    """The file for packets that programs append to records, if there is a path. Raises Error."""
    if path is None:
        yield None
        return

    arrays = packet_arrays(loaded.spec)
    known = {name for name, each in loaded.by_map.items() if each.value is not None}
    if not arrays:
        text = f"-o {path} is for packets, and no program for packets writes to an array of perf events"
        raise Error(text, "give the output's file another name")
    if not known.intersection(arrays):
        text = f"-o {path}: what is before the packet in records of {arrays[0]} is not known"
        raise Error(text, f"--record {arrays[0]}=STRUCTURE names the structure")
    with opened(path, "capture file ", os.O_TRUNC) as descriptor:
        yield captures_file.CaptureFile(descriptor)


def _refused(error: EngineError, made: Loadable) -> Error:
    """In the object's own words where it is about something that this kernel has not; with what can be done about it
    where it is about one program."""
    text, log = _PROBE.sub(r"program \1 (\2)", error.text), error.log
    reason = _reason(made, error.text + error.log)
    if reason is not None:
        text, log = f"{text.partition(':')[0]}: {reason.text}", ""
    told = engine_error(type(error)(text, log, error.place), "C")
    if reason is not None and reason.remedy:
        return TracingError(told.text, "\n".join(filter(None, (told.remedy, reason.remedy))))
    name = next((each for each in made.requests if re.search(rf"program {re.escape(each)}\b", text)), None)
    if name is None:
        return told
    remedy = f"leave the program out by --program {name}=off, or attach it elsewhere by --attach {name}=PLACE"
    if _FOLLOWED.search(text):
        remedy = f"the embedded engine follows pointers in structures by BPF_CORE_READ() alone\n{remedy}"
    return TracingError(told.text, "\n".join(filter(None, (told.remedy, remedy))))


def _reason(made: Loadable, text: str) -> Refused | None:
    """Why a call that there is not stands in a program, where a verifier's words are about one."""
    found = re.search(r"(?:unknown|helper)#(\d+)", text)
    number = int(found[1]) - POISON if found else -1
    return made.reasons[number] if 0 <= number < len(made.reasons) else None
