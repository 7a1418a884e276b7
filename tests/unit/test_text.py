"""The text report, through the consumer: records in, lines out."""

import os
import struct
import tracemalloc

import pytest
from support.files.records import FUNCTION, FUNCTION_RETURN, READ, READ_RETURN, Session, conversions, integer, record

from sonde.consume.events import Drop, Fault
from sonde.consume.options import Options
from sonde.frontends.d.report.messages import drop_text, fault_text
from sonde.model.conversions import Conversion
from sonde.model.named_maps import COUNTERS
from sonde.model.probe import Internal, Probe
from sonde.model.records import (
    AggregationSpec,
    ClearAction,
    CommandAction,
    ExitAction,
    Field,
    OtherAction,
    PrintaAction,
    PrintfAction,
    SetOptionAction,
    TraceAction,
    TracememAction,
    TruncAction,
)

ALL_ONES = (1 << 64) - 1
HELLO = PrintfAction(conversions(("hello ", "d"), ("\n", "")), (integer(16),))
HEADING = "CPU     ID                    FUNCTION:NAME\n"
DUMP_HEADING = "\n             0  1  2  3  4  5  6  7  8  9  a  b  c  d  e  f  0123456789abcdef\n"


def payload(*values):
    return struct.pack(f"<{len(values)}q", *values)


def traced(field, data, quiet=False):
    session = Session([(1, 16 + field.size, (TraceAction(field),))], testing=True, quiet=quiet)
    text = session.poll(record(1, data))
    return text if quiet else text.removeprefix(f"{'FUNCTION:NAME':>32}\n{':BEGIN':>32} ").removesuffix("\n")


def test_columns_and_heading():
    session = Session([(1, 24, (HELLO,))])
    text = session.poll(record(1, payload(5), READ.id, 1), record(1, payload(6)))
    first = "  1      7                       read:entry hello 5\n\n"
    assert text == HEADING + first + "  0      1                           :BEGIN hello 6\n\n"
    assert session.poll(record(1, payload(7))).count("CPU") == 0


def test_testing_mode_has_neither_cpu_nor_identifier():
    session = Session([(1, 24, (HELLO,))], testing=True)
    text = session.poll(record(1, payload(5)))
    assert text == f"{'FUNCTION:NAME':>32}\n{':BEGIN':>32} hello 5\n\n"


def test_quiet_shows_only_what_the_program_says():
    assert Session([(1, 24, (HELLO,))], quiet=True).poll(record(1, payload(5))) == "hello 5\n"


def test_default_action():
    layout = (1, 16, (), True)
    assert Session([layout], testing=True).poll(record(1)).endswith(f"{':BEGIN':>32} \n")
    assert Session([layout], quiet=True).poll(record(1)) == ""


def test_trace_integers():
    assert traced(integer(16, 1), b"\xff") == "  -1"
    assert traced(integer(16, 2), b"\xff\xff") == "    -1"
    assert traced(integer(16, 4), b"\xff" * 4) == "         -1"
    assert traced(integer(16, 8), b"\xff" * 8) == " " + "-1".rjust(19)
    assert traced(integer(16, 1, False), b"\xff") == " 255"
    assert traced(integer(16, 2, False), b"\xff\xff") == " 65535"
    assert traced(integer(16, 4, False), b"\xff" * 4) == " 4294967295"
    assert traced(integer(16, 8, False), b"\xff" * 8) == " 18446744073709551615"
    assert traced(integer(16, 8), b"\xff" * 8, quiet=True) == "-1"


def test_trace_strings():
    assert traced(Field(16, 8, "string"), b"hello\0\0\0") == "  " + "hello".ljust(33)
    assert traced(Field(16, 8, "string"), b"a%d\0\0\0\0\0", quiet=True) == "a%d"


def test_trace_of_memory():
    assert traced(Field(16, 4, "bytes"), b"xV4\x12") == (
        DUMP_HEADING + "         0: 78 56 34 12                                      xV4.\n"
    )


@pytest.mark.parametrize(("kind", "data"), [("string", b"read\0\0\0\0"), ("interned", bytes(4))])
def test_rawbytes_dumps_strings_with_all_their_memory(kind, data):
    """strsize characters and a NUL, however long the string and its field are."""
    field = Field(16, len(data), kind)
    session = Session([(1, 24, (TraceAction(field),))], strings=(b"read",), quiet=True)
    session.options.rawbytes = True
    session.options.strsize = 8
    shown = session.poll(record(1, data))
    assert shown.endswith("0: 72 65 61 64 00 00 00 00 00                       read.....\n")


