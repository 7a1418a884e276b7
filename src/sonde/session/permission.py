"""Whether this user may trace with the kernel at all."""

from __future__ import annotations

from sonde.engines.kernel import features
from sonde.machine.system import capabilities


def refusal() -> str:
    """Why programs cannot be loaded into the kernel, "" if they can for all that is known: it can be asked before
    anything is started or compiled."""
    held = capabilities()
    missing = [f"CAP_{name.upper()}" for name in ("bpf", "perfmon") if not held & {name, "sys_admin"}]
    if missing:
        return f"this user lacks {' and '.join(missing)}"
    # Where the capabilities are there a container or the kernel's configuration may still forbid it.

    for feature in features.FEATURES:
        if feature.name in ("bpf", "ringbuf") and not features.is_available(feature):
            return f"this kernel, or a container, does not let sonde use BPF ({feature.name}: {feature.purpose})"
    return ""
