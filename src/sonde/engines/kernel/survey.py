"""A report on this machine for people: every feature and every setting that decides what can be traced."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterator

from sonde.engines.kernel.failures import reason
from sonde.engines.kernel.features import FEATURES, Feature, HiddenError, MissingError
from sonde.machine import system
from sonde.model.capability import Capability
from sonde.model.errors import EngineError


def survey() -> list[Capability]:
    """Everything, settings first. Takes a fraction of a second."""
    lacking = _lacking()
    return [*_settings(), *(_feature(feature, lacking) for feature in FEATURES)]


def _lacking() -> str:
    """The capabilities that programs need and this user has not."""
    held = system.capabilities()
    return " and ".join(f"CAP_{name.upper()}" for name in ("bpf", "perfmon") if not held & {name, "sys_admin"})


_OF_ROOT = {"functions", "tracefs", "kallsyms", "btf_vmlinux"}
"""Files that root may read, whatever capabilities others have."""


def _feature(feature: Feature, lacking: str) -> Capability:
    row = Capability(feature.name, "no", feature.purpose, "", feature.remedy)
    try:
        feature.check()
    except HiddenError as error:
        return _not_permitted(row, lacking) if lacking else row._replace(cause=_since(str(error), feature))
    except MissingError as error:
        return row._replace(cause=_since(str(error), feature))
    except EngineError as error:
        # Maps, which cannot be made without the capability for programs.
        return _not_permitted(row, lacking) if lacking else row._replace(cause=str(error))
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.EACCES):
            return row._replace(cause=_since(reason(error), feature))
        if lacking or os.geteuid():
            return _not_permitted(row, lacking)
        return row._replace(state="refused", cause=reason(error))
    return Capability(feature.name, "yes", feature.purpose)


def _not_permitted(row: Capability, lacking: str) -> Capability:
    """Whether the kernel has it is not known then, so a newer one is no remedy."""
    if row.name in _OF_ROOT:
        return row._replace(state="refused", cause="this user may not read it", remedy="run as root")
    if not lacking:
        return row._replace(state="refused", cause="not permitted to this user", remedy="run as root")
    return row._replace(state="refused", cause=f"not tried without {lacking}", remedy="", lacks=lacking)


def _since(text: str, feature: Feature) -> str:
    """Since when there is such a thing, if that is after this kernel."""
    running, first = (tuple(map(int, re.findall(r"\d+", name)[:2])) for name in (os.uname().release, feature.since))
    return f"{text}; there since Linux {feature.since}" if running < first else text


def _settings() -> Iterator[Capability]:
    yield Capability(
        "kernel", "yes", f"Linux {os.uname().release} on {os.uname().machine}, {system.possible_cpus()} CPUs"
    )
    held = system.capabilities()
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
    namespace = system.pid_namespace()
    where = (
        "sonde is in the initial one" if namespace is None else "sonde is in a container; pids are shown as seen there"
    )
    yield Capability("pid_namespace", "yes", where)


def _capabilities(held: frozenset[str]) -> Iterator[Capability]:
    for name, purpose in (
        ("bpf", "loading programs"),
        ("perfmon", "reading memory from programs, and perf events"),
        ("sys_ptrace", "looking into other users' processes"),
        ("sys_resource", "lifting memory limits before Linux 5.11"),
        ("syslog", "kernel addresses in kallsyms"),
    ):
        if name in held or ("sys_admin" in held and name in ("bpf", "perfmon")):
            yield Capability(f"CAP_{name.upper()}", "yes", purpose)
        else:
            yield Capability(f"CAP_{name.upper()}", "no", purpose, "this user lacks it", "run as root")


def _setting(name: str, area: str, good: Callable[[int], bool], purpose: str, better: str) -> Capability:
    value = system.setting(f"{area}/{name}")
    path = f"{area.replace('/', '.')}.{name}"
    if value is None:
        return Capability(name, "no", purpose, f"{path} is not there or not readable")
    if good(value):
        return Capability(name, "yes", f"{purpose}: {path} = {value}")
    return Capability(name, "refused", purpose, f"{path} = {value}", better)


def _lockdown() -> Capability:
    mode = system.lockdown()
    if mode == "confidentiality":
        return Capability(
            "lockdown",
            "refused",
            "reading of the kernel's memory",
            "the kernel is locked down",
            "boot without lockdown",
        )
    return Capability("lockdown", "yes", f"kernel lockdown: {mode or 'not there'}")
