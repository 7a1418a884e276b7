"""`--object FILE`: the programs of an object that another compiler made, run."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

from sonde.cli.arguments import Arguments
from sonde.cli.endings import require_command, status_of
from sonde.cli.messages import FatalError, Messages
from sonde.cli.object_choices import chosen
from sonde.cli.output import show
from sonde.cli.settings import option_table
from sonde.library import disassembly
from sonde.library.bpf_object import LoadedObject, captured, load_words, recorded, require_allowed, run_here
from sonde.library.data import json_report
from sonde.library.events import Event, Exit
from sonde.library.holding import chosen_engine, holding
from sonde.library.inspection import own_kernel
from sonde.library.outputs import complete, is_capture, opened, require_written, settle_format
from sonde.library.settings import packets_of


def run_object(arguments: Arguments, messages: Messages) -> int:
    """Run an object to its end; returns the exit status. Raises FatalError, and the library's Error."""
    path = arguments.bpf_object
    assert path is not None
    if arguments.programs or arguments.operands or arguments.save or arguments.spec:
        raise FatalError("--object runs programs that are compiled already: it takes no other, and no operands")
    if arguments.pictures or arguments.flame_diff:
        raise FatalError("--object has no pictures: --flame, --heatmap and the like are of D's aggregations")
    if arguments.raw is not None:
        raise FatalError("--object has no --raw: what its programs write is shown at once", hint="-o FILE has it")
    _require_own_kernel(arguments.btf)
    options = option_table(arguments)
    settle_format(arguments.output, options)
    require_command(arguments.commands, options)
    only_shows = bool(arguments.flags & {"compile_only", "dry_run"})
    engine = chosen_engine(options, messages.error, only_shows)
    with holding(engine, arguments.commands, arguments.process_numbers(), options, messages.error) as held:
        choices, files = chosen(arguments, options), (arguments.btf or "", packets_of(options))
        loaded = load_words(path, choices, held.process or None, engine, *files)
        if loaded.remark:
            messages.error(f"{path}: {loaded.remark}")
        if "disassemble" in arguments.flags:
            show(disassembly.machine_code(loaded.spec, {}))
        if only_shows:
            return 0
        require_allowed(loaded, options)
        _tell_idle(loaded, messages)
        _tell_alternatives(loaded, messages)
        if "verbose" in arguments.flags:
            for name, (section, places) in loaded.sections.items():
                messages.error(f"program {name}: {section}{f', {places} places' if places > 1 else ''}")
        text, packets = (None, arguments.output) if is_capture(arguments.output) else (arguments.output, None)
        with ExitStack() as stack:
            output = stack.enter_context(opened(text, "output file "))
            recording = stack.enter_context(recorded(arguments.recording, loaded, engine))
            captures = stack.enter_context(captured(packets, loaded))
            lines = _lines(output) if options.text("format") == "json" else None
            ended = run_here(
                loaded, held, options, output, messages.error, shows_maps="dump" in arguments.flags,
                recording=recording, captures=captures, put=lines,
            )  # fmt: skip
            if lines is not None:
                lines([Exit(0)])
            require_written(captures, packets)
            if recording is not None:
                complete(recording, None if options.on("quiet") else messages.error)
        return status_of(0, ended.statuses, options, messages)


def _lines(output: int) -> Callable[[list[Event]], None]:
    """What writes events as lines of JSON."""
    return lambda events: json_report.write_events(output, events)


def _require_own_kernel(path: str | None) -> None:
    """Raises FatalError for the vmlinux of another kernel, whose places are not those of this one."""
    if path is None:
        return

    reason = own_kernel.why_not_own_kernel(path)
    if reason:
        raise FatalError(f"--object takes with -k this kernel's own vmlinux, and {reason}")


def _tell_idle(loaded: LoadedObject, messages: Messages) -> None:
    """Say which programs nothing fires. Raises FatalError where no other is there."""
    how = "--attach {}=PLACE, where PLACE is what a section has behind its first slash"
    sections = loaded.sections
    if any(loaded.is_for_packets(name) for name in loaded.idle):
        how = "--device DEVICE, or --attach {}=DEVICE for one program"
    if len(loaded.idle) == len(sections):
        what = f"none of its programs says where it is attached: {', '.join(loaded.idle)}"
        raise FatalError(what, hint=f"attach one by {how.format(loaded.idle[0])}")
    for name in loaded.idle:
        section, _ = sections[name]
        if loaded.is_for_packets(name):
            messages.error(f"program {name} ({section}) is attached nowhere: --device DEVICE does")
            continue
        messages.error(
            f"program {name} is attached nowhere, since its section {section} does not say where: "
            f"--attach {name}=PLACE does"
        )


def _tell_alternatives(loaded: LoadedObject, messages: Messages) -> None:
    """Say which programs do the same in two ways, so that what they count is counted twice."""
    for event, programs in loaded.alternatives():
        *most, last = (f"{name} ({section})" for name, section in programs)
        how_many = "both" if len(programs) == 2 else "all"
        choice = " or ".join(f"--program {name}=off" for name, _ in programs)
        messages.error(
            f"programs {', '.join(most)} and {last} are {how_many} attached to {event}: where they are alternatives, "
            f"what happens counts twice unless one is left out by {choice}"
        )