def test_dump_of_several_rows():
    text = traced(Field(16, 18, "bytes"), bytes(range(0x41, 0x41 + 18)))
    rows = text.split("\n")[2:]
    assert rows[0] == "         0: 41 42 43 44 45 46 47 48 49 4a 4b 4c 4d 4e 4f 50  ABCDEFGHIJKLMNOP"
    assert rows[1] == "        10: 51 52" + " " * 44 + "QR"


def test_tracemem_limited():
    action = TracememAction(Field(16, 4, "bytes"), integer(24))
    session = Session([(1, 32, (action,))], quiet=True)
    assert session.poll(record(1, b"abcd" + bytes(4) + payload(0))) == ""
    assert session.poll(record(1, b"abcd" + bytes(4) + payload(2))).endswith(": 61 62" + " " * 44 + "ab\n")
    assert session.poll(record(1, b"abcd" + bytes(4) + payload(-1))).endswith("  abcd\n")
    assert session.poll(record(1, b"abcd" + bytes(4) + payload(9))).endswith("  abcd\n")


class Names:
    changes = 0

    def inlined(self, pid, address):
        return {0x10: ("deep", "middle"), 0x1F: ("behind",)}.get(address, ())

    def kernel(self, address):
        return ("vmlinux", "vfs_read", address - 0x100) if 0x100 <= address < 0x200 else None

    def interrupts(self, pid, address):
        return False

    def user(self, pid, address):
        known = {0x10: ("/bin/app", "main", 0), 0x20: ("/bin/app", None, 0x20), 0x28: ("/bin/app", None, 0x128)}
        return known.get(address)

    def start(self, pid, address):
        return 0x120 if address == 0x28 else None

    def place(self, pid, address):
        return ("/bin/app", address) if address in (0x10, 0x20) else None


def test_stacks():
    layouts = [
        (1, 48, (TraceAction(Field(16, 24, "stack")),)),
        (2, 56, (TraceAction(Field(16, 40, "ustack")),)),
    ]
    session = Session(layouts, quiet=True, symbolizer=Names())
    margin = "\n" + " " * 14
    kernel = record(1, payload(0x100, 0x123, 0x300))
    assert session.poll(kernel) == margin + margin.join(["vmlinux`vfs_read", "vmlinux`vfs_read+0x23", "0x300\n"])
    # What has no symbol is told by its object and where it begins in that.
    user = record(2, payload(1, 0x28, 0x30, 0, 0))
    assert session.poll(user) == margin + margin.join(["app+0x120+0x8", "0x30\n"])
    user = record(2, payload(1, 0x10, 0x20, 0x30, 0))
    assert session.poll(user) == margin + margin.join(["app`main", "app`0x20", "0x30\n"])
    session.options.noresolve = True
    session.options.stackindent = 2
    assert session.poll(user) == "\n  app:0x10\n  app:0x20\n  0x30\n"


@pytest.mark.parametrize("depth", [*range(20), 40])
def test_stacks_of_any_depth(depth):
    names = Names()
    session = Session([(2, 24 + 41 * 8, (TraceAction(Field(16, 41 * 8, "ustack")),))], quiet=True, symbolizer=names)
    session.options.stackindent = 1
    places = [0x1000 - each for each in range(depth)]
    stack = record(2, payload(1, *places, *[0] * (40 - depth)))
    assert session.poll(stack) == "\n" + "".join(f" {each:#x}\n" for each in places)
    # One function after the other gets to be known; what is known stays.
    for known in range(depth):
        names.user = lambda pid, address, known=known: ("/app", f"f{address}", 0) if address > 0xFFF - known else None
        lines = [f" app`f{each}" if each > 0xFFF - known else f" {each:#x}" for each in places]
        assert session.poll(stack) == "\n" + "".join(f"{line}\n" for line in lines)


def test_functions_inlined_where_it_is_and_where_it_returns_to():
    session = Session([(2, 56, (TraceAction(Field(16, 40, "ustack")),))], quiet=True, symbolizer=Names())
    session.options.inlines = True
    session.options.stackindent = 1
    text = session.poll(record(2, payload(1, 0x10, 0x20, 0x10, 0)))
    expected = ["deep [inlined]", "middle [inlined]", "main", "behind [inlined]", "0x20", "main"]
    assert text == "\n" + "".join(f" app`{name}\n" for name in expected)


