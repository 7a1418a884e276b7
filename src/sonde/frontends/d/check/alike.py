"""Hints for names that are not known: what is spelled nearly so, and what other systems' DTrace has."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

_ELSEWHERE = {
    "illumos": ("getf", "json", "strtoll", "threadname", "tolower", "toupper", "vmregs", "zonename"),
    "FreeBSD": (
        "execargs", "jailname", "jid", "memref", "memstr", "printm", "printt", "regs", "sx_exclusive_held",
        "sx_isexclusive", "sx_shared_held", "typeref",
    ),
}  # fmt: skip
"""Variables and functions that DTrace for Linux does not have."""


def hint(name: str, known: Iterable[str]) -> str:
    """What may have been meant by `name`, "" if nothing is like it."""
    system = next((system for system, names in _ELSEWHERE.items() if name in names), "")
    if system:
        return f"{name} is of DTrace on {system}; DTrace for Linux has nothing of the kind"
    found = alike(name, known)
    return f"did you mean {' or '.join(found)}?" if found else ""


def likely(name: str, known: Iterable[str]) -> list[str]:
    """More names that may be meant, which something else has to choose from: those that begin or end alike too."""
    there = sorted(set(known))
    near = alike(name, there)
    near += [each for each in there if each.startswith(name) or each.endswith(name)]
    return list(dict.fromkeys([*near, *get_close_matches(name, there, cutoff=0.55)]))[:6]


def alike(name: str, known: Iterable[str]) -> list[str]:
    """At most three names spelled nearly so, the nearest first; one that differs only in capitals is the nearest."""
    there = sorted(set(known))
    same = [each for each in there if each.lower() == name.lower()]
    return [*same, *(each for each in get_close_matches(name, there, cutoff=0.75) if each not in same)][:3]
