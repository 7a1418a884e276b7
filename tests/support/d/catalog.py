"""A small world for the checker's tests: a handful of probes, kernel types and symbols."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any

from sonde.frontends.d.errors import DError
from sonde.frontends.d.source import Macros, ProgramSource
from sonde.model.catalog import Derivation, KernelSymbol, Located, TypedArgument
from sonde.model.errors import UNKNOWN_VARIABLE, SourceError
from sonde.model.location import InMemory, InRegister, Piece, Register
from sonde.model.probe import Internal, KernelFunction, Probe, RawTracepoint, Syscall, Timer, Uprobe
from sonde.model.program import Clause, Expr, Program, Statement
from sonde.model.types import CHAR, INT, LONG, STRING, UINT, ULONG, Array, Enum, Member, Pointer, Struct, Type, Typedef
from support.d.d_checking import DEFAULTS, compile_sources

PATH = Struct("struct", "path", 16, lambda: (Member("mnt", ULONG, 0), Member("dentry", ULONG, 64)))
TASK = Struct(
    "struct",
    "task_struct",
    48,
    lambda: (
        Member("pid", INT, 0),
        Member("flags", UINT, 32),
        Member("comm", Array(CHAR, 16), 64),
        Member("parent", Pointer(TASK), 192),
        Member("in_execve", UINT, 256, 1),
        Member("state", COLOR, 288),
    ),
)
COLOR = Enum("color", 4, False, (("KRED", 0), ("KGREEN", 1)))
TYPES: dict[str, Type] = {"uid_t": Typedef("uid_t", UINT), "gid_t": Typedef("gid_t", UINT)}
TAGGED: dict[tuple[str, str], Type] = {
    ("struct", "task_struct"): TASK,
    ("struct", "path"): PATH,
    ("enum", "color"): COLOR,
}

PROBES = (
    Probe(1, "dtrace", "", "", "BEGIN", Internal("BEGIN")),
    Probe(2, "dtrace", "", "", "END", Internal("END")),
    Probe(3, "dtrace", "", "", "ERROR", Internal("ERROR")),
    Probe(4, "syscall", "vmlinux", "read", "entry", Syscall(0, "read", False)),
    Probe(5, "syscall", "vmlinux", "read", "return", Syscall(0, "read", True)),
    Probe(6, "syscall", "vmlinux", "write", "entry", Syscall(1, "write", False)),
    Probe(7, "profile", "", "", "tick-1", Timer(10**9, False)),
    Probe(8, "proc", "vmlinux", "", "start", Internal("start")),
    Probe(9, "derived", "vmlinux", "", "born", RawTracepoint("fork", 3)),
    Probe(10, "derived", "vmlinux", "", "named", RawTracepoint("fork", 3)),
    Probe(11, "twice", "vmlinux", "", "begun", RawTracepoint("fork", 3)),
    *(
        Probe(20 + number, "pid7", "a.out", function, "entry", Uprobe(7, "/proc/7/exe", 16 * number, "entry"))
        for number, function in enumerate(("first", "second", "third", "fourth"))
    ),
)
NODE = Struct("struct", "node", 16, lambda: (Member("value", INT, 0), Member("next", Pointer(NODE, True), 64)))
TAGGED["struct", "node"] = NODE
VARIABLES = {
    (20, "count"): Located(INT, (Piece(InRegister(5)),)),
    (21, "count"): Located(INT, (Piece(InRegister(5)),)),
    (22, "count"): Located(INT, (Piece(InMemory(Register(6))),)),
    (23, "count"): Located(Pointer(CHAR, True), (Piece(InRegister(5)),)),
    (20, "node"): Located(Pointer(NODE, True), (Piece(InRegister(4)),)),
    (20, "pair"): Located(NODE, (Piece(InRegister(4), 64), Piece(InRegister(5), 64))),
    (20, "array"): Located(Array(CHAR, 8), (Piece(InMemory(Register(6))),)),
    (21, "node"): Located(Pointer(NODE, True), (Piece(InRegister(5)),)),
}
"""Those of the functions, by the probe's identifier."""
FORK = Probe(0, "rawtp", "", "", "fork", RawTracepoint("fork", 3))
SPAWN = Probe(0, "rawtp", "", "", "spawn", RawTracepoint("spawn", 1))
DERIVATIONS = {
    9: (Derivation(FORK, "args[2] > 0", ("args[1]", "args[2] + 1")),),
    10: (Derivation(FORK, "", ("args[1]->comm", "hidden"), ("int hidden; BEGIN { hidden = 7; }",)),),
    11: (Derivation(FORK, "", ("1",)), Derivation(SPAWN, "args[0] > 0", ("args[0]",))),
}
ARGUMENTS: dict[int, tuple[TypedArgument, ...]] = {
    4: (TypedArgument(UINT, UINT, 0), TypedArgument(Pointer(CHAR, True), Pointer(CHAR, True), 1)),
    5: (TypedArgument(LONG, LONG, 0),),
    6: (TypedArgument(UINT, UINT, 0), TypedArgument(Pointer(CHAR, True), Pointer(CHAR, True), 1)),
    8: (TypedArgument(Pointer(TASK), Pointer(Typedef("info_t", Struct("struct", "", 0))), 0),),
    0: (TypedArgument(ULONG, ULONG, 0), TypedArgument(Pointer(TASK), Pointer(TASK), 1), TypedArgument(INT, INT, 2)),
    9: (
        TypedArgument(INT, INT, 1),
        TypedArgument(Pointer(TASK), Pointer(Typedef("info_t", Struct("struct", "", 0))), 0),
        TypedArgument(Pointer(TASK), Pointer(TASK), 0),
    ),
    10: (TypedArgument(Array(CHAR, 16), STRING, 0),),
    11: (TypedArgument(INT, INT, 0),),
}


