"""How the variables of a line come to the user's function: where it asks for them (`fetching.py`), or beforehand as its
arguments, or as one structure.

The declaration of the function says which: of what has the context alone nothing is fetched beforehand, and a pointer
to a structure behind it takes all variables as one. What it declares is compared with what is fetched, since the
function would read past the end of a structure that is too large for it, or take one variable for another.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sonde.bpf import btf
from sonde.bpf.btf import Btf, BtfType
from sonde.model.spec import Fetch
from sonde.objects.errors import ObjectError
from sonde.objects.fetching import VariableLayout
from sonde.objects.frame import MOST_ARGUMENTS
from sonde.objects.paths import FoundVariable
from sonde.objects.types import size_of, stripped
from sonde.symbols.dwarf.declaration import DeclaredField, declaration
from sonde.typed import NamedTuple

_LARGEST = 1 << 14


class Arrival(NamedTuple):
    """What is fetched before the function is called, and whether it gets that as one structure."""

    layout: VariableLayout
    is_structure: bool


def asked_layout(function: str, found: Sequence[FoundVariable], is_user: bool) -> VariableLayout:
    """Where variables are in what a program gives `bpf_fetch_variables()`: the structure of `structure_of`. Raises
    ObjectError."""
    wanted = declaration(f"{function}_variables", _fields(found))
    if wanted.size > _LARGEST:
        raise ObjectError(f"the variables of {function} take {wanted.size} bytes, and {_LARGEST} can be fetched")
    end = max((each.offset + each.size for each in wanted.fetches), default=0)
    return VariableLayout(wanted.fetches, end, wanted.alignment, is_user)


def takes_variables(function: str, types: Btf | None) -> bool | None:
    """Whether a function has parameters behind the context; None where nothing tells."""
    prototype = _prototype(function, types)
    return len(prototype.parameters) > 1 if prototype is not None else None


def arrival(function: str, found: Sequence[FoundVariable], types: Btf | None, is_user: bool) -> Arrival:
    """Raises ObjectError, with the right declaration, where the function's own does not fit."""
    declared = _structure(function, types)
    if declared is not None and types is not None:
        return _as_structure(function, found, types, declared, is_user)
    text = declaration(f"{function}_variables", _fields(found)).text
    hint = f"{text}int {function}(void *context, struct {function}_variables *variables)"
    if len(found) > MOST_ARGUMENTS:
        raise ObjectError(f"{function} is to have {len(found)} variables, and arguments are at most three", hint)
    for each in found:
        if not each.is_number:
            raise ObjectError(f"{each.wanted.text} is no number, as an argument has to be", hint)
    fetches = [
        fetch._replace(offset=8 * number, size=8 if _fills(fetch) else fetch.size)
        for number, each in enumerate(found)
        for fetch in each.fetches
    ]
    return Arrival(VariableLayout(tuple(fetches), 8 * len(found), 8, is_user), False)


def structure_of(name: str, found: Sequence[FoundVariable]) -> str:
    """The declaration of the structure that variables arrive in. Raises ObjectError."""
    return declaration(name, _fields(found)).text


def _fills(fetch: Fetch) -> bool:
    """Whether the number has all its 64 bits: its sign has been extended."""
    return fetch.kind == "value" and bool(fetch.steps) and fetch.steps[-1].operation == "extend"


def _fields(found: Sequence[FoundVariable]) -> list[DeclaredField]:
    fields = [DeclaredField(member_name(each.wanted.text), each.type, each.fetches) for each in found]
    names = [each.name for each in fields]
    twice = next((each for each in names if names.count(each) > 1), "")
    if twice:
        raise ObjectError(f"two variables would be the member {twice}", "name each once")
    return fields


def member_name(text: str) -> str:
    """What the member of a variable is called: `how->flags` is how_flags, `sizes[2]` is sizes_2, `a.c@count` is
    a_c_count."""
    return re.sub(r"\W", "_", re.sub(r"->|::", "_", text.lstrip("$")).replace("]", ""))


def _as_structure(
    function: str, found: Sequence[FoundVariable], types: Btf, declared: BtfType, is_user: bool
) -> Arrival:
    name = declared.name or f"{function}_variables"
    wanted = declaration(name, _fields(found))
    if wanted.size > _LARGEST or declared.size > _LARGEST:
        raise ObjectError(f"the structure of {function} is larger than {_LARGEST} bytes")
    members = {each.name: each for each in declared.members}
    for field in wanted.members:
        there = members.get(field.name)
        if there is None or there.bits or there.offset != 8 * field.offset or size_of(types, there.type) != field.size:
            what = f"struct {name} of {function} does not have {field.name} at byte {field.offset}"
            raise ObjectError(f"{what} with {field.size} bytes", f"declare it as\n{wanted.text}")
    size = max(wanted.size, declared.size)
    return Arrival(VariableLayout(wanted.fetches, size, wanted.alignment, is_user), True)


def _structure(function: str, types: Btf | None) -> BtfType | None:
    """The structure that the function's second parameter points to, None if it is something else."""
    prototype = _prototype(function, types)
    if prototype is None or types is None or len(prototype.parameters) < 2:
        return None
    pointer = stripped(types, prototype.parameters[1].type)
    target = stripped(types, pointer.type) if pointer.kind == btf.PTR else pointer
    return target if target.kind == btf.STRUCT else None


def _prototype(function: str, types: Btf | None) -> BtfType | None:
    found = types.find(function, btf.FUNC) if types is not None else None
    return types.type(types.type(found).type) if types is not None and found is not None else None
