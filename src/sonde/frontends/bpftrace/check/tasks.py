"""Functions of the thread, of its relatives, and of the machine."""

from __future__ import annotations

import os
from collections.abc import Callable

from sonde.frontends.bpftrace.check.conversions import constant, integer_value
from sonde.frontends.bpftrace.check.deferred import place_of
from sonde.frontends.bpftrace.check.held_values import held
from sonde.frontends.bpftrace.check.numbers import member_of
from sonde.frontends.bpftrace.check.scope import BtScope
from sonde.frontends.bpftrace.check.types import UINT32, UINT64
from sonde.frontends.bpftrace.check.value_call import ValueCall
from sonde.frontends.bpftrace.errors import SourceSpan
from sonde.frontends.bpftrace.syntax import nodes
from sonde.model import program as tree
from sonde.model.conversions import Conversion
from sonde.model.program import Expr
from sonde.model.types import BOOL, INT, STRING, Pointer

_NAMESPACES = ("curr_ns", "init")


def number_of(name: str, member: str) -> Callable[[nodes.Call, list[nodes.Expr], BtScope], Expr]:
    """pid([namespace]) and tid([namespace]): in the namespace of the tracer, or in the initial one."""

    def made(call: nodes.Call, arguments: list[nodes.Expr], scope: BtScope) -> Expr:
        at = scope.at(call.at)
        wanted, of = "curr_ns", arguments[0] if arguments else None
        if of is not None and not isinstance(of, nodes.Name):
            raise scope.mistake(f"{call.name}() only supports curr_ns and init as the argument", call.at)
        if of is not None:
            wanted = of.name
        if of is not None and wanted not in _NAMESPACES:
            raise scope.mistake(f"Invalid PID namespace mode: {wanted} (expects: {' or '.join(_NAMESPACES)})", of.at)
        if wanted == "curr_ns":
            return tree.Builtin(UINT32, at, name)
        return tree.Cast(UINT32, at, member_of(_task(call.at, scope), member, call.at, scope))

    return made


def _task(span: SourceSpan, scope: BtScope) -> Expr:
    found = scope.types.tagged_type("struct", "task_struct")
    if found is None:
        raise scope.mistake("struct task_struct is not known here", span)
    return tree.Builtin(Pointer(found), scope.at(span), "curthread")


def relative(name: str, member: str) -> Callable[[nodes.Call, list[nodes.Expr], BtScope], Expr]:
    """The name or number of the thread that `name` of a task, or of this one, leads to."""

    def made(call: nodes.Call, arguments: list[nodes.Expr], scope: BtScope) -> Expr:
        at = scope.at(call.at)
        task = scope.expression(arguments[0], scope) if arguments else _task(call.at, scope)
        found = member_of(member_of(task, name, call.at, scope), member, call.at, scope)
        return tree.Cast(STRING if member == "comm" else UINT32, at, found)

    return made


def name(call: nodes.Call, arguments: list[nodes.Expr], scope: BtScope) -> Expr:
    """comm([pid]): the name of this thread or, by its number, of a process; "N/A", and a warning, where there is
    none."""
    at = scope.at(call.at)
    if not arguments:
        return tree.Builtin(STRING, at, "execname")
    structure = scope.types.tagged_type("struct", "task_struct")
    if structure is None:
        raise scope.mistake("struct task_struct is not known here", call.at)
    number = held(integer_value(arguments[0], scope, "comm()"), "number", call.at, scope)
    task = held(tree.Call(Pointer(structure), at, "__task_numbered", (number,)), "task", call.at, scope)
    pieces = (Conversion(f"{place_of(call.at, scope)}: WARNING: No such process (pid=", letters="lld"), Conversion(")"))
    told = tree.FormattedCommand(at, "warnf", pieces, (number,))
    scope.before[-1].append(tree.If(at, tree.Unary(INT, at, "!", task), (told,), ()))
    text = tree.Cast(STRING, at, member_of(task, "comm", call.at, scope))
    return tree.Conditional(STRING, at, task, text, tree.StringConst(STRING, at, b"N/A"))


def parent(call: nodes.Call, arguments: list[nodes.Expr], scope: BtScope) -> Expr:
    """ppid([task]): the process that has started this one, or that of a task."""
    at = scope.at(call.at)
    if not arguments:
        return tree.Builtin(UINT32, at, "ppid")
    return relative("real_parent", "tgid")(call, arguments, scope)


def processors(call: nodes.Call, arguments: list[nodes.Expr], scope: BtScope) -> Expr:
    """ncpus: those that the machine may have."""
    return constant(os.sysconf("SC_NPROCESSORS_CONF"), scope.at(call.at), UINT64)


def has_child(call: nodes.Call, arguments: list[nodes.Expr], scope: BtScope) -> Expr:
    """has_cpid: whether there is a process of -c."""
    at = scope.at(call.at)
    child = tree.Builtin(UINT32, at, "$target")
    return tree.Cast(BOOL, at, tree.Binary(INT, at, "!=", child, constant(0, at, UINT32)))


def control_group(call: nodes.Call, arguments: list[nodes.Expr], scope: BtScope) -> Expr:
    """cgroup: the number of the process's control group, of version 2."""
    return tree.Builtin(UINT64, scope.at(call.at), "cgroup")


VALUES: dict[str, ValueCall] = {
    "pid": ValueCall(0, 1, number_of("pid", "tgid")),
    "tid": ValueCall(0, 1, number_of("tid", "pid")),
    "ppid": ValueCall(0, 1, parent),
    "pcomm": ValueCall(0, 1, relative("real_parent", "comm")),
    "leader_comm": ValueCall(0, 1, relative("group_leader", "comm")),
    "leader_tid": ValueCall(0, 1, relative("group_leader", "pid")),
    "comm": ValueCall(0, 1, name),
    "ncpus": ValueCall(0, 0, processors),
    "has_cpid": ValueCall(0, 0, has_child),
    "cgroup": ValueCall(0, 0, control_group),
}