def test_names_may_change_and_unknown_ones_may_become_known():
    names = Names()
    session = Session([(2, 56, (TraceAction(Field(16, 40, "ustack")),))], quiet=True, symbolizer=names)
    session.options.stackindent = 0
    stack = record(2, payload(1, 0x10, 0x40, 0, 0))
    assert session.poll(stack) == "\napp`main\n0x40\n"
    names.user = lambda pid, address: ("/jit", f"made{address}", 1)
    assert session.poll(stack) == "\napp`main\njit`made64+0x1\n"
    names.changes = 1
    assert session.poll(stack) == "\njit`made16+0x1\njit`made64+0x1\n"


def test_wide_conversions_take_the_memory_of_a_few_records():
    wide = PrintfAction((Conversion("", "", "*", None, "d"),), (integer(16), integer(24)))
    session = Session([(1, 32, (wide,))], quiet=True)
    session.tracing.feed(*[record(1, struct.pack("<qq", 1 << 40, 5))] * 100)
    tracemalloc.start()
    try:
        session.consumer.poll()
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert os.fstat(session.file.fileno()).st_size == 100 << 20
    assert most < 64 << 20


def test_names_do_not_command_the_terminal():
    names = Names()
    names.user = lambda pid, address: ("/x/a\x1b[2J", "b\n\x9b", 0)
    session = Session([(2, 56, (TraceAction(Field(16, 40, "ustack")),))], quiet=True, symbolizer=names)
    session.options.stackindent = 0
    assert session.poll(record(2, payload(1, 0x10, 0, 0, 0))) == "\na\\x1b[2J`b\\n\\u009b\n"


def test_symbols():
    actions = (
        TraceAction(Field(16, 8, "symbol", detail="sym")),
        TraceAction(Field(16, 8, "symbol", detail="mod")),
        TraceAction(Field(24, 16, "user_symbol", detail="umod")),
        TraceAction(Field(24, 16, "user_symbol", detail="uaddr")),
    )
    session = Session([(1, 40, actions)], quiet=True, symbolizer=Names())
    text = session.poll(record(1, payload(0x104, 1, 0x10)))
    assert text == "".join(f"  {name:<50}" for name in ("vmlinux`vfs_read", "vmlinux", "app", "app`main"))


def test_flowindent():
    session = Session([(1, 16, (), True), (2, 24, (HELLO,))], testing=True)
    session.options.flowindent = True
    text = session.poll(
        record(1, b"", READ.id), record(1, b"", FUNCTION.id), record(2, payload(1), FUNCTION.id), record(1, b"", 1),
        record(1, b"", FUNCTION_RETURN.id), record(1, b"", READ_RETURN.id),
    )  # fmt: skip
    assert text == "\n".join(
        f"{line:<41}{rest}"
        for line, rest in [
            ("FUNCTION", ""), (" => read", " "), ("   -> vfs_read", " "), ("    | vfs_read:entry", " hello 1\n"),
            ("    | :BEGIN", " "), ("   <- vfs_read", " "), (" <= read", " \n"),
        ]
    )  # fmt: skip


def test_flowindent_of_recursion():
    session = Session([(1, 16, (), True)], testing=True)
    session.options.flowindent = True
    text = session.poll(*[record(1, b"", FUNCTION.id)] * 2)
    assert [line.rstrip() for line in text.splitlines()[1:]] == [" -> vfs_read", "   -> vfs_read"]


def test_flowindent_with_cpus_and_indentation_of_each():
    session = Session([(2, 16, (), True)])
    session.options.flowindent = True
    lines = session.poll(record(2, b"", READ.id, 0), record(2, b"", FUNCTION.id, 1)).split("\n")
    assert lines[0] == f"CPU {'FUNCTION':<41}"
    assert lines[1] == f"  0 {' => read':<41} "
    assert lines[2] == f"  1 {' -> vfs_read':<41} "


def test_exit_status_and_last_word():
    session = Session([(1, 20, (ExitAction(integer(16, 4)),))], quiet=True)
    assert session.consumer.exit_status is None
    assert session.poll(record(1, struct.pack("<i", 3)), record(1, struct.pack("<i", -1))) == ""
    assert session.consumer.exit_status == -1


