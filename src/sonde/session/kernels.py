"""Which kernel programs are compiled for: this one, or the one whose BTF -k gives."""

from __future__ import annotations

import os

from sonde.machine.system import current_target, portable_target
from sonde.session.engines import EMBEDDED, KERNEL
from sonde.session.errors import SessionError
from sonde.session.registry import Registry

_NOWHERE = os.devnull
"""Stands for a directory that is not there."""


def registry_of(engine: str = KERNEL, path: str | None = None, is_portable: bool = False) -> Registry:
    """The probes and types to compile with: those of this machine, or of the kernel whose BTF is in the file or
    directory `path` (-k). `is_portable`: what is compiled is for other kernels, too. Raises SessionError where there is
    no BTF."""
    if engine == EMBEDDED:
        return _embedded(path)
    if path is None:
        return Registry(portable_target() if is_portable else current_target())
    _check(os.path.join(path, "vmlinux") if os.path.isdir(path) else path)
    symbols = os.path.join(path, "kallsyms")
    target = portable_target()._replace(release=os.path.basename(os.path.normpath(path)))
    return Registry(
        target,
        btf=path,
        tracefs=path if os.path.isdir(os.path.join(path, "events")) else _NOWHERE,
        kallsyms=symbols if os.path.isfile(symbols) else None,
    )


def _embedded(path: str | None) -> Registry:
    """What the embedded engine has, on this machine: for it every pid namespace is the first."""
    from sonde.engines.embedded.offer import EmbeddedOffer
    from sonde.machine.tracefs import PLACE

    if path is not None:
        raise SessionError("-k compiles for another kernel; the embedded engine is none")
    target = current_target()._replace(initial_namespace=True)
    return Registry(target, tracefs=PLACE, offer=EmbeddedOffer())


def _check(path: str) -> None:
    # Read in any case later, and not before the first type is asked for: a wrong file is to be noticed at once.
    from sonde.bpf.btf import BtfError
    from sonde.providers.kernel_types import open_btf

    try:
        open_btf(path)
    except OSError as error:
        raise SessionError(f"failed to open {path}: {error.strerror}") from None
    except BtfError as error:
        raise SessionError(f"{path} has no BTF that sonde can read: {error}") from None
