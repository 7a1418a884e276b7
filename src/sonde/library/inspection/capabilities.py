"""What this kernel and this user can do."""

from __future__ import annotations

from sonde.engines.embedded import survey
from sonde.engines.kernel import survey as kernel_survey
from sonde.machine import event_sources
from sonde.model import probe
from sonde.model.capability import Capability as Capability
from sonde.providers import iterators, kernel_types


def capabilities() -> dict[str, Capability]:
    """All that `sonde doctor -v` shows, by name and in its order: features of the kernel are tried, which takes some
    tenths of a second."""
    return {each.name: each for each in (*kernel_survey.survey(), *survey.survey())}


def has_iterators() -> bool:
    """Whether the kernel says of any that it has them."""
    return bool(iterators.IteratorProvider(kernel_types.KernelTypes()).names())


def has_breakpoints() -> bool:
    """Whether the kernel has places in memory watched."""
    return probe.BREAKPOINT in event_sources.sources()
