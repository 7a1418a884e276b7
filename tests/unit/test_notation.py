"""Numbers and memory of system calls as text."""

import errno
import os
import re
import signal
import socket
import stat
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.machine import packages

from sonde.model.readings import HEAD, SLOTS, Reading
from sonde.notation.forms import FORMS, form_text
from sonde.notation.numbers import names, number_text
from sonde.notation.quoting import quoted
from sonde.notation.tables import tables

WORDS = st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(-200, 5000)
GENERATOR = Path(__file__).parents[2] / "tools" / "make_names.py"


COMPUTED = {"clone", "errno", "futex", "ioctl", "map", "memfd", "signal"}
"""Tables that more is done with than to look a number up."""


@given(st.sampled_from(sorted(tables().keys() - COMPUTED)), WORDS)
def test_the_names_of_a_number_come_to_the_number(name, number):
    table = tables()[name]
    shown = number_text(name, number).decode()
    known = dict(table.names)
    parts = re.sub(r" /\* \S+ \*/", "", shown).split("|")
    values = [known[part] if part in known else int(part, 0) for part in parts]
    total = 0
    for value in values:
        total |= value
    assert total in (number & (1 << 64) - 1, number & (1 << 32) - 1), shown
    if table.kind == "values":
        assert len(parts) == 1


@pytest.mark.parametrize("name", sorted(tables()))
def test_every_name_is_shown_for_its_number_or_gives_way_to_another_of_the_same(name):
    table = tables()[name]
    numbers = [value for _, value in table.names]
    for each, value in table.names:
        shown = number_text(name, value).decode().split("|")
        if table.kind == "values":
            assert set(shown[0].split(" or ")) <= {other for other, same in table.names if same == value}
        elif table.kind == "flags" and numbers.count(value) == 1 and value.bit_count() == 1:
            assert each in shown


@given(WORDS)
def test_unknown_bits_follow_the_known_ones(number):
    text = number_text("open", number | 1 << 31).decode()
    assert text.split("|")[-1].startswith("0x")
    assert number_text("prot", 1 << 31) == b"0x80000000 /* PROT_??? */"
    assert number_text("prot", 0) == b"PROT_NONE"
    assert number_text("open", 0x80000000) == b"O_RDONLY|0x80000000"


@given(st.binary(max_size=40))
def test_a_quoted_text_is_the_c_constant_of_its_bytes(data):
    text = quoted(data)
    assert text.isascii()
    assert text.isprintable()
    body = text[1:-1].replace('\\"', '"')
    assert body.encode().decode("unicode_escape").encode("latin-1") == data


def test_errors_and_signals_are_those_of_this_system():
    for number, name in errno.errorcode.items():
        if name not in ("EWOULDBLOCK", "EDEADLOCK"):
            assert number_text("errno", number) in (name.encode(), b"EOPNOTSUPP")
            wanted = f"-1 {number_text('errno', number).decode()} ({os.strerror(number)})"
            assert number_text("result", -number).decode() == wanted
    for each in signal.Signals:
        if each < signal.SIGRTMIN:
            assert number_text("signal", each).decode() in (each.name, "SIGIO", "SIGCHLD", "SIGABRT")
    assert number_text("result", 7) == b"7"
    assert number_text("result", -512) == b"? ERESTARTSYS (To be restarted if SA_RESTART is set)"


@given(name=st.sampled_from(names()), number=WORDS)
def test_every_table_shows_every_number(name, number):
    shown = number_text(name, number).decode()
    assert shown
    assert shown.isascii()


@given(
    form=st.sampled_from(sorted(FORMS)),
    data=st.binary(max_size=600),
    count=st.integers(-2, 50),
    limit=st.integers(-1, 1 << 40),
)
def test_every_form_shows_memory_of_any_content_and_length(form, data, count, limit):
    """A recording or spec file says what it likes."""
    reading = FORMS[form].reading._replace(most=FORMS[form].reading.most or 20)
    shown = form_text(f"{form} {reading.detail}", struct.pack("<Qqq", 0x1000, count, limit) + data).decode()
    assert shown.isascii()
    if count < 0:
        assert shown == "0x1000"


def noted(form, data, count=1, limit=1 << 40, where=0, **changes):
    reading: Reading = FORMS[form].reading._replace(**changes)
    room = reading.room - HEAD
    assert len(data) <= room
    return form_text(
        f"{form} {reading.detail}", struct.pack("<Qqq", where, count, limit) + data.ljust(room, b"\0")
    ).decode()


def test_memory_that_was_not_read_is_its_address():
    for form in FORMS:
        assert noted(form, b"", -1, where=0x7F00) == "0x7f00"
        assert noted(form, b"", -1) == "NULL"


def test_data_is_cut_with_dots():
    assert noted("data", b"ab\n\0", 4) == r'"ab\n\0"'
    assert noted("data", bytes(range(48, 80)), 33) == '"0123456789:;<=>?@ABCDEFGHIJKLMNO"...'
    assert noted("data", b"\x001", 2) == r'"\0001"'
    long = "x" * 32
    assert noted("string", b"x" * 33 + b"\0") == f'"{long}"...'
    assert noted("string", b"x" * 32 + b"\0") == f'"{long}"'


