"""Functions of programs and libraries that sections name: `PATH:FUNCTION+OFFSET`."""

from __future__ import annotations

import os
import re

from sonde.arch import object_files
from sonde.model.probe import Firing, Uprobe
from sonde.objects.errors import ObjectError
from sonde.objects.traceable_code import TraceableCode
from sonde.providers.pattern import matcher
from sonde.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from sonde.symbols.functions import CodeFunction, CodeObject

EVERY_PROCESS = 0
_LIBRARIES = tuple(
    f"{prefix}/{name}" for name in (f"lib/{object_files.LIBRARIES}", "lib64", "lib") for prefix in ("", "/usr")
)
_FUNCTION = re.compile(r"([^+@]+)(?:@@?[^+]*)?(?:\+(0x[0-9a-fA-F]+|\d+))?")


def user_function(text: str, section: str, kind: str, traceable: TraceableCode) -> tuple[Firing, ...]:
    """The firings of `PATH:FUNCTION+OFFSET`, in every process that runs it; `kind` is entry or return.

    Raises ObjectError.
    """
    path, colon, name = text.rpartition(":")
    found = _FUNCTION.fullmatch(name)
    if not colon or found is None:
        raise ObjectError(f"{section} does not name a function", 'write SEC("uprobe/PATH:FUNCTION+OFFSET")')
    offset = int(found[2] or "0", 0)
    if kind == "return" and offset:
        raise ObjectError(f"{section}: a return has no offset")
    where = found_file(path)
    code = traceable.functions_of(where, section)
    function = _function(code, found[1], section)
    _check(code, function, offset, section)
    reason = code.return_obstacle(function, traceable.looks_at_calls) if kind == "return" else None
    if reason is not None:
        raise ObjectError(f"{section}: {found[1]} has no return probe: {reason.cause}", reason.remedy)
    place = function.offset + offset
    return (Uprobe(EVERY_PROCESS, where, place, kind if not offset else "offset", file=code.identity),)


def found_file(name: str) -> str:
    """The file of a path, or of a program or library by its name alone. Raises ObjectError."""
    if "/" in name:
        return name
    folders = _LIBRARIES if ".so" in name else os.environ.get("PATH", os.defpath).split(os.pathsep)
    for folder in folders:
        if os.path.isfile(os.path.join(folder, name)):
            return os.path.join(folder, name)
    raise ObjectError(f"there is no {'library' if '.so' in name else 'program'} {name}", "give its path")


def matching_user_functions(text: str, section: str, kind: str, traceable: TraceableCode) -> tuple[Firing, ...]:
    """The same for all functions that match `PATH:PATTERN` and can be probed. Raises ObjectError if there is none."""
    path, colon, pattern = text.rpartition(":")
    if not colon or not pattern:
        raise ObjectError(f"{section} does not name functions", 'write SEC("uprobe.multi/PATH:PATTERN")')
    where, fits = found_file(path), matcher(pattern)
    code = traceable.functions_of(where, section)
    found = tuple(
        Uprobe(EVERY_PROCESS, where, each.offset, kind, file=code.identity)
        for each in code.functions
        if fits(each.name) and _is_probeable(code, each, kind, traceable.looks_at_calls)
    )
    if not found:
        raise ObjectError(f"{section}: {where} has no function {pattern} that can be probed")
    return found


def _is_probeable(code: CodeObject, function: CodeFunction, kind: str, looks_at_calls: bool) -> bool:
    first = code.first_instruction(function)
    return (
        not function.is_indirect
        and first is not None
        and first.is_probeable
        and (kind != "return" or not (code.return_obstacle(function, looks_at_calls) or code.is_unwound(function)))
    )


def place_of(code: CodeObject, address: int, section: str) -> int:
    """The offset in the file of an instruction by its link-time address, which debug information told. Raises
    ObjectError where no instruction of a function begins there, or one that the kernel cannot probe."""
    function = code.containing(address)
    if function is None:
        raise ObjectError(f"{section}: {code.path} has no function with a symbol at {address:#x}")
    _check(code, function, address - function.address, section)
    return function.offset + address - function.address


def _check(code: CodeObject, function: CodeFunction, offset: int, section: str) -> None:
    instruction = code.first_instruction(function) if not offset else code.instructions(function).get(offset)
    if instruction is None:
        raise ObjectError(f"{section}: no instruction of {function.name} begins at offset {offset:#x}")
    if not instruction.is_probeable:
        raise ObjectError(f"{section}: the kernel cannot probe the instruction there")


def _function(code: CodeObject, name: str, section: str) -> CodeFunction:
    """The function of a name. Raises ObjectError."""
    functions = code.find(name)
    if not functions:
        raise ObjectError(f"{section}: {code.path} has no function {name}")
    function = functions[0]
    if function.is_indirect:
        raise ObjectError(
            f"{section}: {name} is chosen when a process links to it (STT_GNU_IFUNC)",
            "name the function that is chosen",
        )
    return function