def test_header_line_of_a_record_that_only_exits():
    session = Session([(1, 20, (ExitAction(integer(16, 4)),))], testing=True)
    assert session.poll(record(1, struct.pack("<i", 0))).endswith(f"{':BEGIN':>32} \n")


def test_faults():
    session = Session(quiet=True)
    fault = struct.pack("<IIqQQ", 2, 1, 93, 1, 0x40)
    unplaced = struct.pack("<IIqQQ", 1, READ.id, -1, 4, 7)
    assert session.poll(record(0, fault, 3), record(0, unplaced, 3)) == ""
    assert session.errors.getvalue().decode() == (
        "dtrace: error in dt_clause_1 for probe ID 1 (dtrace:::BEGIN): invalid address (0x40) at BPF pc 93\n"
        "dtrace: error in dt_clause_0 for probe ID 7 (syscall:vmlinux:read:entry): divide-by-zero\n"
    )


def test_drops_are_told_once():
    session = Session(quiet=True)
    values = [[0] * len(COUNTERS), [0] * len(COUNTERS)]
    values[1][COUNTERS.index("aggregations")] = 3
    values[0][COUNTERS.index("speculations")] = 1
    values[1][COUNTERS.index("speculations")] = 1
    raw = b"".join(struct.pack(f"<{len(COUNTERS)}Q", *cpu) for cpu in values)
    session.tracing.maps["counters"] = {bytes(4): raw}
    session.options.droptags = True
    session.consumer.report_drops()
    session.consumer.report_drops()
    assert session.errors.getvalue().decode() == (
        "dtrace: [DTRACEDROP_AGGREGATION] 3 aggregation drops on CPU 1\ndtrace: [DTRACEDROP_SPEC] 2 speculative drops\n"
    )


def test_drop_texts():
    texts = [drop_text(Drop(counter, 0 if counter == "records" else None, 1), False) for counter in COUNTERS[:7]]
    assert texts == [
        "1 drop on CPU 0", "1 aggregation drop", "1 dynamic variable drop", "1 speculative drop",
        "1 failed speculation (available buffer(s) still busy)",
        "1 failed speculation (no speculative buffer available)", "1 error in ERROR probe enabling",
    ]  # fmt: skip


def speculating(rings=1):
    layouts = [
        (1, 24, (OtherAction("speculate", ()), HELLO)),
        (2, 32, (OtherAction("commit", (integer(16), integer(24))),)),
        (3, 32, (OtherAction("discard", (integer(16), integer(24))),)),
        (4, 24, (HELLO,)),
    ]
    return Session(layouts, testing=True, rings=rings)


def closing(layout, written, speculation=1):
    """The record of a commit() or discard() after that many records of the speculation."""
    return record(layout, struct.pack("<qq", speculation, written))


def test_speculation_shows_when_committed():
    session = speculating()
    said = record(1, payload(5), speculation=1)
    assert session.poll(said) == ""
    assert session.poll(closing(2, 1)) == f"{'FUNCTION:NAME':>32}\n{':BEGIN':>32} hello 5\n\n"
    assert session.poll(said, closing(3, 2)) == ""
    assert session.poll(closing(2, 2)) == ""


def test_commit_waits_for_records_still_on_their_way():
    session = speculating()
    session.options.quiet = True
    said = record(1, payload(5), speculation=1)
    assert session.poll(said, closing(2, 3), record(4, payload(6))) == "hello 6\n"
    assert "speculations" not in session.tracing.maps
    assert session.poll(said) == ""
    assert session.poll(record(4, payload(7)), said) == "hello 7\n" + 3 * "hello 5\n"
    assert session.tracing.maps["speculations"] == {struct.pack("<I", 1): bytes(8)}


def test_commit_does_not_wait_for_records_given_up():
    session = speculating()
    session.options.quiet = True
    said = record(1, payload(5), speculation=1)
    counts = {struct.pack("<I", number): struct.pack("<QQ", count, 0) for number, count in enumerate((0, 3, 9))}
    session.tracing.maps["spec_counts"] = counts
    assert session.poll(said, closing(2, 3)) == ""
    counts[struct.pack("<I", 1)] = struct.pack("<QQ", 1, 0)
    assert session.poll() == "hello 5\n"


