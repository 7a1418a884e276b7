"""Programs of BPF objects that other compilers have made: chosen, fitted to this kernel, run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from sonde.bpf.helpers import POISON
from sonde.engines.kernel.engine import KernelEngine
from sonde.engines.kernel.stamps import StampValues
from sonde.library.errors import DestructiveError, Error, ScriptError, TracingError, as_errors, engine_error
from sonde.library.foreground import Ended
from sonde.library.holding import Held
from sonde.model.errors import EngineError
from sonde.model.options import OptionTable
from sonde.model.spec import TracingSpec
from sonde.objects.alternatives import alternatives
from sonde.objects.choices import Words as Words
from sonde.objects.choices import given_choices
from sonde.objects.display import display
from sonde.objects.errors import ObjectError
from sonde.objects.front_end import Loadable, loadable
from sonde.objects.reading import LARGEST, read_object
from sonde.objects.running_kernel import RunningKernel
from sonde.report.object_text import MapTypes, ObjectReport
from sonde.session.harm import harm
from sonde.session.names import Names
from sonde.session.objects import ObjectSession
from sonde.session.tracing import Asked
from sonde.typed import NamedTuple
from sonde.untrusted import read_regular

_PROBE = re.compile(r"object::([^\s:]+):(\S+?)(?=: |$)")
"""How the probe of an object's program is called where engines speak of it: the program, and its section."""


class LoadedObject(NamedTuple):
    """An object with what was chosen of it, as it would be loaded into this kernel. `remark`: why values of some types
    are shown as bytes, "" if none are."""

    path: str
    made: Loadable
    types: tuple[object, ...]
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

    def alternatives(self) -> list[tuple[str, list[tuple[str, str]]]]:
        """Events that several programs are attached to by different ways, with these and their sections: what they
        count is counted twice."""
        return [(event, list(programs)) for event, programs in alternatives(self.made.requests)]


def load_words(path: str, words: Words, process: int | None = None) -> LoadedObject:
    """Read an object, with what the values of -D, --map, --program, --attach and --record choose of it; `process` is
    what $target stands for. Raises ScriptError."""
    with _errors(path):
        object_ = read_object(_content(path))
        chosen = given_choices(words, process)
        made = loadable(object_, RunningKernel(), chosen)
        types, shown, remark = display(object_, made.definitions, chosen.records)
    return LoadedObject(path, made, types, {name: MapTypes(*each) for name, each in shown.items()}, remark)


def spec_of(path: str, words: Words) -> TracingSpec:
    """An object's programs as they would be loaded into this kernel. Raises ScriptError."""
    with _errors(path):
        chosen = given_choices(words, None)
        return loadable(read_object(_content(path)), RunningKernel(), chosen).spec


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


def run_here(
    loaded: LoadedObject, held: Held, options: OptionTable, output: int, tell: Callable[[str], None], *,
    shows_maps: bool = False, asked: Asked | None = None, take: Callable[[bytes], None] | None = None,
) -> Ended:  # fmt: skip
    """Run it to its end, which signals ask for, or `asked`; what it writes goes to the descriptor, with `shows_maps`
    what is in its maps, too. `take` gets that in place of a descriptor. Raises Error."""
    require_allowed(loaded, options)
    names = Names(options, held.process)
    report = ObjectReport(output, loaded.types, loaded.by_map, tell, names, held.process, take)  # type: ignore[arg-type]
    cpu = options.number("cpu") if options.is_set("cpu") else None
    engine = KernelEngine(cpu, StampValues(held.process))
    with as_errors():
        try:
            ObjectSession(loaded.made, engine, report, held.traced, names).run(shows_maps, asked)
        except EngineError as error:
            raise _refused(error, loaded.made) from None
        except ObjectError as error:
            raise ScriptError(f"{loaded.path} cannot be loaded: {error.text}", error.hint) from None
    return Ended(0, {each.pid: each.collect() for each in held.traced})


def _refused(error: EngineError, made: Loadable) -> Error:
    """In the object's own words where it is about something that this kernel has not; with what can be done about it
    where it is about one program."""
    found = re.search(r"(?:unknown|helper)#(\d+)", error.text + error.log)
    number = int(found[1]) - POISON if found else -1
    text, log = _PROBE.sub(r"program \1 (\2)", error.text), error.log
    if 0 <= number < len(made.missing):
        text, log = f"{text.partition(':')[0]}: it needs {made.missing[number]}, which this kernel has not", ""
    told = engine_error(type(error)(text, log, error.place), "C")
    name = next((each for each in made.requests if re.search(rf"program {re.escape(each)}\b", text)), None)
    if name is None:
        return told
    remedy = f"leave the program out by --program {name}=off, or attach it elsewhere by --attach {name}=PLACE"
    return TracingError(told.text, "\n".join(filter(None, (told.remedy, remedy))))
