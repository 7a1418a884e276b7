"""Which kernel programs are compiled for: this one, or the one whose BTF -k gives."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from sonde.cli.arguments import Arguments
from sonde.cli.engines import EMBEDDED, KERNEL
from sonde.cli.messages import FatalError
from sonde.probes.registry import Registry
from sonde.target import tracefs
from sonde.target.machine import current_target, portable_target

VMLINUX_BTF = "/sys/kernel/btf/vmlinux"

_NOWHERE = os.devnull
"""Stands for a directory that is not there."""


def registry_of(arguments: Arguments, engine: str = KERNEL) -> Registry:
    """The probes and types to compile with. Raises FatalError where -k names no BTF."""
    if engine == EMBEDDED:
        return _embedded(arguments)
    if arguments.btf is None:
        return Registry(portable_target() if arguments.save else current_target())
    path = arguments.btf
    _check(os.path.join(path, "vmlinux") if os.path.isdir(path) else path)
    symbols = os.path.join(path, "kallsyms")
    target = portable_target()._replace(release=os.path.basename(os.path.normpath(path)))
    return Registry(
        target,
        btf=path,
        tracefs=path if os.path.isdir(os.path.join(path, "events")) else _NOWHERE,
        kallsyms=symbols if os.path.isfile(symbols) else None,
    )


def _embedded(arguments: Arguments) -> Registry:
    """What the embedded engine has, on this machine: for it every pid namespace is the first."""
    from sonde.engines.embedded.offer import Offer

    if arguments.btf is not None:
        raise FatalError("-k compiles for another kernel; the embedded engine is none")
    target = current_target()._replace(initial_namespace=True)
    return Registry(target, tracefs=tracefs.PLACE, offer=Offer())


@contextmanager
def without_btf(arguments: Arguments) -> Iterator[None]:
    """In the `with` block a mistake in a program may be that this kernel has no types: the message then says so."""
    try:
        yield
    except FatalError as error:
        if arguments.btf is not None or os.path.exists(VMLINUX_BTF):
            raise
        text = "this kernel has no BTF (CONFIG_DEBUG_INFO_BTF): its types, and arguments of its probes, are unknown"
        raise FatalError(error.text, error.status, "\n".join(filter(None, (error.hint, text)))) from None


def _check(path: str) -> None:
    # Read in any case later, and not before the first type is asked for: a wrong file is to be noticed at once.
    from sonde.bpf.btf import BtfError
    from sonde.probes.kernel_types import open_btf

    try:
        open_btf(path)
    except OSError as error:
        raise FatalError(f"failed to open {path}: {error.strerror}") from None
    except BtfError as error:
        raise FatalError(f"{path} has no BTF that sonde can read: {error}") from None