class FakeCatalog:
    def match(self, provider: str, module: str, function: str, name: str) -> Sequence[Probe]:
        fields = (provider, module, function, name)
        return [p for p in PROBES if all(fnmatchcase(v, g or "*") for v, g in zip(p[1:5], fields, strict=True))]

    def offers(self, what: str, name: str) -> bool:
        return name == ("syscall" if what == "provider" else "vmlinux")

    def alike(self, provider: str, module: str, function: str, name: str) -> tuple[str, ...]:
        return ()

    def mismatch(self, provider: str, module: str, function: str, name: str) -> str:
        return ""

    def absence(self, provider: str) -> str:
        return ""

    def unawaited(self, provider: str) -> str:
        return ""

    def awaited(self, provider: str, module: str, function: str, name: str) -> Probe | None:
        return None

    def is_awaited(self, probe: Probe, provider: str, module: str, function: str, name: str) -> bool:
        return False

    def lacks(self, what: str, name: str) -> tuple[str, str]:
        return "", ""

    def by_id(self, identifier: int) -> Probe | None:
        return next((p for p in PROBES if p.id == identifier), None)

    def arguments(self, probe: Probe) -> tuple[TypedArgument, ...] | None:
        return ARGUMENTS.get(probe.id)

    def argument_names(self, probe: Probe) -> tuple[str, ...] | None:
        return ("descriptor", "buffer") if probe.id in (4, 6) else ("", "name") if probe.id == 5 else None

    def has_variables(self, probe: Probe) -> bool:
        return isinstance(probe.firing, Uprobe)

    def variable(self, probe: Probe, scope: str, name: str | int) -> Located:
        if (probe.id, name) not in VARIABLES:
            raise SourceError(UNKNOWN_VARIABLE, f"no {scope}->{name} at {probe}")
        return VARIABLES[probe.id, str(name)]

    def derivations(self, probe: Probe) -> tuple[Derivation, ...]:
        return DERIVATIONS.get(probe.id, ())

    def type_named(self, name: str, module: str | None = None) -> Type | None:
        return TYPES.get(name)

    def tagged_type(self, keyword: str, name: str, module: str | None = None) -> Type | None:
        return TAGGED.get((keyword, name))

    def enumerator(self, name: str) -> tuple[Type, int] | None:
        return next(((COLOR, value) for known, value in COLOR.values if known == name), None)

    def symbol(self, name: str, module: str | None = None) -> KernelSymbol | None:
        known = {"max_pfn": ULONG, "untyped": None}
        return KernelSymbol(name, "vmlinux", 0xFFFF0000, known[name]) if name in known else None

    def place_at(self, address: int) -> KernelFunction | None:
        return None


def check(text: str, *, libraries: tuple[str, ...] = (), macros: Macros | None = None, **options: Any) -> Program:
    """The program, checked against the small world."""
    sources = [ProgramSource(library, "library.d") for library in libraries]
    chosen = DEFAULTS._replace(**options)
    return compile_sources([ProgramSource(text)], FakeCatalog(), chosen, macros or Macros(), sources)


def clause(body: str, before: str = "", **options: Any) -> Clause:
    """The clause `BEGIN { body }` after other items."""
    return check(f"{before}\nBEGIN {{ {body} }}", **options).clauses[-1]


def statement(body: str, before: str = "") -> Statement:
    """The last statement of a clause."""
    return clause(body, before).statements[-1]


def expression(text: str, before: str = "", prelude: str = "") -> Expr:
    """An expression, checked as the argument of trace()."""
    traced: Any = statement(f"{prelude} trace({text});", before)
    value: Expr = traced.value
    return value


def error(text: str, **options: Any) -> DError:
    """What is wrong with a whole program."""
    try:
        check(text, **options)
    except DError as found:
        return found
    raise AssertionError(f"accepted: {text}")


def tag(body: str, before: str = "") -> str:
    """The tag of what is wrong with the clause `BEGIN { body }`."""
    return error(f"{before}\nBEGIN {{ {body} }}").tag
