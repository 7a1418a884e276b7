"""Integers as the text that they stand for, by the forms that their types name."""

from __future__ import annotations

import pwd
import re
import time
from collections.abc import Callable
from functools import lru_cache

from sonde.frontends.bpftrace.number_forms import FORM
from sonde.frontends.bpftrace.report import allocation_flags, control_groups
from sonde.machine.system import realtime_offset
from sonde.model.units import SECOND

_WORD = (1 << 64) - 1
_NUMBER = re.compile("-?[0-9]{1,20}")


@lru_cache(1024)
def form_of_number(name: str, number: int) -> bytes:
    """The text of a number of 64 bits; `name` is that of its type."""
    form, _, rest = name.removeprefix(FORM).partition(" ")
    if form not in _FORMS:
        # Of a file.
        return b"%d" % number
    return _FORMS[form](number, rest).encode(errors="surrogateescape")


@lru_cache(1)
def _started() -> int:
    """When the clock of the traced events was 0, in ns since 1970."""
    return realtime_offset()


def time_text(format_: str, since_1970: int) -> str:
    """strftime(3) of a time in ns, with %f for its microseconds."""
    seconds, rest = divmod(since_1970, SECOND)
    pieces = format_.split("%%")
    whole = "%%".join(piece.replace("%f", f"{rest // 1000:06d}") for piece in pieces)
    return time.strftime(whole, time.localtime(seconds))


def _truth(number: int, _: str) -> str:
    return "true" if number else "false"


def _pointer(number: int, _: str) -> str:
    return f"0x{number & _WORD:x}"


def _integer(number: int, _: str) -> str:
    return str(number)


def _unsigned(number: int, _: str) -> str:
    return str(number & _WORD)


def _strftime(number: int, rest: str) -> str:
    return time_text(rest, number + _started())


def _username(number: int, _: str) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except (KeyError, OverflowError):
        return str(number)


def _mac(number: int, _: str) -> str:
    return ":".join(f"{byte:02X}" for byte in (number & _WORD).to_bytes(8, "little")[:6])


def _names(enumerators: str) -> dict[int, str]:
    pairs = (each.partition("=") for each in enumerators.split())
    return {int(value): name for name, _, value in pairs if _NUMBER.fullmatch(value)}


def _enumerator(number: int, rest: str) -> str:
    return _names(rest).get(number) or str(number)


def _gfp(number: int, _: str) -> str:
    return allocation_flags.flags_text(number & _WORD)


def _cgroup(number: int, rest: str) -> str:
    return control_groups.group_paths(number & _WORD, rest)


_FORMS: dict[str, Callable[[int, str], str]] = {
    "strftime": _strftime, "username": _username,
    "enumerator": _enumerator, "mac": _mac, "gfp": _gfp,
    "cgroup": _cgroup, "truth": _truth, "pointer": _pointer, "integer": _integer, "unsigned": _unsigned,
}  # fmt: skip
