"""Names for the kernel's addresses of a recording that was made before the machine was started again."""

import pytest

from sonde.recording import kernel_place
from sonde.recording.kernel_place import BootedKernel, names_of_kernel
from sonde.symbols import build_ids
from sonde.symbols.kallsyms import Kallsyms

OWN = Kallsyms().find("vfs_read", "vmlinux")
BUILD = build_ids.build_id(build_ids.notes_of_kernel())
needs_symbols = pytest.mark.skipif(OWN is None or not OWN.address or not BUILD, reason="the kernel hides its symbols")


@needs_symbols
def test_the_same_build_has_its_names_wherever_it_was():
    now, by = kernel_place.kernel_place(()), 7 << 21
    before = BootedKernel("another start", now.symbol, now.address - by)
    assert names_of_kernel(now, BUILD).symbolize(OWN.address + 3) == ("vmlinux", "vfs_read", 3)
    assert names_of_kernel(before, BUILD).symbolize(OWN.address - by + 3) == ("vmlinux", "vfs_read", 3)
    for place, build_id in ((before, "00" * 20), (before, ""), (before, "no digits"), (kernel_place.NOWHERE, BUILD)):
        assert names_of_kernel(place, build_id).symbolize(OWN.address) is None


def test_pseudonyms_hide_the_start_and_the_place():
    assert not kernel_place.kernel_place(("names",)).boot
    assert not kernel_place.kernel_place(("addresses",)).address