def test_discarded_records_are_awaited_too():
    session = speculating()
    said = record(1, payload(5), speculation=1)
    assert session.poll(closing(3, 1)) == ""
    assert "speculations" not in session.tracing.maps
    assert session.poll(said) == ""
    assert session.tracing.maps["speculations"] == {struct.pack("<I", 1): bytes(8)}


def test_commit_waits_for_the_other_rings():
    session = speculating(rings=2)
    session.options.quiet = True
    session.tracing.feed(closing(2, 1), ring=0)
    session.tracing.feed(record(1, payload(5), speculation=1), ring=1)
    assert session.poll() == "hello 5\n"


def test_setopt():
    action = SetOptionAction(Field(16, 8, "string"), None)
    valued = SetOptionAction(Field(16, 8, "string"), Field(24, 8, "string"))
    session = Session([(1, 24, (action,)), (2, 32, (valued,))], quiet=True)
    session.refused["Nixon"] = "Invalid option name"
    session.poll(record(1, b"quiet\0\0\0"), record(2, b"Nixon\0\0\x00um\0\0\0\0\0\0"))
    assert session.set == [("quiet", "1"), ("Nixon", "um")]
    assert session.errors.getvalue().decode() == (
        "dtrace: error in dt_clause_1 for probe ID 1 (dtrace:::BEGIN): "
        'couldn\'t set option "Nixon" to "um": Invalid option name\n\n'
    )


def test_system_writes_in_order():
    echo = CommandAction("system", conversions(("echo ", "d")), (integer(16),))
    session = Session([(1, 24, (HELLO, echo, HELLO))], quiet=True)
    assert session.poll(record(1, payload(5))) == "hello 5\n5\nhello 5\n"


def test_freopen_and_back(tmp_path):
    there = CommandAction("freopen", conversions((f"{tmp_path}/out.", "d")), (integer(16),))
    back = CommandAction("freopen", (), ())
    session = Session([(1, 24, (HELLO, there, HELLO)), (2, 24, (HELLO, back, HELLO))], quiet=True)
    text = session.poll(record(1, payload(1)), record(2, payload(2)))
    assert text == "hello 1\nhello 2\n"
    assert (tmp_path / "out.1").read_text() == "hello 1\nhello 2\n"


def test_freopen_that_fails():
    there = CommandAction("freopen", conversions(("/nowhere/at/all", "")), ())
    session = Session([(1, 16, (there,))], quiet=True)
    session.poll(record(1))
    assert b'couldn\'t open "/nowhere/at/all": No such file or directory' in session.errors.getvalue()


def test_ftruncate():
    session = Session([(1, 24, (HELLO,)), (2, 24, (HELLO, OtherAction("ftruncate", ())))], quiet=True)
    session.tracing.feed(record(1, payload(1)), record(2, payload(2)), record(1, payload(3)))
    assert session.poll() == "hello 3\n"


def aggregation(function="count", keys=(), words=1, name="a", parameters=()):
    size = sum(key.size for key in keys) or 4
    return AggregationSpec(name, function, parameters, tuple(keys), size, words, name, False)


def fill(session, name, contents):
    session.tracing.maps[name] = {key: struct.pack(f"<{len(words)}Q", *words) for key, words in contents.items()}


def test_aggregations_left_at_the_end():
    specs = [aggregation(), aggregation("sum", (integer(0, 4),), 1, "b"), aggregation("max", (), 2, "c")]
    session = Session([], specs)
    fill(session, "a", {bytes(4): [3]})
    fill(session, "b", {struct.pack("<i", -1): [100], struct.pack("<i", 5): [20]})
    fill(session, "c", {bytes(4): [0, 0]})
    assert session.finish() == f"\n {3:16}\n {5:8} {20:16}\n {-1:8} {100:16}\n"


def test_nothing_left_is_one_blank_line():
    assert Session([]).finish() == "\n"


def test_printa_default_layout_and_no_repetition():
    keys = (Field(0, 8, "string"), integer(8, 8), integer(16, 2), integer(18, 1))
    session = Session([(1, 16, (PrintaAction(None, (0,)),))], [aggregation(keys=keys)], quiet=True)
    fill(session, "a", {struct.pack("<8sqhb", b"key", -1, -2, -2): [7]})
    session.tracing.maps["a"] = {key[:19]: value for key, value in session.tracing.maps["a"].items()}
    assert session.poll(record(1)) == f"\n  {'key':<50} {-1:16} {65534:5} {254:3} {7:16}\n"
    assert session.finish() == "\n"


