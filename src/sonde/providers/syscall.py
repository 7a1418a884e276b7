"""The `syscall` provider: `syscall:vmlinux:NAME:entry` and `return` for every system call.

A call has the name of the function that implements it, as its trace events have (`newstat`); a description may also
use the call's own name (`stat`). Calls made through the 32-bit table are probes of their own in a module of
their own, named as that table names them. A description that leaves the module empty and names one call means the
64-bit call, if there is one of that name; otherwise it means both kinds.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from sonde import arch
from sonde.arch import is_this_machines, system_calls
from sonde.model import types
from sonde.model.catalog import TypedArgument
from sonde.model.probe import Probe, Syscall
from sonde.model.types import Int, Pointer, Type, resolve, size_of
from sonde.providers import type_names
from sonde.providers.pattern import Pattern, matcher, matches, plain
from sonde.providers.provider import SYSCALL
from sonde.providers.syscall_inputs import inputs
from sonde.typed import NamedTuple
from sonde.untrusted import lines

NATIVE = "vmlinux"
_COMPAT_OFFSET = 1500
VSYSCALL32 = "/proc/sys/abi/vsyscall32"
"""There on 64-bit kernels that run 32-bit programs."""
_SIDES = ("entry", "return")

NamesByPrefix = Callable[[str], list[str]]
"""The names of kernel functions that start with a prefix, without it."""

HasCall = Callable[[int, bool], bool | None]
"""Whether a call, of the 32-bit table or not, can fire; None: as this kernel has it."""


class SystemCall(NamedTuple):
    """A row of a system call table; `arguments` is `type name, type name`, None if not known. `is_shared`: the call has
    the arguments of the 64-bit call that `alias` names."""

    number: int
    name: str
    alias: str
    arguments: str | None
    is_shared: bool


class _Table:
    """A system call table, read from its text at the first question."""

    def __init__(self, text: str) -> None:
        calls = [_call(line) for line in lines(text)]
        self.by_number = {call.number: call for call in calls}
        self.by_name = {call.name: call for call in calls}
        self.by_alias = {call.alias: call for call in calls}


class SyscallProvider:
    def __init__(
        self,
        functions: NamesByPrefix,
        lookup: type_names.Lookup,
        tracefs: str,
        architecture: str = "",
        vsyscall32: str = VSYSCALL32,
        has_call: HasCall | None = None,
    ) -> None:
        """`functions` finds what this kernel has, `lookup` the types of its structures; neither is asked before it is
        needed. Where the events below `tracefs` can be read they tell which 64-bit calls there are; that the file
        `vsyscall32` is there, that the kernel has 32-bit ones. `architecture` is that of the kernel's machine, by
        default of this one; of another the calls are not known. `has_call` knows better than the kernel."""
        self._modules = (NATIVE, system_calls.COMPAT_MODULE) if is_this_machines(architecture) else ()
        self._functions = functions
        self._vsyscall32 = vsyscall32
        self._has_call = has_call
        self._lookup = lookup
        self._events = os.path.join(tracefs, "events", "syscalls")
        self._tables: dict[str, _Table] = {}

    def match(self, pattern: Pattern) -> Sequence[Probe]:
        sides = [side for side, name in enumerate(_SIDES) if matches(pattern.name, name)]
        if not sides:
            return ()
        found = [self._probe(call, module, side) for module, call in self._calls(pattern) for side in sides]
        return sorted(found)

    def by_id(self, identifier: int) -> Probe | None:
        index, side = divmod(identifier - SYSCALL.first, 2)
        module = NATIVE if index < _COMPAT_OFFSET // 2 else system_calls.COMPAT_MODULE
        call = self._table(module).by_number.get(index % (_COMPAT_OFFSET // 2))
        return self._probe(call, module, side) if call and module in self._modules else None

    def arguments(self, probe: Probe) -> tuple[TypedArgument, ...] | None:
        firing = probe.firing
        if not isinstance(firing, Syscall):
            return None
        if firing.is_return:
            return (TypedArgument(types.LONG, types.LONG, 0),)
        parameters = self._parameters(probe)
        if parameters is None:
            return None
        natives = [self._type(text, firing.compat) for text in parameters]
        return tuple(TypedArgument(native, native, index) for index, native in enumerate(natives))

    def argument_names(self, probe: Probe) -> tuple[str, ...] | None:
        """The names of the parameters; at a return `ret`, as the trace event has it."""
        if probe.name == _SIDES[1]:
            return ("ret",)
        parameters = self._parameters(probe)
        return None if parameters is None else tuple(text.rpartition(" ")[2] for text in parameters)

    def _parameters(self, probe: Probe) -> list[str] | None:
        """Type and name of each, None where they are not known."""
        firing = probe.firing
        if not isinstance(firing, Syscall):
            return None
        declared = self._declared(self._table(probe.module).by_number[firing.number], probe.module)
        return None if declared is None else [text for text in declared.split(", ") if text]

    def _declared(self, call: SystemCall, module: str) -> str | None:
        """The call's arguments, those of the 64-bit call where a 32-bit one shares them."""
        if module == NATIVE or not call.is_shared:
            return call.arguments
        like = self._table(NATIVE).by_alias.get(call.alias)
        return like.arguments if like else None

    def _probe(self, call: SystemCall, module: str, side: int) -> Probe:
        compat = module == system_calls.COMPAT_MODULE
        identifier = SYSCALL.first + 2 * call.number + side + (_COMPAT_OFFSET if compat else 0)
        read = 0 if side else inputs(call.name, self._declared(call, module))
        firing = Syscall(call.number, call.name, bool(side), compat, read)
        return Probe(identifier, "syscall", module, call.name, _SIDES[side], firing)

    def _calls(self, pattern: Pattern) -> list[tuple[str, SystemCall]]:
        """Who names calls without a table means the 64-bit ones, unless only the other table has such."""
        name = plain(pattern.function)
        if name:
            named = [(module, self._named(module, name)) for module in self._modules if matches(pattern.module, module)]
            calls = [(module, call) for module, call in named if call]
            return calls if pattern.module else calls[:1]
        test = matcher(pattern.function)
        found = [
            (module, call)
            for module in self._modules
            if matches(pattern.module, module)
            for call in self._present(module)
            if test(call.name)
        ]
        if pattern.module or pattern.function in ("", "*"):
            return found
        return [(module, call) for module, call in found if module == NATIVE] or found

    def _named(self, module: str, name: str) -> SystemCall | None:
        table = self._table(module)
        return table.by_name.get(name) or (table.by_alias.get(name) if module == NATIVE else None)

    def _present(self, module: str) -> list[SystemCall]:
        """The calls of a table that this kernel has; all of them where it cannot be asked."""
        calls = self._table(module).by_number.values()
        is_compat = module == system_calls.COMPAT_MODULE
        if self._has_call is not None:
            told = [(call, self._has_call(call.number, is_compat)) for call in calls]
            if all(there is not None for _, there in told):
                return [call for call, there in told if there]
        if is_compat:
            return list(calls) if os.path.exists(self._vsyscall32) else []
        names = self._event_names()
        if not names:
            names = {*self._functions(system_calls.KERNEL_FUNCTION), *self._functions("__do_sys_")}
        return [call for call in calls if call.name in names] if names else list(calls)

    def _event_names(self) -> set[str]:
        try:
            return {
                name.removeprefix("sys_enter_") for name in os.listdir(self._events) if name.startswith("sys_enter_")
            }
        except OSError:
            return set()

    def _table(self, module: str) -> _Table:
        table = self._tables.get(module)
        if table is None:
            table = self._tables[module] = _Table(_rows(module))
        return table

    def _type(self, text: str, compat: bool) -> Type:
        """The type of a parameter given as `type name`; a `long` where the type is not known."""
        spelling = text.rpartition(" ")[0]
        found = type_names.parse(spelling, self._lookup, user=True) or types.LONG
        return _narrow(found) if compat else found


def _rows(module: str) -> str:
    # Each of the tables takes time to be read, and few programs are about 32-bit calls.
    return arch.syscalls.CALLS if module == NATIVE else arch.compat_syscalls.CALLS


def _call(line: str) -> SystemCall:
    """A row of a table; one that names a call without arguments of its own shares those of that call."""
    head, parenthesis, arguments = line.partition("(")
    number, _, names = head.partition(" ")
    name, equals, alias = names.partition("=")
    known = arguments[:-1] if parenthesis else None
    return SystemCall(int(number), name, alias or name, known, bool(equals) and not parenthesis)


def _narrow(kind: Type) -> Type:
    """The type a 32-bit caller means: longs have four bytes, and what has pointers or longs in it another layout."""
    base = resolve(kind)
    if isinstance(base, Pointer):
        target = resolve(base.to)
        simple = target == types.VOID or (isinstance(target, Int) and target.size <= 4)
        return kind if simple else Pointer(types.VOID, user=True)
    if isinstance(base, Int) and size_of(base) > 4:
        return types.INT if base.signed else types.UINT
    return kind