def test_socket_addresses():
    inet = struct.pack("<H", socket.AF_INET) + struct.pack(">H", 80) + socket.inet_aton("127.0.0.1") + bytes(8)
    assert noted("sockaddr", inet, 16) == '{sa_family=AF_INET, sin_port=htons(80), sin_addr=inet_addr("127.0.0.1")}'
    unix = struct.pack("<H", socket.AF_UNIX)
    assert noted("sockaddr", unix, 2) == "{sa_family=AF_UNIX}"
    assert noted("sockaddr", unix + b"/run/a\0", 9) == '{sa_family=AF_UNIX, sun_path="/run/a"}'
    assert noted("sockaddr", unix + b"\0ab", 5) == '{sa_family=AF_UNIX, sun_path=@"ab"}'
    inet6 = struct.pack("<H", socket.AF_INET6) + struct.pack(">HI", 53, 0) + socket.inet_pton(socket.AF_INET6, "::1")
    assert 'inet_pton(AF_INET6, "::1", &sin6_addr), sin6_scope_id=2}' in noted("sockaddr", inet6 + b"\2\0\0\0", 28)
    netlink = struct.pack("<HHII", socket.AF_NETLINK, 0, 7, 0x10)
    assert noted("sockaddr", netlink, 12) == "{sa_family=AF_NETLINK, nl_pid=7, nl_groups=0x000010}"


def test_slots_show_strings_and_buffers():
    def slot(reading, pointer, length, got, data):
        return struct.pack("<Qqq", pointer, length, got) + data.ljust(reading.slot, b"\0")

    argv, iovec = FORMS["argv"].reading, FORMS["iovec"].reading
    assert {argv.kind, iovec.kind} == SLOTS
    words = slot(argv, 1, 0, 3, b"ls") + slot(argv, 0x10, 0, -14, b"")
    assert noted("argv", words, 2) == '["ls", 0x10]'
    assert noted("argv", slot(argv, 1, 0, 3, b"a") * 32, 33) == "[" + '"a", ' * 32 + "...]"
    buffers = slot(iovec, 1, 3, 0, b"abc") + slot(iovec, 1, 40, 0, b"d" * 32)
    long = "d" * 32
    assert noted("iovec", buffers, 2) == f'[{{iov_base="abc", iov_len=3}}, {{iov_base="{long}"..., iov_len=40}}]'
    assert noted("iovec", buffers, 2, 4) == '[{iov_base="abc", iov_len=3}, {iov_base="d", iov_len=40}]'
    assert noted("iovec", buffers, 2, -9) == "[{iov_base=0x1, iov_len=3}, {iov_base=0x1, iov_len=40}]"
    assert noted("iovec", slot(iovec, 0, 0, 0, b""), 1) == "[{iov_base=NULL, iov_len=0}]"


@given(st.lists(st.lists(st.integers(-1, 1 << 20), max_size=9), max_size=4))
def test_descriptors_in_control_messages_are_listed(sent):
    parts = [struct.pack(f"<Qii{len(each)}i", 16 + 4 * len(each), 1, 1, *each) for each in sent]
    data = b"".join(part.ljust(-(-len(part) // 8) * 8, b"\0") for part in parts)
    shown = [f", cmsg_data={each}" if each else "" for each in sent]
    lengths = [16 + 4 * len(each) for each in sent]
    words = [f"{{cmsg_len={n}, cmsg_level=SOL_SOCKET, cmsg_type=SCM_RIGHTS{what}}}"
             for n, what in zip(lengths, shown, strict=True)]  # fmt: skip
    assert noted("msg_control", data, len(data)) == f"[{', '.join(words)}]"


@given(st.integers(0, (1 << 32) - 1))
def test_a_request_without_a_name_is_shown_by_what_it_is_made_of(number):
    """As a program that includes <sys/ioctl.h> could have it."""
    text = number_text("ioctl", number).decode()
    if not text.startswith("_IOC("):
        return
    place = {"_IOC_NONE": 0, "_IOC_WRITE": 1, "_IOC_READ": 2}
    way, *others = text[5:-1].split(", ")
    kind, which, size = (int(each, 16) for each in others)
    assert sum(place[each] for each in way.split("|")) << 30 | size << 16 | kind << 8 | which == number


def test_a_file_is_shown_by_its_kind():
    def shown(path):
        found = os.stat(path)
        raw = struct.pack("<24xI12xQq", found.st_mode, found.st_rdev, found.st_size)
        return noted("stat", raw)

    assert shown("/dev/null") == "{st_mode=S_IFCHR|0666, st_rdev=makedev(0x1, 0x3), ...}"
    found = os.stat(sys.executable)
    assert (
        shown(sys.executable) == f"{{st_mode=S_IFREG|0{stat.S_IMODE(found.st_mode):o}, st_size={found.st_size}, ...}}"
    )


@pytest.mark.long
def test_the_table_is_what_the_installed_headers_say(tmp_path):
    """Newer headers have more names, never other numbers."""
    packages.require("gcc")
    made = tmp_path / "names.txt"
    subprocess.run([sys.executable, GENERATOR, made], check=True)
    found = {}
    for block in made.read_text().split("\n@")[1:]:
        head, _, body = block.partition("\n")
        found[head.split()[0]] = dict(word.split("=") for word in body.split())
    assert found.keys() == tables().keys()
    for name, table in tables().items():
        known = {each: value for each, value in table.names if each in found[name]}
        assert known == {each: int(found[name][each], 0) for each in known}
        assert len(known) >= 0.9 * len(table.names)


def test_the_reference_names_every_table_and_form():
    page = (Path(__file__).parents[2] / "docs" / "reference.md").read_text()
    section = page.partition("## Numbers and memory as text")[2].partition("\n## ")[0]
    named = set(re.findall(r"`(\w+)`", section))
    assert {*names(), *FORMS} <= named
