"""How stable descriptions of probes are, compared with what libdtrace says of its own providers."""

import pytest

from sonde.frontends.d.check.stability import description_attributes, provider_stability


@pytest.mark.parametrize(
    ("description", "matched", "expected"),
    [
        (":::BEGIN", 1, "Unstable/Unstable/Common"),
        ("dtrace:::BEGIN", 1, "Stable/Stable/Common"),
        ("profile:::tick-1s", 1, "Evolving/Evolving/Common"),
        ("profile:::tick-*", 7, "Unstable/Unstable/Common"),
        ("syscall:::entry", 300, "Evolving/Evolving/Common"),
        ("syscall::open*:entry", 3, "Evolving/Evolving/Common"),
        ("syscall::openat:entry", 1, "Private/Private/ISA"),
        ("syscall:vmlinux:openat:entry", 1, "Private/Private/Unknown"),
        ("fbt::vfs_read:return", 1, "Private/Private/ISA"),
        ("sched:::on-cpu", 1, "Evolving/Evolving/ISA"),
        ("proc:::exec-s*", 1, "Evolving/Evolving/ISA"),
        ("proc:::exec-*", 3, "Unstable/Unstable/Common"),
        ("rawtp:::sched_switch", 1, "Private/Private/ISA"),
        ("cpc:::page_faults-all-1", 1, "Evolving/Evolving/Common"),
        ("pid4711:a.out:main:entry", 1, "Private/Private/Unknown"),
        ("nosuch:::x", 0, "Unstable/Unstable/Common"),
    ],
)
def test_descriptions(description, matched, expected):
    """The least of the fields that are given; a field left open counts only where probes may then differ."""
    assert str(description_attributes(description.split(":"), matched)) == expected


@pytest.mark.parametrize(
    ("provider", "expected"),
    [
        ("dtrace", "Stable/Stable/Common"),
        ("profile", "Evolving/Evolving/Common"),
        ("syscall", "Private/Private/ISA"),
        ("io", "Evolving/Evolving/ISA"),
        ("rawtp", "Private/Private/ISA"),
        ("", "Unstable/Unstable/Common"),
        ("pid1", "Private/Private/Unknown"),
    ],
)
def test_arguments(provider, expected):
    assert str(provider_stability(provider).arguments) == expected
