"""The kernel's types as D types, read from BTF when asked for and made once each."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from sonde.bpf import btf
from sonde.bpf.btf import Btf, BtfError, BtfMember, BtfType
from sonde.model import types
from sonde.model.errors import ProgramError
from sonde.model.types import Array, Enum, Float, Function, Int, Member, Pointer, Qualified, Struct, Type, Typedef
from sonde.symbols.elf import file as elf_file
from sonde.typed import TypeVar
from sonde.untrusted import open_file

_T = TypeVar("_T")

VMLINUX = "vmlinux"
_OWN = ""
"""The source that describes an engine, as a module."""
_TRACEPOINT = "btf_trace_"
_CALLER = "__traceiter_"

_TAGGED = {"struct": (btf.STRUCT,), "union": (btf.UNION,), "enum": (btf.ENUM, btf.ENUM64)}
_QUALIFIERS = {btf.CONST: "const", btf.VOLATILE: "volatile", btf.RESTRICT: "restrict"}
_SPELLINGS = {
    "short int": "short",
    "short unsigned int": "unsigned short",
    "long int": "long",
    "long unsigned int": "unsigned long",
    "long long int": "long long",
    "long long unsigned int": "unsigned long long",
    "bool": "_Bool",
}
"""Names DWARF, and so BTF, has for C's base types, as C programmers write them."""
_DWARF_NAMES = {spelling: name for name, spelling in _SPELLINGS.items() if name != "bool"}
_BASE = {kind.name: kind for kind in types.BASE_TYPES}


_DAMAGED = "the file of -k is damaged, or of a version of BTF that sonde does not know: take it anew from its kernel"


