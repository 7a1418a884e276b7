"""Which name of a published D script Linux does not have: from the compiler's messages, and from its descriptions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from suite_programs import names_of

from sonde.frontends.d.source import ProgramSource
from sonde.machine.system import current_target
from sonde.model.errors import SourceError
from sonde.session.registry import Registry

PROVIDER = "a provider that Linux does not have"
PROBE = "a probe that Linux does not have"
FUNCTION = "a function that the Linux kernel does not have"
HIDDEN = "a function or probe that Linux has, and this kernel or its modules do not, or do not let probe"
CALL = "a system call that Linux does not have"
PROGRAM = "static probes of a program that does not run"
USER_FUNCTION = "a function that the traced program does not have"
TYPE = "a type, or a member of one, that Linux does not have"
DATA = "a kernel variable that Linux does not have"
HEADER = "a header or command of another system"
WORD = "a constant or variable of another system's D"
OWN = "a mistake of the script's own, or no D program"
UNEXPLAINED = "not explained"

CAUSES = (
    PROVIDER,
    FUNCTION,
    PROBE,
    CALL,
    TYPE,
    DATA,
    WORD,
    HEADER,
    PROGRAM,
    USER_FUNCTION,
    HIDDEN,
    OWN,
    UNEXPLAINED,
)
"""In the order in which one is chosen for a script that has several; what is not explained goes before all."""

PROGRAMS = (
    "Xserver*", "erlang*", "ftp*", "hotspot*", "http*", "iscsi[*0-9$]*", "javascript*", "mozilla*", "mysql*", "node*",
    "perl*", "php*", "plockstat*", "postgresql*", "python*", "ruby*", "sh[*0-9$]*", "tcl*",
)  # fmt: skip
"""Providers of programs: of languages, databases and servers."""

SIMILAR = (
    "mib", "sysinfo", "vminfo", "fsinfo", "nfsv3", "nfsv4", "sched", "proc", "io", "tcp", "udp", "ip", "cpc",
    "lockstat", "profile",
)  # fmt: skip
"""Providers of which Linux has a part."""

WORDS = {"MAP_INITDATA", "zonename"}
CONVERSIONS = {"I", "P"}
"""Of other systems' printf(): a network address and a port, by name."""

OWN_MISTAKES = (
    "expected predicate and/or actions following probe description",
    "failed to set option 'switchrate': Invalid value for specified option",
    'syntax error near """: "RPS", "RD BYTES", "WPS", "WR BYTES");',
    'syntax error near "=": scsi_cmd[0x00] = "test_unit_ready";',
)
"""Messages about a shell's command in a file of D, an option without its value, `#define` in a script that does not run
the preprocessor, and a part of a program; those about syntax with the line."""


class Failure(NamedTuple):
    """Why a script, or a part of it, does not run: a cause, and the name that is missing."""

    cause: str
    name: str


_MESSAGE = re.compile(
    r"^(?:\w+: .*?\[(?P<tag>\w+)\] (?:line \d+: )?(?P<text>.*)|  \S.*?:\d+:\d+: (?P<more>.*))\n(?P<rest>(?:  .*\n)*)",
    re.M,
)
_DESCRIPTION = re.compile(r"probe description (\S+) (?:does not match any|matches an unstable)")
_LACKING = (
    (re.compile(r"(\w+) is not a member of (.*)"), TYPE),
    (re.compile(r"operator (?:->|\.) cannot be applied to a forward declaration: no (.*) definition"), TYPE),
    (re.compile(r"failed to resolve (\S*`\w+): Unknown symbol name"), DATA),
    (re.compile(r"translator does not define conversion for member: (\w+)"), TYPE),
    (re.compile(r"fatal error: (\S+): No such file"), HEADER),
    (re.compile(r"(errno\.h): No such file"), HEADER),
)
_SHOWN = re.compile(r"^  \S.*:\d+:\d+:.*\n(.*)", re.M)
"""The line of the program that an excerpt shows."""
_OF_TARGET = re.compile(r"[a-z_*]*[a-z_*]0")
"""A provider of `$target`, which is process 0 where none is started."""
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_DEFINED = re.compile(r"^#define[ \t]+(\w+)[ \t]+(\w+)[ \t]*$", re.MULTILINE)
"""A word for the preprocessor to replace."""
_CAST = re.compile(r"\((\w+(?: \w+)?)\s*\**\s*\)")


def _line(excerpt: str) -> str:
    found = _SHOWN.search(excerpt)
    return found[1].strip() if found else ""


