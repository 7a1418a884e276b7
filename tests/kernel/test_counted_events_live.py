"""cpc and perf: software events of a process that does a known number of things, and what its samples tell."""

import sys

import pytest
from support.command.command import sonde, table

PAGES = 1009
CHILDREN = 3
TOUCHING = f"""
import ctypes, mmap, os
pages = mmap.mmap(-1, {PAGES} * mmap.PAGESIZE)
if hasattr(pages, "madvise"):
    pages.madvise(15)
address = ctypes.addressof(ctypes.c_char.from_buffer(pages))
libc = ctypes.CDLL(None, use_errno=True)
pages_seen = open(os.environ["PLACE"], "w")
pages_seen.write(str(address // mmap.PAGESIZE))
pages_seen.close()
for child in range({CHILDREN}):
    if not os.fork():
        for page in range({PAGES}):
            pages[page * mmap.PAGESIZE] = 1
        os._exit(0)
    os.wait()
"""
"""Each child touches every page of memory that it has to itself yet, one after the other; 15 is MADV_NOHUGEPAGE."""


@pytest.fixture
def touching(tmp_path, monkeypatch):
    script = tmp_path / "touching.py"
    script.write_text(TOUCHING)
    monkeypatch.setenv("PLACE", str(tmp_path / "place"))
    return f"'{sys.executable}' {script}", tmp_path / "place"


@pytest.mark.share(1)
@pytest.mark.parametrize("probe", ["cpc:::page_faults-user-1", "perf:software::minor-faults-1"])
def test_faults_of_children_are_counted_with_their_addresses(touching, probe):
    """Each page of each child once, at its address, in the order in which they were touched."""
    command, place = touching
    text = f"{probe} {{ @[pid == $target, args[0]->addr >> 12] = count(); }}"
    seen = table(sonde("-qn", text, "-c", command).stdout)
    first = int(place.read_text())
    assert {page: seen.get(("0", str(page)), 0) for page in range(first, first + PAGES)} == dict.fromkeys(
        range(first, first + PAGES), CHILDREN
    )


def test_a_period_is_how_many_happen_between_two_firings(touching):
    command, _ = touching
    text = """cpc:::page_faults-all-1 { @ones["1"] = sum(args[0]->period); }
              cpc:::page_faults-all-7 { @sevens["7"] = sum(args[0]->period); }"""
    seen = table(sonde("-qn", text, "-c", command).stdout)
    faults, in_sevens = seen[("1",)], seen[("7",)]
    assert faults > CHILDREN * PAGES
    # Each thread's event has a rest on each CPU.
    assert faults - in_sevens < 7 * 2 * (CHILDREN + 8)
    assert in_sevens % 7 == 0


def test_user_and_kernel_time_are_counted_apart():
    """A process that only computes has next to none in the kernel."""
    spin = f"'{sys.executable}' -c 'sum(range(4000000))'"
    text = """cpc:::task_clock-user-500000 { @["user", arg0 != 0] = count(); }
              cpc:::task_clock-kernel-500000 { @["kernel", arg0 != 0] = count(); }"""
    seen = table(sonde("-qn", text, "-c", spin).stdout)
    assert set(seen) <= {("user", "0"), ("kernel", "1")}
    assert seen[("user", "0")] > seen.get(("kernel", "1"), 0)


def test_other_processes_are_not_counted_unless_they_are_asked_for(touching):
    command, _ = touching
    text = (
        "cpc:::page_faults-all-1 /progenyof($target)/ { @[1] = count(); } cpc:::page_faults-all-1 { @[0] = count(); }"
    )
    seen = table(sonde("-qn", text, "-c", command).stdout)
    assert seen[("0",)] == seen[("1",)]


def test_samples_of_faults_have_their_addresses(touching):
    """A program that reads addr, and lets samples through: asked for once, told to both."""
    command, _ = touching
    text = "cpc:::page_faults-user-1 /args[0]->addr >> 12 != 0/ { @ = count(); sample(); }"
    done = sonde("-qn", text, "-c", command)
    lines = [line for line in done.stdout.splitlines() if " cpc:::page_faults-user-1: " in line]
    rest = [line for line in done.stdout.splitlines() if line.strip() and line not in lines]
    lost = sum(int(line.split()[1]) for line in done.stderr.splitlines() if "sample drop" in line)
    assert len(lines) + lost == int(rest[0]) > CHILDREN * PAGES


def test_an_event_that_takes_no_samples_is_refused_in_words():
    error = sonde("-n", "perf:msr::tsc-1000 { @ = count(); }", status=1).stderr
    assert "perf:msr::tsc-1000" in error
    assert "takes no samples" in error or "does not match any probes" in error


def test_an_event_that_is_about_no_address_has_none():
    """Not what happened to be in memory, which is what the kernel gives where nobody has asked for it."""
    spin = f"'{sys.executable}' -c 'sum(range(2000000))'"
    seen = table(sonde("-xscope=processes", "-qn", "profile-997 { @[args[0]->addr] = count(); }", "-c", spin).stdout)
    assert set(seen) == {("0",)}
