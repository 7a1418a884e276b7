"""Whether a program does more to the system than look at it, which takes -w."""

from __future__ import annotations

from sonde.bpf.helpers import NUMBERS
from sonde.bpf.instructions import CALL, JMP, decode
from sonde.cli.messages import FatalError
from sonde.codegen.walk import nodes
from sonde.lang.check.prototypes import DESTRUCTIVE
from sonde.lang.program import Act, Call, FormattedCommand, Program
from sonde.options import OptionTable
from sonde.spec import CommandAction, TracingSpec

_HELPERS = frozenset(NUMBERS[name] for name in ("probe_write_user", "send_signal", "send_signal_thread"))


def is_destructive(program: Program) -> bool:
    """By what the program says."""
    return any(
        isinstance(node, FormattedCommand) or (isinstance(node, (Act, Call)) and node.name in DESTRUCTIVE)
        for clause in program.clauses
        for node in nodes(clause)
    )


def does_harm(spec: TracingSpec) -> bool:
    """By what the compiled program does, whoever compiled it."""
    actions = (action for layout in spec.records for action in layout.actions)
    return any(isinstance(action, CommandAction) for action in actions) or any(
        each.opcode == JMP | CALL and each.src == 0 and each.imm in _HELPERS
        for program in spec.programs
        for each in decode(program.code)
    )


def require_allowed(destructive: bool, options: OptionTable) -> None:
    """Raise FatalError unless such actions are allowed or there are none."""
    if destructive and not options.on("destructive"):
        text = "could not enable tracing: Destructive actions not allowed"
        raise FatalError(text, hint="allow them with -w or `#pragma D option destructive`")
