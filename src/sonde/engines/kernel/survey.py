"""A report on this machine for people: every feature and every setting that decides what can be traced."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator

from sonde.engines.base import EngineError
from sonde.engines.kernel.failures import reason
from sonde.engines.kernel.features import FEATURES, Feature, MissingError
from sonde.target import machine
from sonde.typed import NamedTuple


class Row(NamedTuple):
    """One line: `state` is `yes`, `no` (not there) or `refused` (there, but not for this user or machine); `why` tells
    what it is for or why not, `remedy` what would help, "" where nothing is wrong."""

    name: str
    state: str
    why: str
    remedy: str = ""


def survey() -> list[Row]:
    """Everything, settings first. Takes a fraction of a second."""
    return [*_settings(), *(_feature(feature) for feature in FEATURES)]


def _feature(feature: Feature) -> Row:
    try:
        feature.check()
    except MissingError as error:
        return Row(feature.name, "no", f"{feature.purpose}: {error.text}; Linux {feature.since}", feature.remedy)
    except EngineError as error:
        return Row(feature.name, "no", f"{feature.purpose}: {error.text}", feature.remedy)
    except OSError as error:
        state = "refused" if error.errno in (errno.EPERM, errno.EACCES) else "no"
        return Row(feature.name, state, f"{feature.purpose}: {reason(error)}; Linux {feature.since}", feature.remedy)
    return Row(feature.name, "yes", feature.purpose)


def _settings() -> Iterator[Row]:
    yield Row("kernel", "yes", f"Linux {os.uname().release} on {os.uname().machine}, {machine.possible_cpus()} CPUs")
    held = machine.capabilities()
    yield from _capabilities(held)
    yield _lockdown()
    able = {name for name in ("bpf", "perfmon") if name in held or "sys_admin" in held}
    yield _setting(
        "perf_event_paranoid", "kernel", lambda value: value < 0 or "perfmon" in able,
        "events of the whole system", "CAP_PERFMON; -1 lets everyone",
    )  # fmt: skip
    yield _setting(
        "unprivileged_bpf_disabled", "kernel", lambda value: value == 0 or "bpf" in able, "loading programs",
        "CAP_BPF; letting everyone load programs is not advised",
    )  # fmt: skip
    yield _setting("kptr_restrict", "kernel", lambda value: value < 2, "kernel addresses for root", "1")
    yield _setting("bpf_jit_enable", "net/core", lambda value: value > 0, "programs as machine code", "1")
    namespace = machine.pid_namespace()
    where = (
        "sonde is in the initial one" if namespace is None else "sonde is in a container; pids are shown as seen there"
    )
    yield Row("pid_namespace", "yes", where)


def _capabilities(held: frozenset[str]) -> Iterator[Row]:
    for name, purpose in (
        ("bpf", "loading programs"),
        ("perfmon", "reading memory from programs, and perf events"),
        ("sys_ptrace", "looking into other users' processes"),
        ("sys_resource", "lifting memory limits before Linux 5.11"),
        ("syslog", "kernel addresses in kallsyms"),
    ):
        if name in held or ("sys_admin" in held and name in ("bpf", "perfmon")):
            yield Row(f"CAP_{name.upper()}", "yes", purpose)
        else:
            yield Row(f"CAP_{name.upper()}", "no", purpose, "run as root")


def _setting(name: str, area: str, good: Callable[[int], bool], purpose: str, better: str) -> Row:
    value = machine.setting(f"{area}/{name}")
    path = f"{area.replace('/', '.')}.{name}"
    if value is None:
        return Row(name, "no", f"{path} is not there or not readable")
    if good(value):
        return Row(name, "yes", f"{purpose}: {path} = {value}")
    return Row(name, "refused", f"{purpose}: {path} = {value}", better)


def _lockdown() -> Row:
    mode = machine.lockdown()
    if mode == "confidentiality":
        return Row(
            "lockdown", "refused", "the kernel is locked down: no reading of its memory", "boot without lockdown"
        )
    return Row("lockdown", "yes", f"kernel lockdown: {mode or 'not there'}")
