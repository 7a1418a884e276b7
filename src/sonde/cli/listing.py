"""Listing probes (-l)."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.cli.arguments import Arguments
from sonde.cli.messages import Messages
from sonde.cli.output import show
from sonde.library import TYPE_CHECKING, single_line
from sonde.library.errors import Error
from sonde.library.holding import holding
from sonde.library.inspection.probe_table import NAMES, ProbeTable, listed_engine
from sonde.library.settings import OptionTable, packets_of, recording_of

if TYPE_CHECKING:
    from sonde.library.inspection.probe_table import Probe

_ROW = "{:>5} {:>10} {:>17} {:>33} {}\n"


def list_probes(arguments: Arguments, options: OptionTable, messages: Messages) -> int:
    """List what the programs' descriptions match, or all there is; a description without probes is only reported."""
    engine = listed_engine(options, messages.error)
    table = ProbeTable(engine, arguments.btf, arguments.save is not None, packets_of(options), recording_of(options))
    is_named = messages.has_hints and messages.program != "dtrace"
    show_probes = _Listing(table, "verbose" in arguments.flags, is_named)
    has_patterns = not arguments.programs and arguments.operands and messages.program != "dtrace"
    if not arguments.programs and not has_patterns:
        show_probes(table.all(), heading=True)
        return 0
    with holding(engine, arguments.commands, arguments.process_numbers(), options, None) as held:
        table.hold(held.process, held.prepare)
        if has_patterns:
            return _list_patterns(arguments, messages, show_probes, held.process or table.process)
        show_probes.of_programs(arguments, options, messages, held.process or table.process)
    return 0


class _Listing:
    """Shows probes of a table, with their arguments if `is_verbose`, and with the names of these if `is_named`."""

    def __init__(self, table: ProbeTable, is_verbose: bool, is_named: bool) -> None:
        self.table = table
        self._is_verbose = is_verbose
        self._is_named = is_named

    def __call__(self, probes: Sequence[Probe], heading: bool = False) -> None:
        rows = [_ROW.format("ID", "PROVIDER", "MODULE", "FUNCTION", "NAME")] if heading else []
        for probe in probes:
            names = map(single_line, (probe.provider, probe.module, probe.function, probe.name))
            rows.append(_ROW.format(probe.id, *names))
            if self._is_verbose:
                rows.append(self.table.arguments_report(probe, self._is_named))
        show("".join(rows))

    def of_programs(self, arguments: Arguments, options: OptionTable, messages: Messages, process: int) -> None:
        found = self.table.of_programs(arguments.programs, options, arguments.operands, process, messages.program)
        self((), heading=True)
        for description, probes in found:
            self(probes)
            if not probes:
                messages.error(f"failed to match {description}: No probe matches description")


def _list_patterns(arguments: Arguments, messages: Messages, show_probes: _Listing, process: int) -> int:
    """Those that words alone describe; 1 if there are none for one of them."""
    show_probes((), heading=True)
    status = 0
    for word in arguments.operands:
        try:
            probes = show_probes.table.described(word.replace("$target", str(process)))
        except Error as error:
            messages.error(error.text, hint=error.remedy)
            status = 1
            continue
        show_probes(probes)
        if not probes:
            hint = _hint(word, show_probes.table)
            messages.error(f"failed to match {word}: No probe matches description", hint=hint)
            status = 1
    return status


def _hint(word: str, table: ProbeTable) -> str:
    if {"{", "/"} & set(word):
        return f"-l lists probes, and this is a program: sonde -ln '{word}'"
    fields = word.split(":")
    if len(fields) > NAMES:
        return "a description has four names: provider:module:function:name"
    if len(fields) > 1:
        return table.mismatch(fields)
    contain = f"names that contain it: sonde -l '*{word}*'"
    lines = (table.mismatch(("", "", word)), contain if table.described(f"*{word}*") else "")
    return "\n".join(filter(None, lines))
