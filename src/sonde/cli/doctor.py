"""`doctor`: what this kernel and this user can do, and what to do about what they cannot."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterable, Mapping, Sequence, Set
from pwd import getpwuid

from sonde.cli.messages import UsageError
from sonde.cli.output import show
from sonde.library.inspection.abilities import Ability, abilities
from sonde.library.inspection.capabilities import Capability, capabilities

_WIDTH = 79
_NAME, _STATE = 26, 8
_NOT_NEEDED = "none needed"
"""What remedies begin with where sonde does without."""

_FOR_FEW = {
    "CAP_BPF",
    "CAP_PERFMON",
    "CAP_SYS_RESOURCE",
    "CAP_SYSLOG",
    "unprivileged_bpf_disabled",
    "perf_event_paranoid",
}
"""Capabilities that say why others are as they are, or matter to kernels before 5.11 alone."""


def doctor(words: Sequence[str]) -> int:
    """Print what can be done, then what is missing, with -v all there is; returns 0 if programs can be loaded at all,
    else 1."""
    if [word for word in words if word != "-v"]:
        raise UsageError(f"doctor takes no arguments but -v: {' '.join(words)}")
    found = capabilities()
    can = abilities(found)
    show(_summary(can.values(), found["kernel"].purpose))
    if words:
        show("\nEvery feature and setting\n" + "".join(map(_lines, found.values())))
    else:
        show(_rest(found, {name for each in can.values() for group in each.needed for name in group}))
    return 0 if found["bpf"] else 1


def _summary(can: Iterable[Ability], kernel: str) -> str:
    """A line for each ability; a remedy is not repeated."""
    text = f"{kernel}, as {_user()}\n"
    told = {""}
    for each in can:
        missing = each.missing
        if missing is None:
            text += _lines(Capability(each.name, "yes", each.purpose))
            continue
        remedy = _remedy(missing)
        shown = "" if remedy in told else remedy
        text += _lines(Capability(each.name, missing.state, each.purpose, missing.cause, shown))
        told.add(remedy)
    return text


def _remedy(missing: Capability) -> str:
    return "run as root, or with CAP_BPF and CAP_PERFMON" if missing.lacks else missing.remedy


def _rest(found: Mapping[str, Capability], covered: Set[str]) -> str:
    """What is missing beside what abilities need, and can be helped; how many there are of the rest."""
    missing = [each for each in found.values() if not each and each.name not in covered | _FOR_FEW]
    wanted = [each for each in missing if not each.lacks and each.remedy and not each.remedy.startswith(_NOT_NEEDED)]
    text = "\nMissing beside that\n" + "".join(map(_lines, wanted)) if wanted else ""
    untried = [each.lacks for each in found.values() if each.lacks]
    if untried:
        text += f"\n{len(untried)} features of the kernel could not be tried without {untried[0]}.\n"
    return text + f"\n`sonde doctor -v` shows all {len(found)} features and settings.\n"


def _user() -> str:
    if os.geteuid() == 0:
        return "root"
    # Most runs of sonde need no names of users.

    try:
        return f"{getpwuid(os.geteuid()).pw_name} ({os.geteuid()})"
    except KeyError:
        return f"user {os.geteuid()}"


def _lines(row: Capability) -> str:
    head = f"{row.name:<{_NAME}}{row.state:<{_STATE}}"
    indent = " " * (_NAME + _STATE)
    text = textwrap.fill(row.why, _WIDTH, initial_indent=head, subsequent_indent=indent)
    if row.remedy:
        remedy = f"{indent}-> {row.remedy}"
        text += "\n" + textwrap.fill(remedy, _WIDTH, subsequent_indent=indent + "   ")
    return text + "\n"
