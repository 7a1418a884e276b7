"""--spec: a compiled program that --save has written, run, maybe elsewhere."""

from __future__ import annotations

from sonde.cli import run
from sonde.cli.arguments import Arguments
from sonde.cli.messages import FatalError, Messages
from sonde.cli.output import show
from sonde.cli.settings import option_table
from sonde.library import disassembly, outputs
from sonde.library.foreground import Job, require_allowed
from sonde.library.holding import EMBEDDED, chosen_engine, holding
from sonde.library.settings import OptionTable
from sonde.library.spec_file import (
    SpecFile,
    content_of,
    damaged,
    engine_of,
    harm_of,
    options_of,
    require_suitable,
    spec_of,
)


def run_file(arguments: Arguments, messages: Messages) -> int:
    """Run a spec file to its end; returns the exit status. Raises FatalError, and the library's Error."""
    path = arguments.spec
    assert path is not None
    if arguments.programs or arguments.operands or arguments.save or arguments.btf:
        raise FatalError("--spec runs a program that is compiled already: it takes no other, and no macro arguments")
    content = spec_of(path, content_of(path))
    with damaged(path):
        return _run(path, content, arguments, messages)


def _run(path: str, content: SpecFile, arguments: Arguments, messages: Messages) -> int:
    options = _options(arguments, content)
    only_shows = bool(arguments.flags & {"compile_only", "dry_run"})
    engine = _engine(content, options, messages, only_shows)
    require_suitable(path, content, engine)
    if not options.on("quiet"):
        for part in content.parts:
            messages.error(f"{part.title} matched {part.probes} probe{'' if part.probes == 1 else 's'}")
    if "disassemble" in arguments.flags:
        show(disassembly.machine_code(content.spec, {}))
    if only_shows:
        return 0

    reason = harm_of(content)
    outputs.settle_format(arguments.output, options)
    job = Job(content.spec, options, content.destructive or bool(reason), reason, is_foreign=True)
    require_allowed(job)
    with holding(engine, arguments.commands, arguments.process_numbers(), options, messages.error) as held:
        return run.run(job, arguments, messages, held)


def _options(arguments: Arguments, content: SpecFile) -> OptionTable:
    """Those that were compiled in, then those of this run."""
    given = option_table(arguments)
    for setting in arguments.settings:
        if not given.may_change(setting.name):
            raise FatalError(f"{setting.given}: this option is compiled into the program")
    given.restore(options_of(content))
    return given


def _engine(content: SpecFile, options: OptionTable, messages: Messages, only_shows: bool) -> str:
    """That of the program, unless one was asked for."""
    made_for = engine_of(content)
    if options.text("engine") == "auto" and made_for == EMBEDDED:
        return made_for
    return chosen_engine(options, messages.error, only_shows)