class KernelTypes:
    """The types of the kernel and of its modules.

    A module of None means the kernel, then any loaded module; a module that one, then the kernel; `vmlinux` and
    `kernel` the kernel alone. Where there is
    no BTF nothing is found.

    `asked` are the (kind, name) of what has been found by its name or whose members have been looked at: `struct`,
    `union`, `enum`, `typedef`, `enumerator`, `variable`; and `function`, of the form module`name, where its type was.
    """

    def __init__(self, path: str = "/sys/kernel/btf", own: bytes | None = None) -> None:
        """`path` is a directory with a file `vmlinux` and one for each module, or the kernel's BTF alone, as it is or
        in an ELF file.

        `own` is the BTF of an engine that takes the kernel's place: it has all tracepoints, functions and data there
        are, and the kernel only has more types, as programs may find them in processes.
        """
        self._path = path
        self._main = VMLINUX if own is None else _OWN
        self.asked: set[tuple[str, str]] = set()
        self._sources: dict[str, _Source | None] = {}
        self._looked_up: dict[tuple[str, str], Type | None] = {}
        self._tracepoints: dict[str, Type] = {}
        if own is not None:
            self._sources[_OWN] = _Source(_OWN, Btf(own), None, self.asked)

    def type_named(self, name: str, module: str | None = None) -> Type | None:
        """A typedef or base type."""
        name = _DWARF_NAMES.get(name, name)
        found = self._find_type(name, module, (btf.TYPEDEF, btf.INT, btf.FLOAT))
        return self._noted("typedef", name, found)

    def tagged_type(self, keyword: str, name: str, module: str | None = None) -> Type | None:
        """A `struct`, `union` or `enum` by its tag."""
        return self._noted(keyword, name, self._find_type(name, module, _TAGGED[keyword]))

    def lookup(self, keyword: str, name: str) -> Type | None:
        """The type of a keyword ("" for a typedef) and a name, as `type_names.parse` asks."""
        key = keyword, name
        if key not in self._looked_up:
            self._looked_up[key] = self.tagged_type(keyword, name) if keyword else self.type_named(name)
        return self._looked_up[key]

    def enumerator(self, name: str) -> tuple[Type, int] | None:
        """An enumeration constant: its type and value."""
        found = self._locate(None, lambda data: data.find_enumerator(name)) or (
            self._locate(VMLINUX, lambda data: data.find_enumerator(name)) if self._main == _OWN else None
        )
        if found is None:
            return None
        self.asked.add(("enumerator", name))
        return found[0].type(found[1][0]), found[1][1]

    def variable(self, name: str, module: str | None = None) -> Type | None:
        """The type of a kernel variable; BTF has the per-CPU ones, and global ones on kernels that describe them."""
        found = self._locate(module, lambda data: data.find(name, btf.VAR))
        kind = found[0].type(found[0].btf.type(found[1]).type) if found else None
        return self._noted("variable", name, kind)

    def function(self, name: str, module: str | None = None) -> tuple[Function, tuple[str, ...]] | None:
        """A kernel function: its type and the names of its parameters."""
        found = self._locate(module, lambda data: data.find(name, btf.FUNC))
        return found[0].prototype(found[0].btf.type(found[1]).type) if found else None

    def tracepoint(self, name: str, module: str | None = None) -> tuple[Type, ...] | None:
        """The types of a tracepoint's arguments, from `typedef void (*btf_trace_NAME)(void *, ...)`
        (include/trace/bpf_probe.h); None if there is no such tracepoint."""
        found = self._tracepoints.get(name) or self._find(_TRACEPOINT + name, module, (btf.TYPEDEF,))
        if isinstance(found, Typedef) and isinstance(found.to, Pointer) and isinstance(found.to.to, Function):
            return found.to.to.parameters[1:]
        return None

    def tracepoint_parameters(self, name: str) -> tuple[str, ...] | None:
        """The names of a tracepoint's arguments, from the function that calls its probes, `__traceiter_NAME`
        (include/linux/tracepoint.h); None if there is no such tracepoint."""
        found = self.function(_CALLER + name)
        return found[1][1:] if found else None

    def tracepoint_arguments(self) -> dict[str, int]:
        """How many arguments each tracepoint has, by its name."""
        if not self._tracepoints:
            for source in self._search(None):
                try:
                    found = source.btf.find_prefix(_TRACEPOINT, btf.TYPEDEF)
                except BtfError:
                    continue
                self._tracepoints |= {name[len(_TRACEPOINT) :]: source.type(found[name]) for name in found}
        return {name: len(self.tracepoint(name) or ()) for name in self._tracepoints}

    def type_id(self, name: str, *kinds: int) -> int | None:
        """The kernel's BTF id of a name, as attach_btf_id takes it; None if it has none."""
        found = self._locate(self._main, lambda data: data.find(name, *kinds))
        return found[1] if found else None

    def names(self, prefix: str, module: str | None = None) -> list[str]:
        """What follows `prefix` in the names that the BTF of the kernel, or of a module, has with it, whatever they
        name."""
        source = self._source(self._main if module is None else module)
        return [name[len(prefix) :] for name in source.btf.names(prefix)] if source else []

    def modules(self) -> list[str]:
        """The loaded modules that have BTF, the kernel first."""
        if self._main == _OWN:
            return [_OWN]
        try:
            names = sorted(os.listdir(self._path))
        except NotADirectoryError:
            return [VMLINUX]
        except OSError:
            return []
        return [name for name in names if name == VMLINUX] + [name for name in names if name != VMLINUX]

    def build(self) -> str:
        """What tells one build of the kernel from another: a hash of its BTF, "" if it has none."""
        source = self._source(self._main)
        return source.btf.digest() if source else ""

    def _noted(self, kind: str, name: str, found: Type | None) -> Type | None:
        if found is not None:
            self.asked.add((kind, name))
        return found

    def _find_type(self, name: str, module: str | None, kinds: tuple[int, ...]) -> Type | None:
        """A type that may be the kernel's where an engine's own description has none of that name."""
        found = self._find(name, module, kinds)
        return found or (self._find(name, VMLINUX, kinds) if self._main == _OWN else None)

    def _find(self, name: str, module: str | None, kinds: tuple[int, ...]) -> Type | None:
        found = self._locate(module, lambda data: data.find(name, *kinds))
        return found[0].type(found[1]) if found else None

    def _locate(self, module: str | None, ask: Callable[[Btf], _T | None]) -> tuple[_Source, _T] | None:
        """The first source that answers, and its answer. A directory's of a newer kind is given up."""
        for source in self._search(module):
            try:
                found = ask(source.btf)
            except BtfError as error:
                if os.path.isfile(self._path):
                    raise source.damaged(error) from None
                self._sources[source.name] = None
                continue
            if found is not None:
                return source, found
        return None

    def _search(self, module: str | None) -> Iterator[_Source]:
        if module is None:
            names = self.modules()
        else:
            names = list(dict.fromkeys((VMLINUX if module == "kernel" else module, VMLINUX)))
        for name in names:
            source = self._source(name)
            if source:
                yield source

    def _source(self, module: str) -> _Source | None:
        if module not in self._sources:
            self._sources[module] = self._open(module)
        return self._sources[module]

    def _open(self, module: str) -> _Source | None:
        kernel = self._source(VMLINUX) if module != VMLINUX else None
        if module != VMLINUX and kernel is None:
            return None
        try:
            data = open_btf(self._file(module), kernel.btf if kernel else None)
            return _Source(module, data, kernel, self.asked)
        except (OSError, BtfError):
            return None

    def _file(self, module: str) -> str:
        if module == VMLINUX and os.path.isfile(self._path):
            return self._path
        return os.path.join(self._path, module)


def open_btf(path: str, base: Btf | None = None) -> Btf:
    """The BTF that a file is, or that an ELF file has. Raises OSError or BtfError."""
    with open_file(path, pseudo=True) as file:
        is_elf = file.read(4) == b"\x7fELF"
    if not is_elf:
        return Btf.open(path, base)

    try:
        section = elf_file.ElfFile.open(path).section(".BTF")
    except elf_file.ElfError as error:
        raise BtfError(str(error)) from None
    if section is None:
        raise BtfError("the ELF file has no section .BTF")
    return Btf(section, base)


