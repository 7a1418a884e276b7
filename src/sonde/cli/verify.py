"""`verify FILE`: the embedded engine's verifier alone, on what a D program compiles to."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.cli.arguments import Arguments, GivenProgram, parse
from sonde.cli.effects import VERIFY, require_effect
from sonde.cli.messages import FatalError, Messages, UsageError
from sonde.cli.object_choices import chosen, refuse_choices
from sonde.cli.output import show
from sonde.cli.settings import option_table
from sonde.library import TYPE_CHECKING, bpf_object, compiling, single_line
from sonde.library.holding import EMBEDDED, KERNEL
from sonde.library.settings import OptionTable
from sonde.library.verdicts import Verdict, engine_of_rules, is_object, verdict_by_verdict

if TYPE_CHECKING:
    from sonde.library.verdicts import TracingSpec


_PROVED = """\
Proved of what is accepted: it uses memory, references and helpers as the rules demand, and a firing ends within the
steps told. Not proved: how often events fire it, nor how long the kernel takes for a helper beyond what it counts.
"""
_OF_LOOPS = "Turns of D's loops come besides: they share -xmaxloop, and end within a second.\n"


def verify_file(words: Sequence[str], messages: Messages) -> int:
    """Verify every program of a D script, of -n and the like, or of an object; returns 0 if all are accepted, else 1.

    -v prints each program with what is known before each instruction.
    """
    arguments = parse(words)
    if arguments.operands and not arguments.programs:
        first, *rest = arguments.operands
        arguments = arguments._replace(programs=(GivenProgram("file", first),), operands=tuple(rest))
    if not arguments.programs or arguments.commands or arguments.pids:
        raise UsageError("verify takes a D script or object, or programs by -n and the like, and the options -v and -x")
    require_effect(arguments, VERIFY)
    options = option_table(arguments)
    engine = engine_of_rules(options)
    is_verbose = "verbose" in arguments.flags
    path = arguments.programs[0].text if arguments.programs[0].kind == "file" else ""
    if path and is_object(path):
        # Without a name it is whether the kernel would take it, also of users who may not load it.
        host = EMBEDDED if options.text("engine") == EMBEDDED else KERNEL
        most = options.number("maxsteps")
        verdicts = bpf_object.object_verdicts(path, chosen(arguments, options), host, engine, is_verbose, most=most)
    else:
        refuse_choices(arguments)
        verdicts = verdict_by_verdict(_compiled(arguments, options, engine, messages), engine, is_verbose)
    refused = 0
    for verdict in verdicts:
        _tell(verdict, messages)
        refused += not verdict
    show(_PROVED if path and is_object(path) else _PROVED + _OF_LOOPS)
    return 1 if refused else 0


def _compiled(arguments: Arguments, options: OptionTable, engine: str, messages: Messages) -> TracingSpec:
    wanted = compiling.For(engine, arguments.btf, arguments.save is not None, 0)
    spec = compiling.compiled("d", arguments.programs, options, arguments.operands, wanted, messages.program).spec
    if not spec.programs:
        raise FatalError("no probes matched")
    return spec


def _tell(verdict: Verdict, messages: Messages) -> None:
    if verdict:
        steps = f"a firing takes {verdict.firing_steps:,} steps at most"
        outcome = f"accepted, {verdict.steps} instructions gone through; {steps}"
    else:
        outcome = "refused"
        messages.error(verdict.reason)
    shape = f"type {verdict.kind}, {verdict.instructions} instructions"
    show(f"program {single_line(verdict.program)} ({shape}): {outcome}\n")
    if verdict.listing:
        show(verdict.listing + "\n")
