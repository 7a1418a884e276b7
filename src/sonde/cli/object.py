"""`--object FILE`: the programs of an object that another compiler made, run."""

from __future__ import annotations

from sonde.cli.arguments import Arguments
from sonde.cli.endings import require_command, status_of
from sonde.cli.messages import FatalError, Messages
from sonde.cli.object_choices import chosen
from sonde.cli.output import show
from sonde.cli.settings import option_table
from sonde.library.bpf_object import LoadedObject, Words, load_words, require_allowed, run_here
from sonde.library.holding import KERNEL, chosen_engine, holding
from sonde.library.outputs import opened


def run_object(arguments: Arguments, messages: Messages) -> int:
    """Run an object to its end; returns the exit status. Raises FatalError, and the library's Error."""
    path = arguments.bpf_object
    assert path is not None
    if arguments.programs or arguments.operands or arguments.save or arguments.btf or arguments.spec:
        raise FatalError("--object runs programs that are compiled already: it takes no other, and no operands")
    if arguments.pictures or arguments.flame_diff:
        raise FatalError("--object has no pictures: --flame, --heatmap and the like are of D's aggregations")
    options = option_table(arguments)
    require_command(arguments.commands, options)
    only_shows = bool(arguments.flags & {"compile_only", "dry_run"})
    if not only_shows and chosen_engine(options, messages.error) != KERNEL:
        raise FatalError("--object needs the kernel: the embedded engine runs programs of D", 2)
    with holding(KERNEL, arguments.commands, arguments.process_numbers(), options, None) as held:
        loaded = load_words(path, Words(*chosen(arguments, options)), held.process or None)
        if loaded.remark:
            messages.error(f"{path}: {loaded.remark}")
        if "disassemble" in arguments.flags:
            from sonde.library.disassembly import machine_code

            show(machine_code(loaded.spec, {}))
        if only_shows:
            return 0
        require_allowed(loaded, options)
        _tell_idle(loaded, messages)
        _tell_alternatives(loaded, messages)
        if "verbose" in arguments.flags:
            for name, (section, places) in loaded.sections.items():
                messages.error(f"program {name}: {section}{f', {places} places' if places > 1 else ''}")
        with opened(arguments.output, "output file ") as output:
            ended = run_here(loaded, held, options, output, messages.error, shows_maps="dump" in arguments.flags)
        return status_of(0, ended.statuses, options, messages)


def _tell_idle(loaded: LoadedObject, messages: Messages) -> None:
    """Say which programs nothing fires. Raises FatalError where no other is there."""
    how = "--attach {}=PLACE, where PLACE is what a section has behind its first slash"
    sections = loaded.sections
    if len(loaded.idle) == len(sections):
        what = f"none of its programs says where it is attached: {', '.join(loaded.idle)}"
        raise FatalError(what, hint=f"attach one by {how.format(loaded.idle[0])}")
    for name in loaded.idle:
        section, _ = sections[name]
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