class _Source:
    """One BTF blob and the types made from it; a module's refers to the kernel's for the kernel's ids."""

    def __init__(self, name: str, data: Btf, base: _Source | None, asked: set[tuple[str, str]]) -> None:
        self.name = name
        self._asked = asked
        self.btf = data
        self._base = base
        self._made: dict[int, Type] = {0: types.VOID}
        self._making: set[int] = set()
        """What is being made, of which a damaged one may consist."""

    def type(self, identifier: int) -> Type:
        """The type with this id; the same object each time."""
        if self._base and identifier < self.btf.first_id:
            return self._base.type(identifier)
        made = self._made.get(identifier)
        if made is None:
            if identifier in self._making:
                raise self.damaged(BtfError(f"BTF type {identifier} consists of itself"))
            self._making.add(identifier)
            made = self._made[identifier] = self._make(self._raw(identifier))
            self._making.discard(identifier)
        return made

    def damaged(self, error: BtfError) -> ProgramError:
        """What is wrong with the file, for people."""
        return ProgramError(f"the types of {self.name} cannot be read: {error}", hint=_DAMAGED)

    def _raw(self, identifier: int) -> BtfType:
        """Raises ProgramError."""
        try:
            return self.btf.type(identifier)
        except BtfError as error:
            raise self.damaged(error) from None

    def prototype(self, identifier: int) -> tuple[Function, tuple[str, ...]]:
        """A FUNC_PROTO as a type, and the names of its parameters."""
        raw = self._raw(identifier)
        named = [parameter for parameter in raw.parameters if parameter.type]
        variadic = len(named) < len(raw.parameters)
        kind = Function(self.type(raw.type), tuple(self.type(parameter.type) for parameter in named), variadic)
        return kind, tuple(parameter.name for parameter in named)

    def _make(self, raw: BtfType) -> Type:
        if raw.kind == btf.INT:
            return _integer(raw)
        if raw.kind == btf.PTR:
            return self._pointer(raw)
        if raw.kind == btf.ARRAY:
            return Array(self.type(raw.type), raw.length)
        if raw.kind in (btf.STRUCT, btf.UNION):
            keyword = "struct" if raw.kind == btf.STRUCT else "union"
            return Struct(keyword, raw.name, raw.size, self._loader(keyword, raw), one=self._finder(keyword, raw))
        if raw.kind in (btf.ENUM, btf.ENUM64):
            return Enum(raw.name, raw.size, raw.flag, tuple((value.name, value.value) for value in raw.values))
        if raw.kind == btf.FWD:
            return Struct("union" if raw.flag else "struct", raw.name, 0)
        if raw.kind == btf.TYPEDEF:
            return Typedef(raw.name, self.type(raw.type))
        if raw.kind in _QUALIFIERS:
            return Qualified(_QUALIFIERS[raw.kind], self.type(raw.type))
        if raw.kind == btf.FUNC_PROTO:
            return self.prototype(raw.id)[0]
        if raw.kind == btf.FLOAT:
            return Float(_SPELLINGS.get(raw.name, raw.name), raw.size)
        return self.type(raw.type)

    def _pointer(self, raw: BtfType) -> Pointer:
        """A pointer; the tag `user` on its target comes from __user (include/linux/compiler_types.h)."""
        target = self._raw(raw.type)
        return Pointer(self.type(raw.type), target.kind == btf.TYPE_TAG and target.name == "user")

    def _loader(self, keyword: str, raw: BtfType) -> Callable[[], tuple[Member, ...]]:
        identifier, name = raw.id, raw.name

        def load() -> tuple[Member, ...]:
            if name:
                self._asked.add((keyword, name))
            return tuple(map(self._member, self._raw(identifier).members))

        return load

    def _finder(self, keyword: str, raw: BtfType) -> Callable[[str], Member | None]:
        identifier, name = raw.id, raw.name
        known: dict[str, BtfMember] = {}

        def find(wanted: str) -> Member | None:
            if not known:
                if name:
                    self._asked.add((keyword, name))
                # Of several of one name the first counts; those without one are looked into (Struct.find).
                known.update((each.name, each) for each in reversed(self._raw(identifier).members) if each.name)
            return self._member(known[wanted]) if wanted in known else None

        return find

    def _member(self, raw: BtfMember) -> Member:
        return Member(raw.name, self.type(raw.type), raw.offset, raw.bits)


def _integer(raw: BtfType) -> Int:
    name = _SPELLINGS.get(raw.name, raw.name)
    signed = bool(raw.encoding & btf.INT_SIGNED)
    base = _BASE.get(name)
    if isinstance(base, Int) and base.size == raw.size and base.signed == signed:
        return base
    # `char` has INT_CHAR or nothing according to the compiler; it is signed as C has it here.
    return types.CHAR if name == "char" and raw.size == 1 else Int(name, raw.size, signed)
