"""The kernel's structures by their names, and how C declares them."""

from __future__ import annotations

from collections.abc import Iterator

from sonde.frontends.bpftrace.check.globs import glob, is_glob
from sonde.library.errors import as_errors
from sonde.model.types import Enum, Member, Struct, Type, declarator, resolve
from sonde.providers.kernel_types import KernelTypes

_KERNEL = "vmlinux"


def declared_structures(search: str, is_verbose: bool) -> Iterator[str]:
    """`struct NAME`, `union NAME` or `enum NAME`, where the name may have wildcards; with its members if
    `is_verbose`."""
    keyword, _, name = search.partition(" ")
    name = name.strip()
    with as_errors():
        types = KernelTypes()
        for each in _names(types, name):
            found = types.tagged_type(keyword, each)
            if found is not None:
                yield f"{_KERNEL}: {_declared(found)};" if is_verbose else f"{keyword} {each}"


def _names(types: KernelTypes, wanted: str) -> list[str]:
    """Those of the kernel that a name with wildcards describes, whatever they name."""
    if not is_glob(wanted):
        return [wanted]
    head = wanted.split("*")[0]
    return sorted(filter(glob(wanted), {head + each for each in types.names(head)}))


def _declared(kind: Type) -> str:
    base = resolve(kind)
    if isinstance(base, Enum):
        rows = "".join(f"\t{name} = {value},\n" for name, value in base.values)
        return f"enum {base.name} {{\n{rows}}}"
    assert isinstance(base, Struct)
    return _structure(base, 0)


def _structure(kind: Struct, depth: int) -> str:
    indent = "\t" * depth
    rows = "".join(f"{indent}\t{_member(each, depth + 1)};\n" for each in kind.members)
    name = f"{kind.keyword} {kind.name}".rstrip()
    return f"{name} {{\n{rows}{indent}}}"


def _member(member: Member, depth: int) -> str:
    kind = member.type
    if isinstance(kind, Struct) and not kind.name:
        return f"{_structure(kind, depth)} {member.name}".rstrip()
    bits = f": {member.bits}" if member.bits else ""
    return declarator(kind, member.name) + bits
