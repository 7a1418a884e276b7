"""How many descriptors a session may have open: one for each map, copy of a program and attachment."""

from __future__ import annotations

from sonde.machine.system import online_cpus
from sonde.model.spec import TracingSpec

_USUAL = 1024
"""What may be open where nobody has lowered the limit (INR_OPEN_CUR, include/uapi/linux/fs.h)."""

_OTHERS = 128
"""What the process has open besides."""


def allow_descriptors(spec: TracingSpec) -> None:
    """Raise the soft limit of open files where the session needs more; as far as it may be raised."""
    wanted = _OTHERS + sum(1 + (each.max_entries if each.inner is not None else 0) for each in spec.maps)
    for program in spec.programs:
        is_copied = any(stamp.kind == "cookie" for stamp in program.stamps)
        wanted += len(program.probes) * (2 if is_copied else 1) + len(online_cpus())
    if wanted > _USUAL:
        _raise(wanted)


def allow_more_descriptors(count: int) -> None:
    """Raise the soft limit by so many where they may be too many for it: the events of a process with many threads."""
    if count > _OTHERS:
        _raise(count, is_more=True)


def _raise(wanted: int, is_more: bool = False) -> None:
    import resource  # an import that most runs do without

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if is_more and soft != resource.RLIM_INFINITY:
        wanted += soft
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
