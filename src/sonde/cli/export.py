"""`export ... [--listen ADDRESS]`: what a program counts, as metrics that Prometheus scrapes while it runs."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.cli.arguments import Arguments, parse
from sonde.cli.messages import FatalError, UsageError, ValueOfOptionError, given_twice
from sonde.library.export.wanted import (
    GAUGE_OPTION,
    HOST,
    LABEL_SETS,
    PORT,
    PREFIX,
    ExportRequest,
    address_of,
    require_prometheus,
)

_LISTEN, _SETS, _PREFIX = "--listen", "--label-sets", "--prefix"
_WITH_VALUE = "cpfoxbDILUXkmPiBd"
"""Letters of options with a value, but for -n and -s."""

OPTIONS = (_LISTEN, _SETS, _PREFIX, GAUGE_OPTION)


def split(words: Sequence[str]) -> tuple[ExportRequest, list[str]]:
    """The options of the command itself, and all other words: a command line for tracing, or for `bt`. Raises
    UsageError, FatalError and Error."""
    given: list[tuple[str, str]] = []
    rest: list[str] = []
    remaining = list(reversed(words))
    while remaining:
        word = remaining.pop()
        name, equals, value = word.partition("=")
        if word == "--":
            rest += [word, *reversed(remaining)]
            break
        if name not in OPTIONS:
            rest.append(word)
            continue
        if not equals and not remaining:
            raise UsageError(f"option requires an argument -- {name[2:]}")
        given.append((name, value if equals else remaining.pop()))
    require_prometheus()
    return _request(given), rest


def is_bpftrace(words: Sequence[str]) -> bool:
    """Whether what is left is a command line of `bt`: the command itself, a program behind -e, or a script's name."""
    before = words[: words.index("--")] if "--" in words else words
    if before[:1] == ["bt"] or "-e" in before:
        return True
    has_d = any(_gives_d(word) for word in before)
    return not has_d and any(word.endswith(".bt") and not {"{", " "} & set(word) for word in before)


def _gives_d(word: str) -> bool:
    """Whether -n or -s is among the letters of a word of options, before one that takes the rest of it."""
    if not word.startswith("-") or word.startswith("--"):
        return False
    letters = next((word[1:at] for at, letter in enumerate(word) if letter in _WITH_VALUE), word[1:])
    return bool({"n", "s"} & set(letters))


def _request(given: Sequence[tuple[str, str]]) -> ExportRequest:
    values: dict[str, str] = {}
    for name, value in given:
        if values.setdefault(name, value) != value and name != GAUGE_OPTION:
            raise given_twice(name, values[name], value)
    sets = values.get(_SETS, str(LABEL_SETS))
    if not (sets.isascii() and sets.isdigit() and int(sets) > 0):
        raise ValueOfOptionError(f"{_SETS} {sets}: it takes a number", "of label sets that a metric has at most")
    prefix = values.get(_PREFIX, PREFIX)
    if not (prefix.isascii() and prefix.isidentifier()):
        raise ValueOfOptionError(f"{_PREFIX} {prefix}: names of metrics begin with a word", f"{_PREFIX} {PREFIX}")
    gauges = frozenset(value for name, value in given if name == GAUGE_OPTION)
    return ExportRequest(address_of(values.get(_LISTEN, f"{HOST}:{PORT}")), prefix, int(sets), gauges)


def arguments_of(words: Sequence[str], request: ExportRequest) -> Arguments:
    """Those of tracing. Raises UsageError and FatalError."""
    arguments = parse(words)
    if arguments.spec is not None or arguments.bpf_object is not None:
        raise FatalError("export takes programs in D or in bpftrace's language", 2, "-s SCRIPT.d, -n PROGRAM, bt FILE")
    if arguments.save or arguments.flags & {"list", "header", "object", "compile_only", "dry_run"}:
        raise FatalError("export runs programs: it lists, compiles and saves nothing")
    if not arguments.programs and not arguments.operands:
        raise UsageError("a program is to be exported: -s SCRIPT.d, -n PROGRAM, bt FILE or -e PROGRAM")
    return arguments._replace(export=request)
