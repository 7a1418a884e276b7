"""`--object FILE`: the programs of an object that another compiler made, run."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sonde.bpf.helpers import POISON
from sonde.cli.arguments import Arguments
from sonde.cli.destructive import require_allowed
from sonde.cli.disassembly import machine_code
from sonde.cli.endings import require_command, status_of
from sonde.cli.errors import engine_error
from sonde.cli.messages import FatalError, Messages
from sonde.cli.object_choices import choices
from sonde.cli.output import show
from sonde.cli.run import opened
from sonde.cli.settings import option_table
from sonde.engines.kernel.engine import KernelEngine
from sonde.engines.kernel.stamps import StampValues
from sonde.launch import CommandError
from sonde.model.errors import EngineError
from sonde.objects.alternatives import alternatives
from sonde.objects.display import display
from sonde.objects.errors import ObjectError
from sonde.objects.front_end import Loadable, loadable
from sonde.objects.reading import LARGEST, read_object
from sonde.objects.running_kernel import RunningKernel
from sonde.report.object_text import MapTypes, ObjectReport
from sonde.session.engines import KERNEL, choose
from sonde.session.harm import harm
from sonde.session.names import Names
from sonde.session.objects import ObjectSession
from sonde.session.processes import processes
from sonde.session.traced import Traced
from sonde.untrusted import read_regular

_PROBE = re.compile(r"object::([^\s:]+):(\S+?)(?=: |$)")
"""How the probe of an object's program is called where engines speak of it: the program, and its section."""


def run_object(arguments: Arguments, messages: Messages) -> int:
    """Run an object to its end; returns the exit status. Raises FatalError."""
    path = arguments.bpf_object
    assert path is not None
    if arguments.programs or arguments.operands or arguments.save or arguments.btf or arguments.spec:
        raise FatalError("--object runs programs that are compiled already: it takes no other, and no operands")
    if arguments.pictures or arguments.flame_diff:
        raise FatalError("--object has no pictures: --flame, --heatmap and the like are of D's aggregations")
    options = option_table(arguments)
    require_command(arguments.commands, options)
    only_shows = bool(arguments.flags & {"compile_only", "dry_run"})
    if not only_shows and choose(options, messages.error) != KERNEL:
        raise FatalError("--object needs the kernel: the embedded engine runs programs of D", 2)
    with processes(arguments.commands, arguments.process_numbers(), options, KERNEL) as traced:
        try:
            object_ = read_object(_read(path))
            target = traced[0].pid if traced else None
            chosen = choices(arguments, options, target)
            made = loadable(object_, RunningKernel(), chosen)
            types, shown, remark = display(object_, made.definitions, chosen.records)
            if remark:
                messages.error(f"{path}: {remark}")
            if "disassemble" in arguments.flags:
                show(machine_code(made.spec, {}))
            if only_shows:
                return 0
            reason = harm(made.spec)
            require_allowed(bool(reason), options, reason)
            _tell_idle(made, messages)
            _tell_alternatives(made, messages)
            if "verbose" in arguments.flags:
                for name, wanted in made.requests.items():
                    count = f", {len(wanted.firings)} places" if len(wanted.firings) > 1 else ""
                    messages.error(f"program {name}: {wanted.shown}{count}")
            with opened(arguments.output, "output file ") as output:
                by_map = {name: MapTypes(*each) for name, each in shown.items()}
                names = Names(options, target or 0)
                report = ObjectReport(output, types, by_map, messages.error, names, target or 0)
                stamps = StampValues(traced[0].pid if traced else 0)
                engine = KernelEngine(options.number("cpu", 0) if options.is_set("cpu") else None, stamps)
                try:
                    _run(made, engine, report, (traced, names), "dump" in arguments.flags)
                except EngineError as error:
                    raise _refused(error, made) from None
        except ObjectError as error:
            raise FatalError(f"{path} cannot be loaded: {error.text}", hint=error.hint) from None
        except CommandError as error:
            raise FatalError(str(error)) from None
        return status_of(0, traced, options, messages)


def _run(
    made: Loadable, engine: KernelEngine, report: ObjectReport, processes: tuple[Sequence[Traced], Names], dump: bool
) -> None:
    """Raises EngineError, in the object's own words where it is about something that this kernel has not."""
    try:
        ObjectSession(made, engine, report, *processes).run(dump)
    except EngineError as error:
        found = re.search(r"(?:unknown|helper)#(\d+)", error.text + error.log)
        number = int(found[1]) - POISON if found else -1
        text, log = _PROBE.sub(r"program \1 (\2)", error.text), error.log
        if 0 <= number < len(made.missing):
            text, log = f"{text.partition(':')[0]}: it needs {made.missing[number]}, which this kernel has not", ""
        raise EngineError(text, log, error.place) from None


def _refused(error: EngineError, made: Loadable) -> FatalError:
    """With what can be done about it where it is about one program."""
    told = engine_error(error, "C")
    name = next((each for each in made.requests if re.search(rf"program {re.escape(each)}\b", error.text)), None)
    if name is None:
        return told
    remedy = f"leave the program out by --program {name}=off, or attach it elsewhere by --attach {name}=PLACE"
    return FatalError(str(told), hint="\n".join(filter(None, (told.hint, remedy))))


def _tell_idle(made: Loadable, messages: Messages) -> None:
    """Say which programs nothing fires. Raises FatalError where no other is there."""
    how = "--attach {}=PLACE, where PLACE is what a section has behind its first slash"
    if len(made.idle) == len(made.requests):
        what = f"none of its programs says where it is attached: {', '.join(made.idle)}"
        raise FatalError(what, hint=f"attach one by {how.format(made.idle[0])}")
    for name in made.idle:
        section = made.requests[name].shown
        messages.error(
            f"program {name} is attached nowhere, since its section {section} does not say where: "
            f"--attach {name}=PLACE does"
        )


def _tell_alternatives(made: Loadable, messages: Messages) -> None:
    """Say which programs do the same in two ways, so that what they count is counted twice."""
    for event, programs in alternatives(made.requests):
        *most, last = (f"{name} ({section})" for name, section in programs)
        how_many = "both" if len(programs) == 2 else "all"
        choice = " or ".join(f"--program {name}=off" for name, _ in programs)
        messages.error(
            f"programs {', '.join(most)} and {last} are {how_many} attached to {event}: where they are alternatives, "
            f"what happens counts twice unless one is left out by {choice}"
        )


def _read(path: str) -> bytes:
    try:
        return read_regular(path, LARGEST)
    except OSError as error:
        raise FatalError(f"failed to open {path}: {error.strerror}") from None
