"""Whether this user may trace at all."""

from __future__ import annotations

from sonde.cli.messages import FatalError
from sonde.target.machine import capabilities


def require_permission() -> None:
    """Raise FatalError if tracing programs cannot be loaded, before anything is started or compiled."""
    held = capabilities()
    missing = [f"CAP_{name.upper()}" for name in ("bpf", "perfmon") if not held & {name, "sys_admin"}]
    if missing:
        text = f"tracing is not permitted: this user lacks {' and '.join(missing)}"
        raise FatalError(text, 2, "run as root, or give sonde these capabilities; `sonde doctor` tells more")
