"""Who descends from a process, by a /proc that the test has made."""

import pytest

from sonde.machine.descendants import descendants


@pytest.fixture
def proc(tmp_path):
    def add(pid, parent, *threads):
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "stat").write_text(f"{pid} (a) b) S {parent} " + " ".join("0" for _ in range(48)))
        for tid in (pid, *threads):
            (tmp_path / str(pid) / "task" / str(tid)).mkdir(parents=True)

    add(1, 0)
    add(10, 1, 11)
    add(20, 10)
    add(30, 20, 31, 32)
    add(40, 10, 41)
    add(50, 1)
    (tmp_path / "self").mkdir()
    return tmp_path


def test_children_and_their_children_with_all_threads(proc):
    found = list(descendants(10, str(proc)))
    assert sorted(found) == [20, 30, 31, 32, 40, 41]
    assert found.index(30) < found.index(31)


def test_nobody(proc):
    assert list(descendants(50, str(proc))) == []


def test_a_process_that_goes_away_meanwhile(proc):
    (proc / "20" / "task" / "20").rmdir()
    (proc / "20" / "task").rmdir()
    assert sorted(descendants(10, str(proc))) == [30, 31, 32, 40, 41]


def test_processes_that_are_each_others_parents_are_met_once(proc):
    """As /proc may show them while numbers are used again."""
    (proc / "10" / "stat").write_text("10 (a) S 30 " + " ".join("0" for _ in range(48)))
    found = list(descendants(20, str(proc)))
    assert {10, 11, 30, 31, 32, 40, 41} <= set(found)
    assert len(found) == len(set(found))
