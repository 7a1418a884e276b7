"""Maps of compiled code (/tmp/perf-PID.map): what they say, and whose are believed."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.symbols import perf_map
from sonde.symbols.mappings import Mapping
from sonde.symbols.perf_map import CompiledCode, Home, PerfMap, home_of

ME = os.getuid()


@pytest.fixture
def root(tmp_path):
    (tmp_path / "tmp").mkdir()
    return tmp_path


def path_of(root):
    return root / "tmp" / "perf-7.map"


def read(root, user=ME):
    found = PerfMap(Home(7, user, str(root)))
    found.refresh()
    return found


def test_it_is_read_on_as_it_grows(root):
    with open(path_of(root), "w") as file:
        file.write("1000 10 first\n2000 20 second one\n30")
        file.flush()
        found = read(root)
        assert found.symbolize(0x100F) == ("first", 15)
        assert found.symbolize(0x2000) == ("second one", 0)
        assert found.symbolize(0x1010) is None
        assert not found.refresh()
        file.write("00 8 third\n")
        file.flush()
        assert found.refresh()
    assert found.symbolize(0x3007) == ("third", 7)
    assert found.symbolize(0x2001) == ("second one", 1)


def test_code_that_was_made_later_is_there_now(root):
    path_of(root).write_text("1000 100 early\n1080 10 late\n1000 40 later\n1f00 10 other\n")
    found = read(root)
    assert found.symbolize(0x1010) == ("later", 0x10)
    assert found.symbolize(0x1050) == ("early", 0x50)
    assert found.symbolize(0x1081) == ("late", 1)


def test_another_file_in_its_place_is_read_from_its_beginning(root):
    path_of(root).write_text("1000 10 old\n")
    found = read(root)
    replacement = root / "replacement"
    replacement.write_text("1000 10 anew\n")
    replacement.rename(path_of(root))
    assert found.refresh()
    assert found.symbolize(0x1000) == ("anew", 0)


@pytest.mark.parametrize(
    "line", ["", "x y z", "1000 0 none", "-5 3 f", "ffffffffffffffff 2 f", "1 2", "g000 10 f", "\x80\xff \x00 \x01"]
)
def test_lines_that_make_no_sense_are_passed_over(root, line):
    path_of(root).write_text(f"{line}\n1000 10 good\n")
    assert read(root).symbolize(0x1000) == ("good", 0)


def test_names_cannot_command_a_terminal(root):
    path_of(root).write_bytes(b"1000 10 a\x1b[31mb\xff\n")
    assert read(root).symbolize(0x1000) == ("a\\x1b[31mb\\xff", 0)


def test_a_line_without_end_is_not_kept(root):
    path_of(root).write_bytes(b"1000 10 " + b"x" * (3 << 20) + b"\n2000 10 good\n")
    assert read(root).symbolize(0x2000) == ("good", 0)


def test_another_users_map_is_not_believed(root):
    path_of(root).write_text("1000 10 hostile\n")
    if ME == 0:
        os.chown(path_of(root), 12345, 12345)
        assert read(root, 0).symbolize(0x1000) is None
        assert read(root, 12345).symbolize(0x1000) == ("hostile", 0)
    else:
        assert read(root, ME + 1).symbolize(0x1000) is None


@pytest.mark.parametrize("kind", ["link", "fifo", "directory"])
def test_only_a_regular_file_is_read(root, kind):
    if kind == "link":
        (root / "elsewhere").write_text("1000 10 f\n")
        os.symlink(root / "elsewhere", path_of(root))
    elif kind == "fifo":
        os.mkfifo(path_of(root))
    else:
        path_of(root).mkdir()
    assert read(root).symbolize(0x1000) is None


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(1, 12)), max_size=25), st.data())
def test_against_a_model(tmp_path_factory, entries, data):
    root = tmp_path_factory.mktemp("maps")
    (root / "tmp").mkdir()
    lines = [f"{start:x} {size:x} f{number}\n" for number, (start, size) in enumerate(entries)]
    cut = data.draw(st.integers(0, len(lines)))
    path_of(root).write_text("".join(lines[:cut]))
    found = read(root)
    with open(path_of(root), "a") as file:
        file.write("".join(lines[cut:]))
    found.refresh()
    model = {}
    for number, (start, size) in enumerate(entries):
        for address in range(start, start + size):
            model[address] = f"f{number}", address - start
    for address in range(70):
        assert found.symbolize(address) == model.get(address)


def test_the_number_is_that_of_the_own_namespace(tmp_path):
    process = tmp_path / "7"
    process.mkdir()
    (process / "status").write_text("Name:\tx\nNSpid:\t7\t3\t1\n")
    assert home_of(7, str(tmp_path)) == Home(1, ME, "")
    assert home_of(8, str(tmp_path)) is None


def test_where_a_map_is_stays_known_when_the_process_has_ended(root, tmp_path):
    proc = tmp_path / "proc"
    (proc / "4711").mkdir(parents=True)
    (proc / "4711" / "status").write_text("NSpid:\t4711\n")
    code = CompiledCode(str(proc))
    code.expect(4711)
    (proc / "4711" / "status").unlink()
    (proc / "4711").rmdir()
    path = "/tmp/perf-4711.map"
    if os.path.exists(path):
        pytest.skip(f"there is a {path}")
    with open(path, "w") as file:
        file.write("1000 10 compiled\n")
    try:
        assert code.symbolize(4711, 0x1004) == ("perf-4711.map", "compiled", 4)
        assert code.symbolize(4712, 0x1004) is None
    finally:
        os.unlink(path)


def test_a_hole_is_no_map_and_lines_are_counted(root, monkeypatch):
    reads, pread = [], os.pread
    monkeypatch.setattr(os, "pread", lambda *words: reads.append(words) or pread(*words))
    with open(path_of(root), "wb") as file:
        file.truncate(1 << 40)
    found = read(root)
    assert found.symbolize(0x1000) is None
    assert "64 MiB" in found.refused
    assert len(reads) <= 66
    path_of(root).write_bytes(b"1000 10 first\n" + b"-\n" * (3 << 20))
    found = read(root)
    assert found.symbolize(0x1000) == ("first", 0)
    assert "lines" in found.refused
    assert not found.refresh()


def test_a_user_has_few_maps_of_too_much(root, monkeypatch):
    """After them none of that user is read, and those of who traces are."""
    user = ME or 1
    monkeypatch.setattr(perf_map, "_MOST_LINES", 8)
    monkeypatch.setattr(perf_map, "home_of", lambda pid, proc: Home(pid, user, str(root)))
    for number in range(1, 8):
        path = root / "tmp" / f"perf-{number}.map"
        path.write_text("1000 10 named\n" + "-\n" * (9 if number < 5 else 1))
        os.chown(path, user, -1)
    for tracer, read in ((user, 7), (user + 1, 3)):
        monkeypatch.setattr(os, "geteuid", lambda tracer=tracer: tracer)
        code = CompiledCode()
        found = [number for number in range(1, 8) if code.symbolize(number, 0x1000) is not None]
        assert found == list(range(1, read + 1))
        assert any("of its user" in reason for _, reason in code.refused()) == (tracer != user)


@pytest.mark.parametrize(
    ("path", "is_so"),
    [
        ("", True), ("/memfd:doublemapper (deleted)", True), ("/dev/zero (deleted)", True),
        ("/SYSV00000000 (deleted)", True), ("/tmp/jit-7 (deleted)", True),
        ("/usr/lib/libc.so.6 (deleted)", False), ("/usr/lib/libc.so.6", False), ("/tmp/libown.so", False),
        ("[vdso]", False),
    ],
)  # fmt: skip
def test_memory_that_may_hold_compiled_code(path, is_so):
    """Not the libraries that an upgrade has replaced, which all long-lived processes have mapped."""
    assert Mapping(0, 4096, 0, "00:01", 5, path, True).may_be_compiled == is_so
