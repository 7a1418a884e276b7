"""What this kernel and this user can do."""

from __future__ import annotations

from sonde.model.capability import Capability as Capability


def capabilities() -> dict[str, Capability]:
    """All that `sonde doctor -v` shows, by name and in its order: features of the kernel are tried, which takes some
    tenths of a second."""
    from sonde.engines.embedded import survey as embedded
    from sonde.engines.kernel import survey as kernel

    return {each.name: each for each in (*kernel.survey(), *embedded.survey())}


def has_iterators() -> bool:
    """Whether the kernel says of any that it has them."""
    from sonde.providers.iterators import IteratorProvider
    from sonde.providers.kernel_types import KernelTypes

    return bool(IteratorProvider(KernelTypes()).names())


def has_breakpoints() -> bool:
    """Whether the kernel has places in memory watched."""
    from sonde.machine.event_sources import sources
    from sonde.model.probe import BREAKPOINT

    return BREAKPOINT in sources()
