"""Which function checks a call, beside those of `calls.py`, and how many arguments it takes."""

from __future__ import annotations

from collections.abc import Callable

from sonde.frontends.bpftrace.check import (
    addresses,
    buffers,
    deferred,
    elements,
    failing,
    joining,
    numbers,
    parameters,
    predicates,
    shown_numbers,
    signals,
    stacks,
    tasks,
    texts,
)
from sonde.frontends.bpftrace.check.scope import BtScope
from sonde.frontends.bpftrace.syntax import nodes
from sonde.model.program import Expr, Statement
from sonde.typed import NamedTuple, TypeAlias

Check: TypeAlias = Callable[[nodes.Call, list[nodes.Expr], BtScope], Expr]


class ValueCall(NamedTuple):
    """A function with a value: the fewest and most arguments, and what checks it."""

    least: int
    most: int
    check: Check


def _config(call: nodes.Call, arguments: list[nodes.Expr], scope: BtScope) -> Expr:
    from sonde.frontends.bpftrace.check.config_record import config_record  # few programs look at settings

    return config_record(call, arguments, scope)


def _of_data(call: nodes.Call, arguments: list[nodes.Expr], scope: BtScope) -> Expr:
    from sonde.frontends.bpftrace.check.data_addresses import of_process  # few programs look at data

    return of_process(call, arguments, scope)


VALUES: dict[str, ValueCall] = {
    "strftime": ValueCall(2, 2, shown_numbers.strftime),
    "strerror": ValueCall(1, 1, shown_numbers.strerror),
    "signal_name": ValueCall(1, 1, shown_numbers.signal_name),
    "syscall_name": ValueCall(1, 1, shown_numbers.call_name),
    "cgroup_path": ValueCall(1, 2, shown_numbers.group_path),
    "macaddr": ValueCall(1, 1, shown_numbers.macaddr),
    "ntop": ValueCall(1, 2, shown_numbers.ntop),
    "bswap": ValueCall(1, 1, numbers.bswap),
    "uptr": ValueCall(1, 1, numbers.of_space(True)),
    "kptr": ValueCall(1, 1, numbers.of_space(False)),
    "nsecs": ValueCall(0, 1, numbers.clock),
    "len": ValueCall(1, 1, elements.length),
    "find": ValueCall(3, 3, elements.find),
    "pid": ValueCall(0, 1, tasks.number_of("pid", "tgid")),
    "tid": ValueCall(0, 1, tasks.number_of("tid", "pid")),
    "ppid": ValueCall(0, 1, tasks.parent),
    "pcomm": ValueCall(0, 1, tasks.relative("real_parent", "comm")),
    "leader_comm": ValueCall(0, 1, tasks.relative("group_leader", "comm")),
    "leader_tid": ValueCall(0, 1, tasks.relative("group_leader", "pid")),
    "ncpus": ValueCall(0, 0, tasks.processors),
    "has_cpid": ValueCall(0, 0, tasks.has_child),
    "cgroup": ValueCall(0, 0, tasks.control_group),
    "cgroupid": ValueCall(1, 1, addresses.group_of_path),
    "is_ptr": ValueCall(1, 1, predicates.of_type(predicates.is_pointer_type)),
    "is_array": ValueCall(1, 1, predicates.of_type(predicates.is_array_type)),
    "is_str": ValueCall(1, 1, predicates.of_type(predicates.is_string_type)),
    "is_integer": ValueCall(1, 1, predicates.of_type(predicates.is_integer_type)),
    "is_unsigned_integer": ValueCall(1, 1, predicates.of_type(predicates.is_unsigned)),
    "is_literal": ValueCall(1, 1, predicates.is_literal),
    "is_err": ValueCall(1, 1, predicates.is_error),
    "buf": ValueCall(1, 2, buffers.buffer),
    "pton": ValueCall(1, 1, buffers.address),
    "kstack": ValueCall(0, 2, stacks.stack),
    "ustack": ValueCall(0, 2, stacks.stack),
    "ksym": ValueCall(1, 1, stacks.symbol),
    "usym": ValueCall(1, 1, stacks.symbol),
    "strlen": ValueCall(1, 1, texts.length),
    "strcap": ValueCall(1, 1, texts.capacity),
    "strstr": ValueCall(2, 2, texts.index),
    "strcontains": ValueCall(2, 2, texts.contains),
    "strncmp": ValueCall(3, 3, texts.compared),
    "memcmp": ValueCall(3, 3, texts.ordered),
    "str_concat": ValueCall(2, 2, texts.joined),
    "default_str_length": ValueCall(0, 0, texts.default_length),
    "kaddr": ValueCall(1, 1, addresses.of_kernel),
    "config": ValueCall(0, 0, _config),
    "uaddr": ValueCall(1, 1, _of_data),
    "reg": ValueCall(1, 1, addresses.register),
    "socket_cookie": ValueCall(1, 1, addresses.cookie),
    "path": ValueCall(1, 2, addresses.path),
    "kfunc_exist": ValueCall(1, 1, addresses.has_kernel_function),
    "kfunc_allowed": ValueCall(1, 1, addresses.may_call),
    "write_user": ValueCall(3, 3, addresses.write),
    "getopt": ValueCall(1, 3, parameters.getopt),
}

ACTIONS: dict[str, Callable[[nodes.Call, BtScope], Statement]] = {
    "cat": deferred.cat, "time": deferred.time, "warnf": deferred.complaint, "errorf": deferred.complaint,
    "assert": failing.assertion, "fail": failing.failure, "static_assert": predicates.static_assert,
    "assert_str": predicates.assert_string, "signal": signals.send, "join": joining.join, "signal_thread": signals.send,
}  # fmt: skip
