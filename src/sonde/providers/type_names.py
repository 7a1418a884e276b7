"""C types by their spelling, as trace event formats and system call prototypes write them: `const char *`, `u8[16]`."""

from __future__ import annotations

import re
from collections.abc import Callable

from sonde.model import types
from sonde.model.types import Array, Int, Pointer, Qualified, Struct, Type, Typedef

Lookup = Callable[[str, str], Type | None]
"""The kernel's type of a keyword (`struct`, `union`, `enum`, or "" for a typedef) and a name."""

_ALIASES: dict[str, Type] = {
    name: Typedef(name, to)
    for name, to in {
        "bool": types.BOOL,
        "u8": types.UCHAR, "u16": types.USHORT, "u32": types.UINT, "u64": types.ULLONG,
        "s8": types.SCHAR, "s16": types.SHORT, "s32": types.INT, "s64": types.LLONG,
        "__u8": types.UCHAR, "__u16": types.USHORT, "__u32": types.UINT, "__u64": types.ULLONG,
        "__s8": types.SCHAR, "__s16": types.SHORT, "__s32": types.INT, "__s64": types.LLONG,
        "__be16": types.USHORT, "__be32": types.UINT, "__be64": types.ULLONG,
        "umode_t": types.USHORT, "uid_t": types.UINT, "gid_t": types.UINT, "qid_t": types.UINT, "key_t": types.INT,
        "off_t": types.LONG, "loff_t": types.LLONG, "clockid_t": types.INT, "timer_t": types.INT, "mqd_t": types.INT,
        "key_serial_t": types.INT, "rwf_t": types.INT, "aio_context_t": types.ULONG, "dev_t": types.UINT,
        "ino_t": types.ULONG, "sector_t": types.ULLONG, "blkcnt_t": types.ULLONG, "gfp_t": types.UINT,
    }.items()
}  # fmt: skip
"""Kernel typedefs whose meaning is fixed (include/linux/types.h, include/uapi/asm-generic/posix_types.h), so that the
common ones need no BTF."""

_SIMPLE = {kind.name: kind for kind in types.BASE_TYPES}
_TOKEN = r"[A-Za-z_]\w*|\*"
_QUALIFIERS = ("const", "volatile")
_IGNORED = {"__user", "__kernel", "__rcu", "__percpu", "__iomem", "__force", "__seg_gs", "__attribute__", "restrict"}


def parse(text: str, lookup: Lookup, user: bool = False) -> Type | None:
    """The type that `text` spells; None if it names what neither this module nor `lookup` knows.

    An array whose length is not a number has none. With `user`, pointers are addresses of the traced process. A
    pointer to an unknown structure points to an incomplete one.
    """
    text, bracket, brackets = text.partition("[")
    tokens = [token for token in re.findall(_TOKEN, text) if token not in _IGNORED]
    star = tokens.index("*") if "*" in tokens else len(tokens)
    leading, trailing = tokens[:star], tokens[star:]
    base = _base([word for word in leading if word not in _QUALIFIERS], lookup, bool(trailing))
    if base is None:
        return None
    qualifiers = [word for word in leading if word in _QUALIFIERS]
    for token in qualifiers + trailing:
        base = Pointer(base, user) if token == "*" else Qualified(token, base)
    for length in reversed(re.findall(r"\[(.*?)\]", bracket + brackets)):
        base = Array(base, int(length) if length.isdigit() else None)
    return base


def _base(words: list[str], lookup: Lookup, pointed: bool) -> Type | None:
    if len(words) == 2 and words[0] in ("struct", "union", "enum"):
        found = lookup(words[0], words[1])
        return Struct(words[0], words[1], 0) if found is None and pointed and words[0] != "enum" else found
    name = " ".join(words)
    if name == "void":
        return types.VOID
    known = _SIMPLE.get(name) or types.BUILTIN_TYPEDEFS.get(name) or _ALIASES.get(name) or _arithmetic(words)
    return known or (lookup("", name) if len(words) == 1 else None)


def _arithmetic(words: list[str]) -> Int | None:
    """C's other spellings of an integer type: `long unsigned int`, `unsigned`, `short int`."""
    if not words or any(word not in ("unsigned", "signed", "short", "long", "int", "char") for word in words):
        return None
    prefix = "unsigned " if "unsigned" in words else ""
    if "char" in words:
        name = "signed char" if "signed" in words else prefix + "char"
    elif "short" in words:
        name = prefix + "short"
    elif "long" in words:
        name = prefix + " ".join(["long"] * words.count("long"))
    else:
        name = prefix + "int"
    found = _SIMPLE[name]
    return found if isinstance(found, Int) else None
