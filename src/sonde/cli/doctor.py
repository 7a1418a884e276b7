"""`doctor`: what this kernel and this user can do, and what to do about what they cannot."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Mapping, Sequence

from sonde.cli.messages import UsageError
from sonde.cli.output import show
from sonde.engines.embedded import survey as embedded
from sonde.engines.kernel.survey import Row, survey
from sonde.typed import NamedTuple

_WIDTH = 79
_NAME, _STATE = 26, 8
_NOT_NEEDED = "none needed"
"""What remedies begin with where sonde does without."""


class Ability(NamedTuple):
    """Something that people want to do. It needs one of each group of `needed` rows."""

    name: str
    text: str
    needed: tuple[tuple[str, ...], ...]


ABILITIES = (
    Ability("whole system", "syscall, proc, sched, io, tcp, rawtp probes", (("bpf",), ("lockdown",), ("tp_btf",))),
    Ability("timers", "profile and tick probes, samples", (("perf_event",),)),
    Ability("kernel functions", "fbt probes", (("bpf",), ("fentry", "kprobe_multi", "kprobe"), ("functions",))),
    Ability("kernel types", "args[] and structures of the kernel", (("btf_vmlinux",),)),
    Ability("kernel names", "stacks and addresses of the kernel by name", (("kallsyms",),)),
    Ability("functions of programs", "pid, uprobe and USDT probes, source lines", (("bpf",), ("uprobe",))),
    Ability("packets", "packet probes", (("bpf",),)),
    Ability("hardware counters", "cpc and perf probes of the processor", (("cycles",),)),
    Ability("without privilege", "system calls, processes, signals and user stacks of -c and -p", (("embedded",),)),
)  # fmt: skip
"""What matters first, then what fewer people ask for."""

_FOR_FEW = {
    "CAP_BPF",
    "CAP_PERFMON",
    "CAP_SYS_RESOURCE",
    "CAP_SYSLOG",
    "unprivileged_bpf_disabled",
    "perf_event_paranoid",
}
"""Rows that say why others are as they are, or matter to kernels before 5.11 alone."""


def doctor(words: Sequence[str]) -> int:
    """Print what can be done, then what is missing, with -v all there is; returns 0 if programs can be loaded at all,
    else 1."""
    if [word for word in words if word != "-v"]:
        raise UsageError(f"doctor takes no arguments but -v: {' '.join(words)}")
    rows = [*survey(), *embedded.survey()]
    by_name = {row.name: row for row in rows}
    show(_summary(by_name))
    if words:
        show("\nEvery feature and setting\n" + "".join(map(_lines, rows)))
    else:
        show(_rest(rows))
    return 0 if by_name["bpf"].state == "yes" else 1


def _summary(rows: Mapping[str, Row]) -> str:
    """A line for each ability; a remedy is not repeated."""
    text = f"{rows['kernel'].purpose}, as {_user()}\n"
    told = {""}
    for each in ABILITIES:
        missing = _missing(each, rows)
        if missing is None:
            text += _lines(Row(each.name, "yes", each.text))
            continue
        remedy = _remedy(missing)
        text += _lines(Row(each.name, missing.state, each.text, missing.cause, "" if remedy in told else remedy))
        told.add(remedy)
    return text


def _missing(ability: Ability, rows: Mapping[str, Row]) -> Row | None:
    """The row for want of which it cannot be done: of several that would do the first."""
    for group in ability.needed:
        if all(rows[name].state != "yes" for name in group):
            return rows[group[0]]
    return None


def _remedy(row: Row) -> str:
    return "run as root, or with CAP_BPF and CAP_PERFMON" if row.lacks else row.remedy


def _rest(rows: Sequence[Row]) -> str:
    """What is missing beside that and can be helped; how many there are of the rest."""
    covered = {name for each in ABILITIES for group in each.needed for name in group} | _FOR_FEW
    missing = [row for row in rows if row.state != "yes" and row.name not in covered]
    wanted = [row for row in missing if not row.lacks and row.remedy and not row.remedy.startswith(_NOT_NEEDED)]
    text = "\nMissing beside that\n" + "".join(map(_lines, wanted)) if wanted else ""
    untried = [row.name for row in rows if row.lacks]
    if untried:
        text += f"\n{len(untried)} features of the kernel could not be tried without {_lacked(rows)}.\n"
    return text + f"\n`sonde doctor -v` shows all {len(rows)} features and settings.\n"


def _lacked(rows: Sequence[Row]) -> str:
    return next(row.lacks for row in rows if row.lacks)


def _user() -> str:
    if os.geteuid() == 0:
        return "root"
    # Most runs of sonde need no names of users.
    from pwd import getpwuid

    try:
        return f"{getpwuid(os.geteuid()).pw_name} ({os.geteuid()})"
    except KeyError:
        return f"user {os.geteuid()}"


def _lines(row: Row) -> str:
    head = f"{row.name:<{_NAME}}{row.state:<{_STATE}}"
    indent = " " * (_NAME + _STATE)
    text = textwrap.fill(row.why, _WIDTH, initial_indent=head, subsequent_indent=indent)
    if row.remedy:
        remedy = f"{indent}-> {row.remedy}"
        text += "\n" + textwrap.fill(remedy, _WIDTH, subsequent_indent=indent + "   ")
    return text + "\n"