def _is_of_other_kernels(provider: str, name: str) -> bool:
    """Whether a probe is one that sonde makes of something that this kernel has not, as of a module's tracepoints."""
    if provider not in SIMILAR:
        return False
    try:
        tables = import_module(f"sonde.providers.derived.{provider}")
    except ModuleNotFoundError:
        return False
    return bool(name) and any(fnmatchcase(each, name) for each in tables.DEFINITIONS)


class Causes:
    """Asks this machine's probes and symbols."""

    def __init__(self) -> None:
        self._registry = Registry(current_target())
        symbols = Path("/proc/kallsyms").read_text().splitlines()
        self._functions = {line.split()[2] for line in symbols if line.split()[1] in "tTwW"}

    def of_messages(self, errors: str) -> list[Failure]:
        """What the messages of a run name, each once."""
        found: list[Failure] = []
        for pattern, cause in _LACKING:
            found += [Failure(cause, " of ".join(match.groups())) for match in pattern.finditer(errors)]
        for description in _DESCRIPTION.findall(errors):
            found.append(self._of_description(["", "", "", "", *description.split(":")][-4:]))
        for match in _MESSAGE.finditer(errors):
            own = list(self._of_message(match["text"] or match["more"], match["rest"]))
            # What comes behind the first mistake may be a consequence of it.
            found += [each for each in own if match["text"] or each.cause != UNEXPLAINED]
        return list(dict.fromkeys(found))

    def _of_message(self, message: str, excerpt: str) -> Iterator[Failure]:
        if _DESCRIPTION.search(message) or any(pattern.search(message) for pattern, _ in _LACKING):
            return
        name = re.search(r"failed to resolve (\w+):", message)
        types = [each for each in _CAST.findall(excerpt) if not self._is_type(each)]
        member = re.search(r"(args\[\d\])->(\w+)", excerpt)
        if message.startswith("syntax error") and types:
            yield Failure(TYPE, types[0])
        elif message == "operator -> must be applied to a pointer" and member:
            yield Failure(TYPE, f"{member[2]} of {member[1]}")
        elif name and name[1] in WORDS:
            yield Failure(WORD, name[1])
        elif (conversion := re.search(r"conversion #\d+ is undefined: %(\w)", message)) and conversion[
            1
        ] in CONVERSIONS:
            yield Failure(WORD, f"%{conversion[1]}")
        elif message in OWN_MISTAKES or f"{message}: {_line(excerpt)}" in OWN_MISTAKES:
            yield Failure(OWN, message)
        else:
            yield Failure(UNEXPLAINED, message)

    def _is_type(self, name: str) -> bool:
        return self._registry.type_named(name) is not None

    def of_descriptions(self, text: str) -> list[Failure]:
        """The probe descriptions of a D program that match none here, each with its cause."""
        text = _COMMENT.sub(" ", text)
        defined, text = _DEFINED.findall(text), _DEFINED.sub("", text)
        for name, value in defined:
            text = re.sub(rf"\b{name}\b", value, text)
        named = sorted(names_of(ProgramSource(text)).probes)
        found = [self._of_description(list(fields)) for fields in named if not self._matches(fields)]
        return list(dict.fromkeys(found))

    def _matches(self, fields: tuple[str, ...]) -> bool:
        if _OF_TARGET.fullmatch(fields[0]):
            return True
        try:
            return bool(self._registry.match(*fields))
        except SourceError:
            return False

    def _of_description(self, fields: list[str]) -> Failure:
        provider, module, function, name = fields
        text = ":".join(fields)
        if provider.startswith(("pid", "objc")):
            return Failure(USER_FUNCTION, text)
        if any(fnmatchcase(provider, each) for each in PROGRAMS):
            return Failure(PROGRAM, text)
        if provider == "fbt" or (not provider and name in ("entry", "return") and function):
            return Failure(HIDDEN if self._has_function(function) else FUNCTION, text)
        if provider == "syscall":
            return Failure(CALL, text)
        if not module and not function and _is_of_other_kernels(provider, name):
            return Failure(HIDDEN, text)
        is_partly_known = provider in ("", "sdt", *SIMILAR) or self._registry.offers("provider", provider)
        return Failure(PROBE if is_partly_known else PROVIDER, text)

    def _has_function(self, pattern: str) -> bool:
        return any(fnmatchcase(each, pattern or "*") for each in self._functions)

    def unexplained(self, errors: str) -> Failure:
        """A script that fails without a message that is understood."""
        return Failure(UNEXPLAINED, (errors.strip().splitlines() or ["no message"])[-1])