def test_printa_with_a_format():
    keys = (Field(0, 8, "string"), integer(8, 8))
    form = conversions(("", "s"), (":", "d"), ("=", "d"), (" ", "x"), ("\n", ""))
    form = tuple(one._replace(flags="@") if place > 1 else one for place, one in enumerate(form[:4])) + form[4:]
    session = Session([(1, 16, (PrintaAction(form, (0,)),))], [aggregation("sum", keys)], quiet=True)
    fill(session, "a", {struct.pack("<8sq", b"key", 3): [-10 & (1 << 64) - 1]})
    assert session.poll(record(1)) == "key:3=-10 fffffffffffffff6\n"


def test_printa_joins_aggregations():
    form = conversions(("", "d"), (" ", "d"), (" ", "d"), ("\n", ""))
    form = tuple(one._replace(flags="@") if place in (1, 2) else one for place, one in enumerate(form))
    specs = [aggregation("sum", (integer(0, 4),), 1, "a"), aggregation("sum", (integer(0, 4),), 1, "b")]
    session = Session([(1, 16, (PrintaAction(form, (0, 1)),))], specs, quiet=True)
    fill(session, "a", {struct.pack("<i", 123): [123], struct.pack("<i", 789): [789]})
    fill(session, "b", {struct.pack("<i", 456): [456], struct.pack("<i", 789): [789]})
    assert session.poll(record(1)) == "456 0 456\n123 123 0\n789 789 789\n"
    session.options.aggsortpos = 1
    assert session.poll(record(1)) == "123 123 0\n456 0 456\n789 789 789\n"
    session.options.aggsortrev = True
    session.options.aggsortkey = True
    assert session.poll(record(1)) == "789 789 789\n456 0 456\n123 123 0\n"


def test_printa_of_charts():
    keys = (Field(0, 8, "string"),)
    spec = aggregation("lquantize", keys, 4, "a", (0, 2, 1))
    session = Session([(1, 16, (PrintaAction(None, (0,)), ClearAction(0)))], [spec], quiet=True)
    fill(session, "a", {b"linear\0\0": [0, 1, 1, 0]})
    text = session.poll(record(1))
    assert text.startswith(f"\n  {'linear':<50}\n           value  ---")
    assert text.endswith(" |                                         0        \n\n")
    assert "@" not in session.poll(record(1))


def test_printa_with_width_from_the_keys():
    keys = (integer(0, 4), integer(4, 4))
    form = (conversions(("-->", "d"))[0]._replace(width="*"), *conversions(("<--\n", "")))
    session = Session([(1, 16, (PrintaAction(form, (0,)),))], [aggregation("sum", keys)], quiet=True)
    fill(session, "a", {struct.pack("<ii", 10, 100): [1], struct.pack("<ii", -10, 200): [2]})
    assert session.poll(record(1)) == "-->       100<--\n-->200       <--\n"


def test_symbols_with_one_name_are_one_key():
    keys = (Field(0, 8, "symbol", detail="sym"),)
    layouts = [(1, 16, (PrintaAction(None, (0,)),))]
    session = Session(layouts, [aggregation("sum", keys)], quiet=True, symbolizer=Names())
    fill(session, "a", {struct.pack("<Q", 0x100): [1], struct.pack("<Q", 0x110): [2], struct.pack("<Q", 0x9): [4]})
    assert session.poll(record(1)) == f"\n  {'vmlinux`vfs_read':<50} {3:16}\n  {'0x9':<50} {4:16}\n"


def test_memory_as_key():
    keys = (Field(0, 4, "bytes"),)
    session = Session([(1, 16, (PrintaAction(None, (0,)),))], [aggregation("sum", keys)], quiet=True)
    fill(session, "a", {b"ab\0\0": [1], b"\0\1\2\3": [2]})
    text = session.poll(record(1))
    assert text.startswith(f"\n  {'ab':<50} {1:16}\n" + DUMP_HEADING)


