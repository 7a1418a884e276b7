"""Functions that look up addresses, registers, control groups and sockets."""

from __future__ import annotations

import os

from sonde.arch import languages
from sonde.frontends.bpftrace.check.conversions import constant, constant_value, integer_value, literal_text
from sonde.frontends.bpftrace.check.held_values import held
from sonde.frontends.bpftrace.check.numbers import member_of
from sonde.frontends.bpftrace.check.scope import SAMPLED, BtScope
from sonde.frontends.bpftrace.check.types import UINT64, base_name, is_scalar, is_text
from sonde.frontends.bpftrace.check.value_call import ValueCall
from sonde.frontends.bpftrace.syntax import nodes
from sonde.model import program as tree
from sonde.model.program import Expr
from sonde.model.types import BOOL, INT, STRING, ULONG, VOID, Array, Pointer, resolve


def _name(call: nodes.Call, argument: nodes.Expr, scope: BtScope) -> str:
    return literal_text(argument, scope, f"{call.name}()", call.at).decode(errors="surrogateescape")


def of_kernel(call: nodes.Call, arguments: list[nodes.Expr], scope: BtScope) -> Expr:
    """kaddr(name): where a symbol of the kernel is, a pointer to u64."""
    name, at = _name(call, arguments[0], scope), scope.at(call.at)
    found = scope.catalog.symbol(name)
    if found is None or not found.address:
        raise scope.mistake(f"Failed to resolve kernel symbol: {name}", call.at, _WITHOUT_DATA)
    return tree.Cast(Pointer(UINT64), at, constant(found.address, at, UINT64))


def register(call: nodes.Call, arguments: list[nodes.Expr], scope: BtScope) -> Expr:
    """reg(name): a register of what the probe has interrupted."""
    name, at = _name(call, arguments[0], scope), scope.at(call.at)
    if name not in languages.REGISTER_ORDER:
        names = ", ".join(sorted(languages.REGISTER_ORDER))
        raise scope.mistake(f"'{name}' is not a valid register on this architecture: there are {names}", call.at)
    number = languages.REGISTER_ORDER.index(name)
    if scope.attached.kind in _OF_PROCESSES:
        registers = tree.Builtin(Array(ULONG, languages.INDEXES), at, "uregs")
        return tree.Cast(UINT64, at, tree.Index(ULONG, at, registers, constant(number, at)))
    if scope.attached.kind not in (*_OF_KERNEL, *SAMPLED):
        raise scope.mistake(f'reg can not be used with "{scope.attached.kind}" probes', call.at)
    # Where the kernel keeps a struct pt_regs; of a sample it is what the event's structure leads to first
    # (struct bpf_perf_event_data_kern, include/linux/perf_event.h).
    saved: Expr = tree.Cast(UINT64, at, tree.Builtin(Pointer(UINT64), at, "__context"))
    if scope.attached.kind in SAMPLED:
        saved = tree.Deref(UINT64, at, tree.Cast(Pointer(UINT64), at, saved))
    place = tree.Binary(UINT64, at, "+", saved, constant(8 * number, at, UINT64))
    return tree.Deref(UINT64, at, tree.Cast(Pointer(UINT64), at, place))


_OF_PROCESSES = ("uprobe", "uretprobe", "usdt")
_OF_KERNEL = ("kprobe", "kretprobe")


def group_of_path(call: nodes.Call, arguments: list[nodes.Expr], scope: BtScope) -> Expr:
    """cgroupid(path): the number of a control group, which is its directory's inode."""
    path = _name(call, arguments[0], scope)
    try:
        found = os.stat(path).st_ino
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it has a NUL"
        raise scope.mistake(f"Failed to get cgroup ID of {path}: {reason}", call.at) from None
    return constant(found, scope.at(call.at), UINT64)


def cookie(call: nodes.Call, arguments: list[nodes.Expr], scope: BtScope) -> Expr:
    """socket_cookie(sock): the number that the socket has, 0 of none; it is given none here."""
    at = scope.at(call.at)
    kind = scope.types.tagged_type("struct", "sock")
    sock = scope.expression(arguments[0], scope)
    if kind is None:
        raise scope.mistake("struct sock is not known here", call.at)
    base = resolve(sock.type)
    if not isinstance(base, Pointer):
        raise scope.mistake("socket_cookie() only supports pointer arguments", call.at)
    sock = held(sock, "sock", call.at, scope)
    common = member_of(tree.Cast(Pointer(kind), at, sock), "__sk_common", call.at, scope)
    counter = _inner(common, ("skc_cookie", "counter"), call, scope)
    return tree.Conditional(UINT64, at, sock, tree.Cast(UINT64, at, counter), constant(0, at, UINT64))


def _inner(of: Expr, names: tuple[str, ...], call: nodes.Call, scope: BtScope) -> Expr:
    """A member of a member."""
    for name in names:
        structure = resolve(of.type)
        member = getattr(structure, "find", lambda _: None)(name)
        if member is None:
            raise scope.mistake(f"{structure} has no '{name}' to be found", call.at)
        of = tree.MemberOf(member.type, of.position, of, member)
    return of


