"""Format files of trace events, and the sdt probes made from a directory that looks like tracefs."""

import pytest

from sonde.model.probe import RawTracepoint, Tracepoint
from sonde.model.target import Target
from sonde.model.types import name_of
from sonde.providers.tracefs import FormatField, parse_format
from sonde.session.registry import Registry

COMMON = """\
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

"""


def event(name, number, fields):
    lines = "".join(
        f"\tfield:{declaration};\toffset:{offset};\tsize:{size};\tsigned:{signed};\n"
        for declaration, offset, size, signed in fields
    )
    return f'name: {name}\nID: {number}\nformat:\n{COMMON}{lines}\nprint fmt: "field:int x;\toffset:0;", REC->x\n'


def test_common_fields_and_the_print_format_are_left_out():
    text = event("e", 7, [("int x", 8, 4, 1), ("const char * name", 16, 8, 0)])
    assert parse_format(text) == (
        FormatField("x", "int", 8, 4, True),
        FormatField("name", "const char *", 16, 8, False),
    )


def test_arrays_keep_their_brackets_with_the_type():
    text = event("e", 7, [("char comm[16]", 8, 16, 0), ("__data_loc char[] name", 24, 4, 0)])
    assert [(field.name, field.type) for field in parse_format(text)] == [
        ("comm", "char[16]"),
        ("name", "__data_loc char[]"),
    ]


def test_the_sign_may_be_missing():
    assert parse_format("\tfield:u32 x;\toffset:8;\tsize:4;\n") == (FormatField("x", "u32", 8, 4, False),)


@pytest.fixture
def tracefs(tmp_path):
    events = {
        ("sched", "switch"): [("char comm[TASK_COMM_LEN]", 8, 16, 0), ("pid_t pid", 24, 4, 1), ("bool on", 28, 1, 0)],
        ("irq", "entry_irq"): [("__data_loc char[] name", 8, 4, 0), ("enum odd kind", 12, 4, 1), ("odd_t x", 16, 8, 0)],
        ("net", "xmit"): [("struct sk_buff * skb", 8, 8, 0), ("__rel_loc u64[] v", 16, 4, 0), ("long n", 20, 4, 1)],
        ("syscalls", "sys_enter_x"): [],
        ("kprobes", "p"): [],
        ("dtrace_99", "q"): [],
    }
    lines = []
    for number, ((group, name), fields) in enumerate(events.items(), 40):
        directory = tmp_path / "events" / group / name
        directory.mkdir(parents=True)
        (directory / "format").write_text(event(name, number, fields))
        (directory / "id").write_text(f"{number}\n")
        lines.append(f"{group}:{name}")
    (tmp_path / "events" / "enable").write_text("0\n")
    (tmp_path / "available_events").write_text("\n".join(lines) + "\n")
    return str(tmp_path)


@pytest.fixture
def registry(tracefs, tmp_path):
    return Registry(Target("x86_64", "6.18"), tracefs=tracefs, btf=str(tmp_path / "none"))


def test_every_event_but_the_other_providers(registry):
    probes = registry.match("sdt", "", "", "")
    assert [str(probe) for probe in probes] == ["sdt:sched::switch", "sdt:irq::entry_irq", "sdt:net::xmit"]
    assert probes[0].firing == Tracepoint("sched", "switch")
    assert [registry.by_id(probe.id) for probe in probes] == list(probes)


@pytest.mark.parametrize(
    ("module", "function", "name", "expected"),
    [
        ("", "", "switch", ["switch"]),
        ("sched", "", "switch", ["switch"]),
        ("irq", "", "switch", []),
        ("s*", "", "switch", ["switch"]),
        ("*", "*", "*t*", ["switch", "entry_irq", "xmit"]),
        ("", "f", "switch", []),
        ("", "", "sys_enter_x", []),
        ("kprobes", "", "p", []),
        ("", "", "no-such", []),
    ],
)
def test_match(registry, module, function, name, expected):
    assert [probe.name for probe in registry.match("sdt", module, function, name)] == expected


def fields_of(registry, name):
    (probe,) = registry.match("sdt", "", "", name)
    return [(f.name, name_of(f.type), f.offset, f.size, f.location) for f in registry.fields(probe)]


def test_fields_have_types_and_places(registry):
    assert fields_of(registry, "switch") == [
        ("comm", "char[16]", 8, 16, ""),
        ("pid", "pid_t", 24, 4, ""),
        ("on", "bool", 28, 1, ""),
    ]


def test_fields_elsewhere_in_the_record_and_unknown_types(registry):
    assert fields_of(registry, "entry_irq") == [
        ("name", "char[]", 8, 4, "data"),
        ("kind", "int", 12, 4, ""),
        ("x", "unsigned long", 16, 8, ""),
    ]


def test_the_size_in_the_record_rules(registry):
    assert fields_of(registry, "xmit") == [
        ("skb", "struct sk_buff *", 8, 8, ""),
        ("v", "u64[]", 16, 4, "relative"),
        ("n", "int", 20, 4, ""),
    ]


def test_arguments_are_the_fields(registry):
    (probe,) = registry.match("sdt", "", "", "switch")
    assert [name_of(argument.native) for argument in registry.arguments(probe)] == ["char[16]", "pid_t", "bool"]


def test_raw_tracepoints_without_btf_come_from_tracefs(registry):
    probes = registry.match("rawtp", "sched", "", "")
    assert [(str(probe), probe.firing) for probe in probes] == [("rawtp:sched::switch", RawTracepoint("switch", -1))]
    assert {name_of(argument.native) for argument in registry.arguments(probes[0])} == {"uint64_t"}
    assert registry.match("rawtp", "", "", "switch") == probes


def test_without_tracefs_and_btf_there_are_no_events(tmp_path):
    empty = Registry(Target("x86_64", "6.18"), tracefs=str(tmp_path), btf=str(tmp_path))
    assert not empty.match("sdt", "", "", "")
    assert not empty.match("rawtp", "", "", "")