def test_aggpercpu():
    keys = (integer(0, 4),)
    layouts = [(1, 16, (PrintaAction(None, (0,)), ClearAction(0)))]
    options = Options()
    options.aggpercpu = True
    session = Session(layouts, [aggregation("sum", keys)], quiet=True, options=options)
    fill(session, "a", {struct.pack("<i", 5): [10, 20]})
    assert session.poll(record(1)) == f"\n {5:8} {30:16}\n    [CPU 0] {10:16}\n    [CPU 1] {20:16}\n"
    fill(session, "a", {struct.pack("<i", 5): [11, 20]})
    assert session.poll(record(1)) == f"\n {5:8} {1:16}\n    [CPU 0] {1:16}\n    [CPU 1] {0:16}\n"


def test_blank_line():
    session = Session()
    session.report.blank_line()
    session.report.flush()
    assert session.printed() == "\n"


def test_options_start_plain():
    options = Options()
    assert (options.quiet, options.stackindent) == (False, 14)


def test_output_is_visible_after_each_poll(tmp_path):
    session = Session([(1, 24, (HELLO,))], quiet=True)
    session.tracing.feed(record(1, payload(1)))
    session.consumer.poll()
    assert os.fstat(session.file.fileno()).st_size == len("hello 1\n")


def test_aggrate_shows_what_was_looked_at_last():
    """With the option printa looks at an aggregation once, and again when the option's time has passed."""
    options = Options()
    options.aggrate = 10**18
    layouts = [(1, 16, (PrintaAction(None, (0,)),)), (2, 16, (PrintaAction(None, (0,)), ClearAction(0)))]
    session = Session(layouts, [aggregation()], quiet=True, options=options)
    fill(session, "a", {bytes(4): [3]})
    assert session.poll(record(1)) == f"\n {3:16}\n"
    fill(session, "a", {bytes(4): [5]})
    assert session.poll(record(1), record(2), record(1)) == f"\n {3:16}\n\n {3:16}\n\n {0:16}\n"
    assert session.consumer.refresh()
    # What came after the look that was cleared is still there.
    assert session.poll(record(1)) == f"\n {2:16}\n"
    fill(session, "a", {bytes(4): [9]})
    session.tracing.feed(record(1))
    # Tracing is over: what END prints is as it is.
    assert session.finish() == f"\n {6:16}\n\n"


def test_aggrate_and_keys_that_really_go():
    options = Options()
    options.aggrate = 10**18
    layouts = [(1, 16, (PrintaAction(None, (0,)),)), (2, 16, (TruncAction(0, None),))]
    spec = aggregation()._replace(replaceable=True)
    session = Session(layouts, [spec], quiet=True, options=options)
    fill(session, "a", {bytes(4): [3]})
    assert session.poll(record(1)) == f"\n {3:16}\n"
    fill(session, "a", {bytes(4): [5]})
    assert session.poll(record(2), record(1)) == "\n"
    fill(session, "a", {bytes(4): [1]})
    session.consumer.refresh()
    assert session.poll(record(1)) == f"\n {1:16}\n"


@pytest.mark.parametrize(
    ("code", "value", "pc", "expected"),
    [
        (0, 7, -1, "unknown fault"),
        (1, 0x40, 93, "invalid address (0x40) at BPF pc 93"),
        (1, ALL_ONES, 93, "invalid address at BPF pc 93"),
        (2, 0x41, -1, "invalid alignment (0x41)"),
        (3, 5, -1, "illegal operation"),
        (4, 0, 12, "divide-by-zero at BPF pc 12"),
        (5, 0, -1, "out of scratch space"),
        (6, 9, -1, "invalid kernel access"),
        (7, 9, -1, "invalid user access"),
        (8, 0, -1, "tuple stack overflow"),
        (9, 0x10, -1, "bad stack (0x10)"),
        (10, 0x200, -1, "invalid size (0x200)"),
        (10, ALL_ONES, -1, "invalid size (0xffffffffffffffff)"),
        (11, 17, -1, "index out of bounds (17)"),
        (11, ALL_ONES, -1, "index out of bounds (-1)"),
        (12, 0, -1, "unknown fault"),
        (1000, 0, -1, "library-level fault"),
    ],
)
def test_faults_have_the_texts_of_dtrace(code, value, pc, expected):
    """Of each code, with the address, size or index where libdtrace shows one, and with the place."""
    probe = Probe(7, "dtrace", "", "", "BEGIN", Internal("BEGIN"))
    text = fault_text(Fault(probe=probe, clause=3, pc=pc, code=code, value=value))
    assert text == f"error in dt_clause_2 for probe ID 7 (dtrace:::BEGIN): {expected}"
