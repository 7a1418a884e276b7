"""Which file checks a call of a function, beside those of `calls.py`: it is imported where a program has one."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sonde.frontends.bpftrace.check import (
    addresses,
    buffers,
    config_record,
    data_addresses,
    deferred,
    elements,
    failing,
    joining,
    kernel_log,
    number_names,
    numbers,
    overriding,
    parameters,
    predicates,
    saved_packets,
    shown_numbers,
    signals,
    stacks,
    tasks,
    texts,
    unwatched,
)
from sonde.frontends.bpftrace.check.value_call import Action, ValueCall
from sonde.typed import TypeAlias

Values: TypeAlias = Callable[[], Mapping[str, ValueCall]]
Actions: TypeAlias = Callable[[], Mapping[str, Action]]


def value_call(name: str) -> ValueCall | None:
    """The function of this name, if there is one that has a value."""
    home = VALUES.get(name)
    return home()[name] if home is not None else None


def action_call(name: str) -> Action | None:
    """What checks a call of the function of this name, if there is one that is a statement."""
    home = ACTIONS.get(name)
    return home()[name] if home is not None else None


def _addresses() -> Mapping[str, ValueCall]:
    return addresses.VALUES


def _buffers() -> Mapping[str, ValueCall]:
    return buffers.VALUES


def _config_record() -> Mapping[str, ValueCall]:
    return config_record.VALUES


def _data_addresses() -> Mapping[str, ValueCall]:
    return data_addresses.VALUES


def _deferred_actions() -> Mapping[str, Action]:
    return deferred.ACTIONS


def _elements() -> Mapping[str, ValueCall]:
    return elements.VALUES


def _failing_actions() -> Mapping[str, Action]:
    return failing.ACTIONS


def _joining_actions() -> Mapping[str, Action]:
    return joining.ACTIONS


def _kernel_log_actions() -> Mapping[str, Action]:
    return kernel_log.ACTIONS


def _unwatched_actions() -> Mapping[str, Action]:
    return unwatched.ACTIONS


def _number_names() -> Mapping[str, ValueCall]:
    return number_names.VALUES


def _numbers() -> Mapping[str, ValueCall]:
    return numbers.VALUES


def _parameters() -> Mapping[str, ValueCall]:
    return parameters.VALUES


def _overriding_actions() -> Mapping[str, Action]:
    return overriding.ACTIONS


def _packets() -> Mapping[str, ValueCall]:
    return saved_packets.VALUES


def _predicates() -> Mapping[str, ValueCall]:
    return predicates.VALUES


def _predicates_actions() -> Mapping[str, Action]:
    return predicates.ACTIONS


def _shown_numbers() -> Mapping[str, ValueCall]:
    return shown_numbers.VALUES


def _signals_actions() -> Mapping[str, Action]:
    return signals.ACTIONS


def _stacks() -> Mapping[str, ValueCall]:
    return stacks.VALUES


def _tasks() -> Mapping[str, ValueCall]:
    return tasks.VALUES


def _texts() -> Mapping[str, ValueCall]:
    return texts.VALUES


VALUES: dict[str, Values] = {
    **dict.fromkeys(
        (
            "cgroupid",
            "kaddr",
            "percpu_kaddr",
            "reg",
            "socket_cookie",
            "path",
            "kfunc_exist",
            "kfunc_allowed",
            "write_user",
        ),
        _addresses,
    ),
    **dict.fromkeys(("buf", "pton"), _buffers),
    **dict.fromkeys(("config",), _config_record),
    **dict.fromkeys(("uaddr",), _data_addresses),
    **dict.fromkeys(("len", "find"), _elements),
    **dict.fromkeys(("bswap", "uptr", "kptr", "nsecs"), _numbers),
    **dict.fromkeys(("getopt",), _parameters),
    **dict.fromkeys(("skboutput",), _packets),
    **dict.fromkeys(
        ("is_ptr", "is_array", "is_str", "is_integer", "is_unsigned_integer", "is_literal", "is_scalar", "is_err"),
        _predicates,
    ),
    **dict.fromkeys(("strerror", "signal_name", "syscall_name"), _number_names),
    **dict.fromkeys(("strftime", "cgroup_path", "macaddr", "ntop"), _shown_numbers),
    **dict.fromkeys(("kstack", "ustack", "dw_ustack", "ksym", "usym"), _stacks),
    **dict.fromkeys(
        ("pid", "tid", "ppid", "pcomm", "leader_comm", "leader_tid", "comm", "ncpus", "has_cpid", "cgroup"), _tasks
    ),
    **dict.fromkeys(
        ("strlen", "strcap", "strstr", "strcontains", "strncmp", "memcmp", "str_concat", "default_str_length"), _texts
    ),
}

ACTIONS: dict[str, Actions] = {
    **dict.fromkeys(("cat", "time", "warnf", "errorf"), _deferred_actions),
    **dict.fromkeys(("assert", "fail"), _failing_actions),
    **dict.fromkeys(("join",), _joining_actions),
    **dict.fromkeys(("debugf",), _kernel_log_actions),
    **dict.fromkeys(("override",), _overriding_actions),
    **dict.fromkeys(("unwatch",), _unwatched_actions),
    **dict.fromkeys(("static_assert", "assert_str"), _predicates_actions),
    **dict.fromkeys(("signal", "signal_thread"), _signals_actions),
}
