"""Objects written by hand: what is read of them, how programs are put together, and what is refused."""

import struct

import pytest
from elftools.elf.elffile import ELFFile
from support.bpf.bpf_objects import BOTH, FUNC, SECTION, WRITABLE, Writer, compiled

from sonde.bpf import instructions as i
from sonde.bpf import maps, programs
from sonde.model.probe import RawTracepoint, Timer, Tracepoint
from sonde.objects.choices import Choices
from sonde.objects.errors import ObjectError
from sonde.objects.front_end import loadable
from sonde.objects.reading import read_object

RETURN = [i.mov_imm(i.R0, 0), i.exit_()]


class NoKernel:
    """A kernel without types."""

    links_uprobes = True
    has_fetching = False
    looks_at_calls = False
    devices = ()

    @property
    def main(self):
        raise ObjectError("there is no BTF")

    def lacks_section(self, prefix):
        return "", ""

    def lacks_firing(self, firing):
        return "", ""

    def lacks_call(self, caller, called):
        return "", ""

    def candidates(self, name, kinds):
        return ()


def loaded(data, values=None):
    return loadable(read_object(data), NoKernel(), Choices(values or {})).spec


def simple(section="raw_tp/sys_enter", code=RETURN):
    writer = Writer()
    writer.function("program", writer.code(section, code), len(code))
    return writer


def refused(data, values=None):
    with pytest.raises(ObjectError) as error:
        loaded(data, values)
    return error.value.text


def test_a_program_alone():
    spec = loaded(simple().build())
    (program,) = spec.programs
    assert (program.name, program.kind, program.code) == ("program", programs.RAW_TRACEPOINT, i.encode(RETURN))
    assert [each.probe.firing for each in program.probes] == [RawTracepoint("sys_enter")]
    assert program.license == ""