def path(call: nodes.Call, arguments: list[nodes.Expr], scope: BtScope) -> Expr:
    """path(struct path *, [size]): its name; one that is too long loses its beginning."""
    at = scope.at(call.at)
    e = scope.expression(arguments[0], scope)
    kind = scope.types.tagged_type("struct", "path")
    if kind is not None and resolve(e.type) == resolve(kind):
        e = tree.AddressOf(Pointer(kind), at, e)
    if not isinstance(resolve(e.type), Pointer) or kind is None:
        text = f"path() only supports pointer or C type argument ({base_name(e.type)} provided)"
        raise scope.mistake(text, call.at)
    whole = tree.Call(STRING, at, "d_path", (tree.Cast(Pointer(kind), at, e),))
    if len(arguments) < 2:
        return whole
    most = constant_value(arguments[1], scope, "path(): the size") - 1
    if most < 1:
        raise scope.mistake("path(): the size must be greater than 1", arguments[1].at)
    longer = tree.Binary(INT, at, ">", tree.Call(UINT64, at, "strlen", (whole,)), constant(most, at, UINT64))
    end = tree.Call(STRING, at, "substr", (whole, constant(-most, at, INT)))
    return tree.Conditional(STRING, at, longer, end, whole)


def has_kernel_function(call: nodes.Call, arguments: list[nodes.Expr], scope: BtScope) -> Expr:
    """kfunc_exist(name): whether the kernel has a symbol of that name."""
    name = _name(call, arguments[0], scope)
    found = scope.catalog.symbol(name) is not None or bool(scope.catalog.match("fbt", "", name, "entry"))
    return tree.Const(BOOL, scope.at(call.at), int(found))


def may_call(call: nodes.Call, arguments: list[nodes.Expr], scope: BtScope) -> Expr:
    """kfunc_allowed(name): no program of sonde calls functions of the kernel but helpers."""
    _name(call, arguments[0], scope)
    return tree.Const(BOOL, scope.at(call.at), 0)


def write(call: nodes.Call, arguments: list[nodes.Expr], scope: BtScope) -> Expr:
    """write_user(address, source, size): into the process's memory; where that cannot be, the clause ends."""
    if not scope.is_unsafe:
        raise scope.mistake("write_user() is unsafe. To use you need the --unsafe flag", call.at)
    at = scope.at(call.at)
    target = scope.expression(arguments[0], scope)
    source = scope.expression(arguments[1], scope)
    size = integer_value(arguments[2], scope, "write_user()")
    if not is_scalar(target.type):
        raise scope.mistake("write_user() expects an address as its first argument", arguments[0].at)
    to = tree.Cast(UINT64, at, target)
    if is_text(source.type):
        done = tree.Call(VOID, at, "copyoutstr", (tree.Cast(STRING, at, source), to, size))
    elif isinstance(resolve(source.type), Pointer):
        done = tree.Call(VOID, at, "copyout", (source, to, size))
    else:
        raise scope.mistake("write_user() expects a string or a pointer as its second argument", arguments[1].at)
    return tree.Comma(BOOL, at, done, tree.Const(BOOL, at, 1))


def of_processor(call: nodes.Call, arguments: list[nodes.Expr], scope: BtScope) -> Expr:
    """percpu_kaddr(name, [cpu]): where a variable of the kernel is that each CPU has of its own, of this CPU or of
    another, NULL for a CPU that there is not. The kernel's symbol is an offset from the CPU's own area."""
    name, at = _name(call, arguments[0], scope), scope.at(call.at)
    symbol, areas = scope.catalog.symbol(name), scope.catalog.symbol("__per_cpu_offset")
    if symbol is None or areas is None or not areas.address:
        raise scope.mistake(f"Failed to resolve kernel symbol: {name}", call.at, _WITHOUT_DATA)
    cpu = integer_value(arguments[1], scope, "percpu_kaddr()") if len(arguments) > 1 else None
    number = tree.Builtin(UINT64, at, "cpu") if cpu is None else held(tree.Cast(UINT64, at, cpu), "cpu", call.at, scope)
    start = tree.Binary(UINT64, at, "*", number, constant(8, at, UINT64))
    slot = tree.Binary(UINT64, at, "+", start, constant(areas.address, at, UINT64))
    area = tree.Deref(UINT64, at, tree.Cast(Pointer(UINT64), at, slot))
    found = tree.Binary(UINT64, at, "+", area, constant(symbol.address, at, UINT64))
    pointer = tree.Cast(Pointer(UINT64), at, found)
    if cpu is None:
        return pointer
    is_there = tree.Binary(INT, at, "<", number, constant(os.sysconf("SC_NPROCESSORS_CONF"), at, UINT64))
    return tree.Conditional(pointer.type, at, is_there, pointer, tree.Cast(pointer.type, at, constant(0, at, UINT64)))


_WITHOUT_DATA = "/proc/kallsyms has functions alone where the kernel is built without CONFIG_KALLSYMS_ALL"


VALUES: dict[str, ValueCall] = {
    "cgroupid": ValueCall(1, 1, group_of_path),
    "kaddr": ValueCall(1, 1, of_kernel),
    "percpu_kaddr": ValueCall(1, 2, of_processor),
    "reg": ValueCall(1, 1, register),
    "socket_cookie": ValueCall(1, 1, cookie),
    "path": ValueCall(1, 2, path),
    "kfunc_exist": ValueCall(1, 1, has_kernel_function),
    "kfunc_allowed": ValueCall(1, 1, may_call),
    "write_user": ValueCall(3, 3, write),
}
