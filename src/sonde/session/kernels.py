"""Which kernel programs are compiled for: this one, or the one whose BTF -k gives."""

from __future__ import annotations

import os

from sonde.bpf import btf
from sonde.engines import fired
from sonde.engines.embedded import offer as embedded_offer
from sonde.formats import captured_file, packet_file
from sonde.machine import tracefs
from sonde.machine.system import current_target, portable_target
from sonde.providers import kernel_types
from sonde.session import replay_offer
from sonde.session.engines import EMBEDDED, KERNEL
from sonde.session.errors import SessionError
from sonde.session.registry import Registry
from sonde.symbols import kernel_objects
from sonde.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from sonde.engines.fired import RecordedProbes
    from sonde.formats.packet_file import FiledDevice

_NOWHERE = os.devnull
"""Stands for a directory that is not there."""


def registry_of(
    engine: str = KERNEL, path: str | None = None, is_portable: bool = False, packets: str = "",
    source: RecordedProbes | None = None,
) -> Registry:  # fmt: skip
    """The probes and types to compile with: those of this machine, or of the kernel whose BTF is in the file or
    directory `path` (-k). `is_portable`: what is compiled is for other kernels, too. `packets` is the file of packets
    that the embedded engine is given, "" without one; `source` the firings that it replays. Raises SessionError where
    there is no BTF, or no such file."""
    if source is not None:
        return _replayed(path, source)
    if engine == EMBEDDED:
        return _embedded(path, packets)
    if path is None:
        return Registry(portable_target() if is_portable else current_target())
    if is_own(path):
        return Registry(portable_target() if is_portable else current_target(), vmlinux=path)
    vmlinux = os.path.join(path, "vmlinux") if os.path.isdir(path) else path
    _check(vmlinux)
    symbols = os.path.join(path, "kallsyms")
    target = portable_target()._replace(release=os.path.basename(os.path.normpath(path)))
    return Registry(
        target,
        btf=path,
        tracefs=path if os.path.isdir(os.path.join(path, "events")) else _NOWHERE,
        kallsyms=symbols if os.path.isfile(symbols) else None,
        vmlinux=vmlinux,
        is_other=True,
    )


def is_own(path: str) -> bool:
    """Whether -k gives the vmlinux of the running kernel, for its debug information."""
    return os.path.isfile(path) and not why_not_own(path)


def why_not_own(path: str) -> str:
    """Why -k does not give that, "" if it does."""
    return kernel_objects.why_not_running(path)


def _embedded(path: str | None, packets: str) -> Registry:
    """What the embedded engine has, on this machine: for it every pid namespace is the first."""
    if path is not None:
        raise SessionError("-k compiles for another kernel; the embedded engine is none")
    target = current_target()._replace(initial_namespace=True)
    devices = filed_devices(packets) if packets else None
    return Registry(target, tracefs=tracefs.PLACE, offer=embedded_offer.EmbeddedOffer(bool(packets)), devices=devices)


def _replayed(path: str | None, source: RecordedProbes) -> Registry:
    """What a recording has, with the types of the kernel that it was made on."""
    is_raw = source.origin == EMBEDDED and source.stacks == fired.BY_FRAMES
    features = replay_offer.FEATURES | {"raw_stacks"} if is_raw else replay_offer.FEATURES
    target = portable_target()._replace(features=features, initial_namespace=True)
    offer = replay_offer.ReplayOffer(source)
    return Registry(target, btf=path or "/sys/kernel/btf", offer=offer, formats=source.formats, recorded=source.probes)


def filed_devices(path: str) -> tuple[FiledDevice, ...]:
    """The devices of a file of packets. Raises SessionError."""
    try:
        return packet_file.devices(path)
    except OSError as error:
        raise SessionError(f"failed to open packets '{path}': {error.strerror}") from None
    except captured_file.CaptureError as error:
        text = f"packets '{path}': {error.text}{f' (byte {error.at})' if error.at else ''}"
        raise SessionError(
            text, hint="--packets takes a pcapng or pcap file, as tcpdump -w and tshark -w write it"
        ) from None


def _check(path: str) -> None:
    # Read in any case later, and not before the first type is asked for: a wrong file is to be noticed at once.

    try:
        kernel_types.open_btf(path)
    except OSError as error:
        raise SessionError(f"failed to open {path}: {error.strerror}") from None
    except btf.BtfError as error:
        raise SessionError(f"{path} has no BTF that sonde can read: {error}") from None
