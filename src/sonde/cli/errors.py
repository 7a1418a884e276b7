"""What the kernel or the embedded engine could not do, and kernels that cannot be compiled for, as messages."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from sonde.cli.messages import FatalError
from sonde.model.errors import AbortedError, EngineError, ProgramError
from sonde.untrusted import lines

VMLINUX_BTF = "/sys/kernel/btf/vmlinux"


def engine_error(error: EngineError, language: str = "D") -> FatalError:
    """What the engine could not do, with the line of source the kernel refused and the end of the verifier's log."""
    parts = [f"the {language} code it was made from is at {error.place}"] if error.place else []
    if error.log:
        parts += ["the end of the verifier's log:", *lines(error.log)]
    failure = "processing aborted" if isinstance(error, AbortedError) else "could not enable tracing"
    return FatalError(f"{failure}: {error.text}", hint="\n".join(parts))


@contextmanager
def without_btf(path: str | None) -> Iterator[None]:
    """In the `with` block a mistake in a program may be that this kernel has no types: the message then says so.
    `path` is that of the BTF that -k names."""
    try:
        yield
    except ProgramError as error:
        if path is not None or os.path.exists(VMLINUX_BTF):
            raise
        text = "this kernel has no BTF (CONFIG_DEBUG_INFO_BTF): its types, and arguments of its probes, are unknown"
        error.hint = "\n".join(filter(None, (error.hint, text)))
        raise
