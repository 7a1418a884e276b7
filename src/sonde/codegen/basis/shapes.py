"""The form that values take in records and keys: which field describes an expression, how long its string can get."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sonde.codegen.basis.names import LONGEST_NAME, PROBE_NAMES, PROBE_TEXT, is_name
from sonde.codegen.basis.settings import Settings
from sonde.codegen.routines import bases
from sonde.model import program as tree
from sonde.model.errors import KEY_TYPES, SourceError
from sonde.model.kinds import is_float
from sonde.model.probe import OVERFLOWS, Internal, Probe, StaticPattern, StaticProbe, Uprobe
from sonde.model.readings import Reading
from sonde.model.records import LITERAL, REAL, Field
from sonde.model.types import STACK, TEXT, Array, Int, String, Struct, is_signed, is_wide, name_of, resolve, size_of
from sonde.model.units import whole_words
from sonde.model.walk import is_zero

COMM_SIZE = 16
"""TASK_COMM_LEN (include/linux/sched.h)."""

COMMAND_LINE_SIZE = 80
"""pr_psargs of the library procfs.d, with its NUL."""

USER_SYMBOLS = ("usym", "ufunc", "umod", "uaddr")
KERNEL_SYMBOLS = ("sym", "func", "mod")


def string_size(e: tree.Expr, probes: Sequence[Probe], settings: Settings) -> int:
    """The most bytes a string expression takes with its NUL."""
    return min(_longest(e, probes, settings), settings.strsize) + 1


def string_capacity(e: tree.Expr, probes: Sequence[Probe], settings: Settings) -> int:
    """The same rounded up to whole words, as strings are kept in memory."""
    return whole_words(string_size(e, probes, settings))


def end_of(field: Field) -> int:
    """Where the memory of a field ends: strings are written in whole words."""
    return field.offset + (whole_words(field.size) if field.kind == "string" else field.size)


def _longest(e: tree.Expr, probes: Sequence[Probe], settings: Settings) -> int:
    """The most characters the string can have."""
    limit = settings.strsize
    if isinstance(e, tree.StringConst):
        return len(e.value)
    if isinstance(e, tree.Builtin):
        if e.name == "execname":
            return COMM_SIZE - 1
        if e.name == PROBE_TEXT:
            return settings.longest_text
        if any(isinstance(p.firing, StaticPattern) for p in probes):
            return LONGEST_NAME
        return max((len(getattr(p, PROBE_NAMES[e.name])) for p in probes), default=0)
    if isinstance(e, tree.Conditional):
        return max(_longest(e.then, probes, settings), _longest(e.otherwise, probes, settings))
    if isinstance(e, tree.Cast):
        base = resolve(e.operand.type)
        if is_zero(e):
            return 0
        return min(limit, base.length) if isinstance(base, Array) and base.length else limit
    if isinstance(e, tree.Call):
        return _longest_result(e, probes, settings)
    return limit


_OF_FIRST_ARGUMENT = (
    "__moved",
    "basename",
    "cleanpath",
    "dirname",
    "strchr",
    "strrchr",
    "strstr",
    "substr",
    "json",
    "tolower",
    "toupper",
)
_LONGEST_TEXTS = {
    "__packet_text": 45, "inet_ntoa": 15, "inet_ntoa6": 45, "inet_ntop": 45, "link_ntop": 59, "lltostr": 20,
}  # fmt: skip


def _longest_result(e: tree.Call, probes: Sequence[Probe], settings: Settings) -> int:
    if e.name == "strjoin":
        return sum(_longest(a, probes, settings) for a in e.arguments)
    if e.name == "__command_line":
        return min(settings.strsize, COMMAND_LINE_SIZE - 1)
    if e.name == "__named":
        return max(map(len, names_of_numbers(e)))
    if e.name in _OF_FIRST_ARGUMENT:
        return max(_longest(e.arguments[0], probes, settings), 1)
    if e.name == "lltostr" and len(e.arguments) > 1:
        return bases.END
    return _LONGEST_TEXTS.get(e.name, settings.strsize)


def names_of_numbers(e: tree.Call) -> list[bytes]:
    """The texts among which `__named` chooses: those of 0, 1 and so on, and last that of all other numbers."""
    assert isinstance(e.arguments[1], tree.StringConst)
    return e.arguments[1].value.split(b"\n")


def field_of(e: tree.Expr, offset: int, probes: Sequence[Probe], settings: Settings) -> Field:
    """The field of the expression's value, at the first aligned offset from `offset` on."""
    kind, size, signed, detail = shape(e, probes, settings)
    if kind == "string" and _is_literal(e):
        detail = LITERAL
        if settings.has_whole_literals and _longest_literal(e) > _SHORT:
            # Whoever shows it has the program's own.
            kind, size = "interned", 4
    return _placed(offset, kind, size, signed, detail)


def _is_literal(e: tree.Expr) -> bool:
    """Whether the characters are the program's own, whichever way it takes."""
    if isinstance(e, tree.Conditional):
        return _is_literal(e.then) and _is_literal(e.otherwise)
    return isinstance(e, tree.StringConst)