@pytest.mark.parametrize(
    ("section", "firing"),
    [
        ("tracepoint/sched/sched_switch", Tracepoint("sched", "sched_switch")),
        ("tp/sched/sched_switch", Tracepoint("sched", "sched_switch")),
        ("raw_tracepoint/sched_switch", RawTracepoint("sched_switch")),
        ("tp_btf/sched_switch", RawTracepoint("sched_switch")),
        ("perf_event", Timer(10**9 // 99, True)),
        ("perf_event/10ms", Timer(10**7, True)),
        ("perf_event/1000hz", Timer(10**6, True)),
    ],
)
def test_sections_say_what_fires_their_programs(section, firing):
    (program,) = loaded(simple(section).build()).programs
    assert [each.probe.firing for each in program.probes] == [firing]


@pytest.mark.parametrize(
    "section",
    [
        "xdp/devmap",
        "sk_lookup",
        "lsm/file_open",
        "tracepoint/x",
        "raw_tp/a b",
        "perf_event/never",
        "iter/task:map",
        "iter/a b",
        "kprobe/a b",
    ],
)
def test_other_sections_are_refused_by_name(section):
    assert section in refused(simple(section).build())


def test_functions_that_are_called_are_put_behind_the_program_once_each():
    writer = Writer()
    second = [i.mov_imm(i.R0, 2), i.exit_()]
    text = writer.code(".text", [*RETURN, *second])
    writer.function("first", text, 2, is_global=False)
    writer.function("second", text, 2, start=2)
    writer.symbol(".text", text, kind=SECTION, is_global=False)
    code = [i.call_local(-1), i.call_local(-1), i.call_local(1), *RETURN]
    section = writer.code("raw_tp/x", code)
    writer.function("program", section, len(code))
    writer.relocate(section, 0, "second", 10)
    writer.relocate(section, 1, ".text", 10)
    writer.relocate(section, 2, ".text", 10)
    (program,) = loaded(writer.build()).programs
    assert program.code == i.encode([i.call_local(4), i.call_local(5), i.call_local(2), *RETURN, *second, *RETURN])


def test_a_call_within_a_section_needs_no_relocation():
    writer = Writer()
    code = [i.call_local(1), i.exit_(), *RETURN]
    section = writer.code("raw_tp/x", code)
    writer.function("program", section, 2)
    writer.function("inner", section, 2, start=2, is_global=False)
    (program,) = loaded(writer.build()).programs
    assert program.code == i.encode(code)


@pytest.mark.parametrize("has_value", [False, True])
def test_data_are_found_with_both_kinds_of_immediates(has_value):
    """The addend alone, or, as GNU as before 2.41 has it, with the value of a global symbol."""
    writer = Writer()
    data = writer.section(".data", struct.pack("<QQ", 5, 6), WRITABLE | 2)
    writer.symbol("low", data, 0, 8)
    writer.symbol("high", data, 8, 8)
    code = [*i.ld_imm64(i.R1, 8 if has_value else 0), *i.ld_imm64(i.R2, 12 if has_value else 4), *RETURN]
    section = writer.code("raw_tp/x", code)
    writer.function("program", section, len(code))
    writer.relocate(section, 0, "high")
    writer.relocate(section, 2, "high")
    spec = loaded(writer.build())
    (program,) = spec.programs
    assert program.map_references == ((0, ".data"), (2, ".data"))
    found = i.decode(program.code)
    assert [(found[at].src, found[at + 1].imm) for at in (0, 2)] == [(i.PSEUDO_MAP_VALUE, 8), (i.PSEUDO_MAP_VALUE, 12)]
    assert spec.maps[0].contents == ((bytes(4), struct.pack("<QQ", 5, 6)),)


def test_the_older_section_of_maps():
    writer = Writer()
    number = writer.section("maps", struct.pack("<10I", maps.HASH, 4, 8, 16, 1, maps.ARRAY, 4, 4, 2, 0), WRITABLE | 2)
    writer.symbol("first", number, 0, 20)
    writer.symbol("second", number, 20, 20)
    code = [*i.ld_imm64(i.R1, 0), *RETURN]
    section = writer.code("raw_tp/x", code)
    writer.function("program", section, len(code))
    writer.relocate(section, 0, "second")
    spec = loaded(writer.build())
    assert [(each.name, each.kind, each.max_entries, each.flags) for each in spec.maps] == [
        ("first", maps.HASH, 16, 1), ("second", maps.ARRAY, 2, 0)
    ]  # fmt: skip
    assert spec.programs[0].map_references == ((0, "second"),)


def with_data(size=4):
    writer = simple()
    data = writer.section(".rodata", bytes(size), 2)
    writer.symbol("limit", data, 0, size)
    return writer.build()


def test_global_variables_are_set_before_loading():
    (map_,) = loaded(with_data(), {"limit": -2}).maps
    assert map_.contents == ((bytes(4), b"\xfe\xff\xff\xff"),)
    assert map_.frozen
    assert "no global variable other" in refused(with_data(), {"other": 1})
    assert "does not fit" in refused(with_data(), {"limit": 1 << 32})
    assert "only a number" in refused(with_data(16), {"limit": 1})


def test_what_makes_no_sense_is_refused():
    assert "not a little-endian ELF file" in refused(b"int main;")
    assert "no BPF object" in refused(Writer(machine=62).build())
    assert "no programs" in refused(Writer().build())
    writer = simple()
    writer.function("outside", 1, 9)
    assert "outside does not lie in its section" in refused(writer.build())


def test_a_relocation_to_nothing_is_refused():
    code = [*i.ld_imm64(i.R1, 0), i.call_local(-1), *RETURN]
    for index, what in ((0, "needs nothing, which the object only declares"), (2, "calls nothing")):
        writer = simple(code=code)
        writer.symbol("nothing", 0)
        writer.relocate(1, index, "nothing", 1 if index == 0 else 10)
        assert what in refused(writer.build())


def test_an_endless_chain_of_calls_is_one_program():
    """Functions that call each other are there once; that they recurse is for the verifier to refuse."""
    writer = Writer()
    text = writer.code(".text", [i.call_local(-1), i.exit_()])
    writer.function("again", text, 2)
    section = writer.code("raw_tp/x", [i.call_local(-1), i.exit_()])
    writer.function("program", section, 2)
    for number in (text, section):
        writer.relocate(number, 0, "again", 10)
    assert len(loaded(writer.build()).programs[0].code) == 8 * 4


SOURCE = """
struct { __uint(type, 1); __uint(max_entries, 64); __type(key, u32); __type(value, u64); } counts SEC(".maps");
struct { __uint(type, 4); __type(key, u32); __type(value, u32); } output SEC(".maps");
u64 total; int start = 5; const volatile int limit = 7;
static __attribute__((noinline)) u64 add(u64 by) { total += by; return total; }
SEC("tracepoint/syscalls/sys_enter_getppid") int entered(void *context) { return add(start) > limit; }
"""


@pytest.mark.parametrize("compiler", BOTH)
def test_a_compiled_object_agrees_with_pyelftools(compiler):
    path = compiled(SOURCE, compiler)
    with open(path, "rb") as file:
        data = file.read()
        file.seek(0)
        reference = ELFFile(file)
        mine = read_object(data).file
        assert [each.name for each in mine.sections] == [each.name for each in reference.iter_sections()]
        table = reference.get_section_by_name(".symtab")
        named = [(each.name, each["st_value"], each["st_size"]) for each in table.iter_symbols()]
        assert [(each.name, each.value, each.size) for each in mine.symbols if each.kind != SECTION] == [
            each for each, symbol in zip(named, mine.symbols, strict=True) if symbol.kind != SECTION
        ]
        for number, section in enumerate(reference.iter_sections()):
            if section["sh_type"] == "SHT_REL":
                found = mine.relocations(section["sh_info"])
                expected = sorted((each["r_offset"], each["r_info_type"]) for each in section.iter_relocations())
                assert [(each.offset, each.kind) for each in found] == expected, number


@pytest.mark.parametrize("compiler", BOTH)
def test_maps_and_data_of_a_compiled_object(compiler):
    with open(compiled(SOURCE, compiler), "rb") as file:
        spec = loaded(file.read())
    known = {each.name: each for each in spec.maps}
    assert known["counts"][:5] == ("counts", maps.HASH, 4, 8, 64)
    assert (known["output"].key_size, known["output"].value_size, known["output"].by_cpu) == (4, 4, "any")
    assert known[".bss"].value_size == 8
    assert not known[".bss"].contents
    (program,) = spec.programs
    assert program.license == "GPL"
    assert len(program.map_references) >= 3


@pytest.mark.share(5)
@pytest.mark.parametrize("compiler", BOTH)
@pytest.mark.parametrize(
    ("member", "what"),
    [("__uint(pinning, 1);", "pinned"), ("__uint(map_extra, 3);", "map_extra"), ("int *nonsense;", "nonsense")],
)
def test_what_a_map_cannot_have(compiler, member, what):
    source = (
        'struct { __uint(type, 1); %s __uint(max_entries, 2); __type(key, u32); __type(value, u32); } m SEC(".maps");'
    )
    program = '\nSEC("raw_tp/x") int f(void *c) { return bpf_map_lookup_elem(&m, c) != 0; }'
    with open(compiled(source % member + program, compiler), "rb") as file:
        assert what in refused(file.read())


def test_a_function_symbol_outside_of_all_sections_is_no_program():
    writer = simple()
    writer.symbol("elsewhere", 0xFFF1, 0, 8, FUNC)
    assert [each.name for each in loaded(writer.build()).programs] == ["program"]


ARRAY = """
int called(void *context);
struct { __uint(type, 3); __uint(max_entries, 1); __uint(key_size, 4); __array(values, int(void *)); }
    jumps SEC(".maps") = { .values = { [0] = (void *)&called } };
"""
USER = """
SEC("uprobe/libc.so.6:getppid") int entry(void *c) { return 0; }
SEC("uretprobe/libc.so.6:getppid") int back(void *c) { return 0; }
SEC("uprobe.multi/libc.so.6:getppid") int many(void *c) { return 0; }
"""


@pytest.mark.share(1)
@pytest.mark.parametrize(
    ("source", "has_links", "linked"),
    [
        (USER, True, True), (USER, False, False),
        (ARRAY + 'SEC("uprobe") int called(void *c) { return 0; }' + USER, True, True),
        (ARRAY + 'SEC("kprobe") int called(void *c) { return 0; }' + USER, True, False),
        (USER + 'SEC("kprobe") int called(void *c) { return 0; }', True, True),
    ],
    ids=["links", "no links", "an array", "an array of several attach types", "no array"],
)  # fmt: skip
@pytest.mark.parametrize("compiler", BOTH)
def test_uprobes_are_linked_unless_an_array_has_programs_of_another_attach_type(compiler, source, has_links, linked):
    kernel = NoKernel()
    kernel.links_uprobes = has_links
    with open(compiled(source, compiler), "rb") as file:
        spec = loadable(read_object(file.read()), kernel, Choices()).spec
    kinds = {each.name: each.attach_type for each in spec.programs if each.name != "called"}
    assert kinds == dict.fromkeys(("entry", "back", "many"), programs.TRACE_UPROBE_MULTI if linked else 0)
