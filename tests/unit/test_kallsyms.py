"""Kernel symbols from a list like /proc/kallsyms."""

import pytest

from sonde.symbols.kallsyms import Kallsyms, KernelName

TEXT = """\
0000000000001000 A cpu_offset
ffffffff81000000 T _stext
ffffffff81000000 t startup
ffffffff81000100 T do_work
ffffffff81000180 t do_work.cold
ffffffff82000000 D jiffies
ffffffffc0000200 t do_work\t[things]
ffffffffc0000100 t first\t[things]
0000000000000000 T hidden
"""


@pytest.fixture
def symbols(tmp_path):
    path = tmp_path / "kallsyms"
    path.write_text(TEXT)
    return Kallsyms(str(path))


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        (0xFFFFFFFF81000100, ("vmlinux", "do_work", 0)),
        (0xFFFFFFFF8100017F, ("vmlinux", "do_work", 0x7F)),
        (0xFFFFFFFF81000184, ("vmlinux", "do_work.cold", 4)),
        (0xFFFFFFFF81000008, ("vmlinux", "_stext", 8)),
        (0xFFFFFFFFC0000110, ("things", "first", 16)),
        (0xFFFFFFFFC0000210, ("things", "do_work", 16)),
        (0xFFFFFFFF80FFFFFF, None),
        (0xFFFFFFFF81FFFFFF, ("vmlinux", "do_work.cold", 0xFFFE7F)),
        (0xFFFFFFFF82000001, ("vmlinux", "jiffies", 1)),
        (0xFFFFFFFF82100000, None),
        (0xFFFFFFFFFF000000, None),
        (0x1004, None),
        (0, None),
        (-1, None),
        (1 << 64, None),
    ],
)
def test_symbolize(symbols, address, expected):
    assert symbols.symbolize(address) == expected


def test_what_was_loaded_later_is_found_when_it_is_asked_for(symbols, tmp_path, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr("sonde.symbols.kallsyms.time.monotonic", lambda: now[0])
    assert symbols.symbolize(0xFFFFFFFFC0900010) is None
    with open(tmp_path / "kallsyms", "a") as file:
        file.write("ffffffffc0900000 t bpf_prog_0123456789abcdef_late\t[bpf]\n")
    assert symbols.symbolize(0xFFFFFFFFC0900010) is None
    now[0] += 5
    assert symbols.symbolize(0xFFFFFFFFC0900010) == ("bpf", "bpf_prog_0123456789abcdef_late", 16)


def test_find(symbols):
    assert symbols.find("do_work") == KernelName("vmlinux", "do_work", 0xFFFFFFFF81000100, "T")
    assert symbols.find("do_work", "kernel") == symbols.find("do_work", "vmlinux") == symbols.find("do_work")
    assert symbols.find("do_work", "things") == KernelName("things", "do_work", 0xFFFFFFFFC0000200, "t")
    assert symbols.find("first").module == "things"
    assert symbols.find("jiffies", "things") is None
    assert symbols.find("work") is None
    assert symbols.find("do_wor") is None
    assert symbols.find("_stext").address == 0xFFFFFFFF81000000


def test_hidden_addresses_are_not_found(symbols):
    assert symbols.find("hidden") is None


def test_without_the_file_there_is_nothing(tmp_path):
    symbols = Kallsyms(str(tmp_path / "none"))
    assert symbols.symbolize(0xFFFFFFFF81000100) is None
    assert symbols.find("do_work") is None