_SHORT = 8
"""Characters of a literal that a record rather has than its number."""


def _longest_literal(e: tree.Expr) -> int:
    if isinstance(e, tree.Conditional):
        return max(_longest_literal(e.then), _longest_literal(e.otherwise))
    return len(e.value) if isinstance(e, tree.StringConst) else 0


def _placed(offset: int, kind: str, size: int, signed: bool, detail: str) -> Field:
    align = (size & -size if size < 8 else 8) if kind in ("int", "interned") else 8
    return Field((offset + align - 1) & -align, size, kind, signed, detail)


def shape(e: tree.Expr, probes: Sequence[Probe], settings: Settings) -> tuple[str, int, bool, str]:
    """Kind, size, signedness and detail of the field."""
    if isinstance(e, tree.StackTrace) and e.type == STACK:
        frames = frames_of(e, settings)
        if e.is_user:
            return "ustack", 8 + 8 * frames, False, str(e.string_size)
        return "stack", 8 * (frames + glue_frames(probes)), False, str(frames)
    if isinstance(e, tree.Call) and e.name in KERNEL_SYMBOLS:
        return "symbol", 8, False, e.name
    if isinstance(e, tree.Call) and e.name in USER_SYMBOLS:
        return "user_symbol", 16, False, e.name
    if isinstance(e, tree.Call) and e.type == TEXT:
        return _noted(e)
    base = resolve(e.type)
    if isinstance(base, String):
        if isinstance(e, tree.Builtin) and is_name(e.name):
            return "interned", 4, False, ""
        return "string", string_size(e, probes, settings), False, ""
    if isinstance(base, Array) and base.length is None:
        return "string", string_size(e, probes, settings), False, ""
    if is_float(base):
        return "bytes" if is_wide(base) else "int", size_of(base), False, REAL
    if isinstance(base, (Struct, Array)) or is_wide(base):
        return "bytes", size_of(base), isinstance(base, Int) and base.signed, name_of(e.type)
    return "int", size_of(base) or 8, is_signed(base), ""


def _noted(e: tree.Call) -> tuple[str, int, bool, str]:
    """A number or memory that is shown as text: the checker has made its first argument the field's detail."""
    detail = constant_text(e.arguments[0])
    if e.name == "flagstr":
        return "named", 8, True, detail
    return "noted", reading_of(e).room, False, detail


def constant_text(e: tree.Expr) -> str:
    """The characters of an argument that is a constant."""
    assert isinstance(e, tree.StringConst)
    return e.value.decode()


def reading_of(e: tree.Call) -> Reading:
    """What memstr() reads: its first argument is the form, the bytes and the number of elements, the last the way."""
    _, size, most = constant_text(e.arguments[0]).split()
    return Reading(constant_text(e.arguments[-1]), int(size), int(most))


def frames_of(e: tree.StackTrace, settings: Settings) -> int:
    """The frames a stack has room for: as many as asked for, else as the option says, at most maxframes."""
    wanted = e.frames or (settings.ustackframes if e.is_user else settings.stackframes)
    return min(wanted, settings.maxframes)


def glue_frames(probes: Sequence[Probe]) -> int:
    """How many frames of the kernel's own glue may stand before those of a probe's code: which of `__traceiter_*` and
    `__bpf_trace_*` are there depends on the tracepoint and on who else is attached to it."""
    return (
        0
        if all(isinstance(probe.firing, (Internal, *OVERFLOWS, StaticPattern, StaticProbe, Uprobe)) for probe in probes)
        else 2
    )


Use = tuple[tuple[tree.Expr, ...], tuple[Probe, ...]]
"""The keys somewhere in a program and the probes of the clause they are in."""


def key_fields(uses: Iterable[Use], settings: Settings, start: int = 0) -> tuple[tuple[Field, ...], int]:
    """The fields of a tuple, wide enough for all its uses, and the size of the key."""
    columns = zip(*([(key, probes) for key in keys] for keys, probes in uses), strict=True)
    fields: list[Field] = []
    end = start
    for column in columns:
        shapes = [shape(key, probes, settings) for key, probes in column]
        kind, _, signed, detail = shapes[0]
        size = max(size for _, size, _, _ in shapes)
        kinds = {kind for kind, *_ in shapes}
        if kinds == {"stack", "ustack"}:
            text = "stack( ) and ustack( ) are keys of different types, and of one array or aggregation here"
            raise SourceError(KEY_TYPES, text, column[-1][0].position, "use two aggregations")
        if len(kinds) > 1:
            # A probe's name here, another string there: not the number of an interned one, but its characters.
            kind, size = "string", max(string_size(key, probes, settings) for key, probes in column)
        if kind == "stack":
            detail = str(max(int(frames) for *_, frames in shapes))
        field = _placed(end, kind, size, signed, detail)
        fields.append(field)
        end = end_of(field)
    return tuple(fields), max(8, whole_words(end))
