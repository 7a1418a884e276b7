"""The subroutines, actions and aggregating functions of D, and what each takes and gives.

A prototype is written as in C, with D's extensions: `@` for a value of any kind, `[T]` for an argument that may be left
out, `...` for any more. It is read when its function is first called.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sonde.frontends.d.check import quantizing
from sonde.frontends.d.check.scope import Scope
from sonde.model.errors import Position
from sonde.model.types import BASE_TYPES, STACK, STRING, SYMADDR, TEXT, USYMADDR, VOID, Pointer, Struct, Type
from sonde.typed import NamedTuple

_SUBROUTINES = {
    "__adopt": "void(struct task_struct *)",
    "__command_line": "string(uintptr_t, uintptr_t)",
    "__cpu_time": "uint64_t()",
    "__in_family": "int()",
    "__open_file": "struct file *(int)",
    "__packet_headers": "uint64_t()",
    "__packet_number": "uint64_t(uint32_t, int)",
    "__packet_tag": "uint32_t()",
    "__packet_text": "string(int, uint32_t)",
    "alloca": "void *(size_t)",
    "basename": "string(char *)",
    "bcopy": "void(void *, void *, size_t)",
    "cleanpath": "string(char *)",
    "copyin": "void *(uintptr_t, size_t)",
    "copyinstr": "string(uintptr_t, [size_t])",
    "copyinto": "void(uintptr_t, size_t, void *)",
    "copyout": "void(void *, uintptr_t, size_t)",
    "copyoutstr": "void(char *, uintptr_t, size_t)",
    "d_path": "string(struct path *)",
    "ddi_pathname": "string(void *, int64_t)",
    "dirname": "string(char *)",
    "getf": "struct file *(int)",
    "getmajor": "dev_t(dev_t)",
    "getminor": "dev_t(dev_t)",
    "htonl": "uint32_t(uint32_t)",
    "htonll": "uint64_t(uint64_t)",
    "htons": "uint16_t(uint16_t)",
    "index": "int(char *, char *, [int])",
    "inet_ntoa": "string(uint32_t *)",
    "inet_ntoa6": "string(struct in6_addr *, [int])",
    "inet_ntop": "string(int, void *)",
    "link_ntop": "string(int, void *)",
    "json": "string(char *, char *)",
    "lltostr": "string(int64_t, [int])",
    "msgdsize": "size_t(void *)",
    "msgsize": "size_t(void *)",
    "mutex_owned": "int(struct mutex *)",
    "mutex_owner": "struct task_struct *(struct mutex *)",
    "mutex_type_adaptive": "int(struct mutex *)",
    "mutex_type_spin": "int(struct mutex *)",
    "ntohl": "uint32_t(uint32_t)",
    "ntohll": "uint64_t(uint64_t)",
    "ntohs": "uint16_t(uint16_t)",
    "progenyof": "int(pid_t)",
    "rand": "int()",
    "rindex": "int(char *, char *, [int])",
    "rw_iswriter": "int(rwlock_t *)",
    "rw_read_held": "int(rwlock_t *)",
    "rw_write_held": "int(rwlock_t *)",
    "speculation": "int()",
    "strchr": "string(char *, char)",
    "strjoin": "string(char *, char *)",
    "strlen": "size_t(char *)",
    "strrchr": "string(char *, char)",
    "strstr": "string(char *, char *)",
    "strtok": "string(char *, char *)",
    "strtoll": "int64_t(char *, [int])",
    "substr": "string(char *, int, [int])",
    "tolower": "string(char *)",
    "toupper": "string(char *)",
}

_SYMBOLS = {
    "flagstr": "_text(string, int64_t)",
    "func": "_symaddr(uintptr_t)",
    "jstack": "stack([uint32_t], [uint32_t])",
    "memstr": "_text(string, uintptr_t, [int64_t], [int64_t])",
    "mod": "_symaddr(uintptr_t)",
    "stack": "stack([uint32_t])",
    "sym": "_symaddr(uintptr_t)",
    "uaddr": "_usymaddr(uintptr_t)",
    "ufunc": "_usymaddr(uintptr_t)",
    "umod": "_usymaddr(uintptr_t)",
    "ustack": "stack([uint32_t], [uint32_t])",
    "usym": "_usymaddr(uintptr_t)",
}
"""What gives a value that only actions and aggregation keys take; alone it is an action that records the value."""

_ACTIONS = {
    "breakpoint": "void()",
    "capture": "void([size_t])",
    "chill": "void(int)",
    "clear": "void(@)",
    "commit": "void(int)",
    "delay": "void(uint64_t)",
    "denormalize": "void(@)",
    "discard": "void(int)",
    "exit": "void(int)",
    "freopen": "void(@, ...)",
    "ftruncate": "void()",
    "inject": "void(int, [int64_t])",
    "normalize": "void(@, uint64_t)",
    "panic": "void()",
    "pcap": "void(void *, int)",
    "print": "void(@)",
    "printa": "void(@, ...)",
    "printf": "void(string, ...)",
    "raise": "void(int)",
    "sample": "void()",
    "setopt": "void(char *, [char *])",
    "speculate": "void(int)",
    "stop": "void()",
    "system": "void(@, ...)",
    "trace": "void(@)",
    "tracemem": "void(@, size_t, [size_t])",
    "trunc": "void(@, [int64_t])",
}


class Aggregating(NamedTuple):
    """An aggregating function in D. `result` is the type that a conversion of printa() has to fit, `weight` the index
    of the argument that says what a value counts for. `constants` finds the function's parameters among the constant
    values of all arguments, None for what is no constant; it gets those of an earlier use, and raises DError."""

    prototype: str
    result: str = "int64_t"
    weight: int | None = None
    constants: Callable[[Sequence[int | None], tuple[int, ...] | None, Position], tuple[int, ...]] | None = None


AGGREGATING = {
    "avg": Aggregating("void(@)"),
    "count": Aggregating("void()", "uint64_t"),
    "llquantize": Aggregating(
        "void(@, int32_t, int32_t, int32_t, int32_t, ...)",
        weight=5,
        constants=lambda constants, previous, position: quantizing.llquantize_parameters(constants, previous, position),
    ),
    "lquantize": Aggregating(
        "void(@, int32_t, int32_t, ...)",
        weight=4,
        constants=lambda constants, previous, position: quantizing.lquantize_parameters(constants, previous, position),
    ),
    "max": Aggregating("void(@)"),
    "min": Aggregating("void(@)"),
    "quantize": Aggregating("void(@, ...)", weight=1),
    "stddev": Aggregating("void(@)"),
    "sum": Aggregating("void(@)"),
}

ACTIONS = frozenset(_ACTIONS)
SYMBOLS = frozenset(_SYMBOLS)
SUBROUTINES = frozenset(_SUBROUTINES)
NAMES = AGGREGATING.keys() | ACTIONS | SYMBOLS | SUBROUTINES


def kind_of(name: str) -> str:
    """What messages call one of `NAMES`."""
    if name in AGGREGATING:
        return "aggregating function"
    return "function" if name in SUBROUTINES else "tracing function"


OF_STREAMS = frozenset({"msgdsize", "msgsize"})
"""Subroutines for a type that Linux does not have."""

DESTRUCTIVE = frozenset({
    "breakpoint", "chill", "copyout", "copyoutstr", "delay", "freopen", "inject", "panic", "raise", "stop", "system",
})  # fmt: skip


class Prototype(NamedTuple):
    """`parameters` holds None for a value of any kind; the first `required` must be given; `variadic` allows more."""

    returns: Type
    parameters: tuple[Type | None, ...]
    required: int
    variadic: bool


_RESULTS: dict[str, Type] = {
    "void": VOID, "string": STRING, "stack": STACK, "_symaddr": SYMADDR, "_text": TEXT, "_usymaddr": USYMADDR,
}  # fmt: skip


def prototype(name: str, scope: Scope) -> Prototype:
    """The prototype of one of `NAMES`."""
    text = _SUBROUTINES.get(name) or _SYMBOLS.get(name) or _ACTIONS.get(name) or AGGREGATING[name].prototype
    returns, _, listed = text[:-1].rpartition("(")
    words = [w for w in listed.split(", ") if w]
    variadic = bool(words) and words[-1] == "..."
    if variadic:
        words.pop()
    required = sum(not w.startswith("[") for w in words)
    parameters = tuple(_parse(w.strip("[]"), scope) if w != "@" else None for w in words)
    return Prototype(_parse(returns, scope), parameters, required, variadic)


def _parse(text: str, scope: Scope) -> Type:
    if text.endswith("*"):
        return Pointer(_parse(text[:-1].rstrip(), scope))
    keyword, _, tag = text.partition(" ")
    if tag:
        return scope.find_struct(keyword, tag)
    if text in _RESULTS:
        return _RESULTS[text]
    base = next((kind for kind in BASE_TYPES if kind.name == text), None)
    return base or scope.find_type(text) or Struct("struct", text, 0)
