"""Probes at lines and offsets of the kernel's functions: which there are, what is refused and why, and which variables
they have. The kernel is a file that the tests compile; Linux's own is compared by tools/kernel_variables.py."""

import pytest
from support.d.d_checking import DEFAULTS, compile_sources
from support.symbols.kernel_like import FIRST, SECOND, line_of, needs_compiler, offsets, symbols, vmlinux

from sonde.bpf import programs
from sonde.bpf.btf_writer import INT_SIGNED, BtfBuilder
from sonde.codegen.basis.settings import Settings
from sonde.codegen.compiler import Compilation
from sonde.frontends.d.source import ProgramSource
from sonde.model.errors import SourceError
from sonde.model.probe import KernelFunction
from sonde.model.target import Target
from sonde.session.registry import Registry

pytestmark = needs_compiler

LOOP = line_of("total += square")
ALL = ("fentry", "kprobe_multi", "kprobe_cookie", "perf_cookie", "raw_tp_cookie")


@pytest.fixture
def registry(tmp_path):
    return made(tmp_path, vmlinux=vmlinux(), is_other=True)


def made(folder, **about):
    """What a kernel has that traces `work`, which its BTF describes, and `other`, which that does not."""
    btf = BtfBuilder()
    number, size = btf.add_int("int", 4, INT_SIGNED), btf.add_int("long unsigned int", 8)
    kind = btf.add_function_type(number, [("file", size), ("name", size), ("count", size)])
    btf.add_func("work", kind)
    (folder / "vmlinux").write_bytes(btf.build())
    (folder / "available_filter_functions").write_text("work\nsame\nsame\nother\n")
    named = "".join(f"{address:016x} T {name}\n" for address, name in symbols(vmlinux()))
    (folder / "kallsyms").write_text(named)
    target = Target("x86_64", "6.12.0", frozenset(ALL))
    return Registry(target, btf=str(folder), tracefs=str(folder), kallsyms=str(folder / "kallsyms"), **about)


def spec(text, registry):
    program = compile_sources([ProgramSource(text)], registry, DEFAULTS)
    sources = {None: text.splitlines()}
    return Compilation(
        program, Settings(), registry.target, registry.tagged_type, registry.fields, sources, registry.signature
    ).spec()  # fmt: skip


def refused(call, *words):
    with pytest.raises(SourceError) as error:
        call(*words)
    return f"{error.value.text}\n{error.value.hint}"


def test_each_instruction_of_a_function_and_nothing_else_is_a_place(registry):
    begins = set(offsets(vmlinux(), "work"))
    assert len(begins) > 20
    for offset in range(max(begins) + 1):
        if offset in begins:
            (probe,) = registry.match("fbt", "vmlinux", "work", f"{offset:x}")
            assert probe.firing == KernelFunction("vmlinux", "work", False, True, True, offset)
            assert str(probe) == f"fbt:vmlinux:work:{offset:x}"
            assert registry.by_id(probe.id) == probe
            assert registry.match("fbt", "", "work", f"0x{offset:x}") == [probe]
        else:
            why = refused(registry.match, "fbt", "vmlinux", "work", f"{offset:x}")
            assert "is not aligned on an instruction" in why
            assert f"at {min(each for each in begins if each > offset):x}" in why


def test_a_line_is_a_probe_where_control_reaches_it(registry):
    (probe,) = registry.match("fbt", "vmlinux", f"first.c@{LOOP}", "")
    assert probe.function == f"first.c@{LOOP}"
    function, _, offset = probe.name.partition("+")
    assert function == "work"
    assert probe.firing == KernelFunction("vmlinux", "work", False, True, True, int(offset, 16))
    assert registry.match("rawfbt", "", f"first.c@{LOOP}", "work+*")[0].firing == probe.firing
    assert not registry.match("fbt", "", f"first.c@{LOOP}", "other+*")


def test_of_functions_of_one_name_each_is_a_place(registry):
    """A static function of two files: by name both are meant, by a line one."""
    assert [each.firing.which for each in registry.match("fbt", "", "same", "0")] == [0, 1]
    for file, text, which in (("first.c", FIRST, 0), ("second.c", SECOND, 1)):
        line = line_of("sink = first * ", text)
        (probe,) = registry.match("fbt", "", f"{file}@{line}", "")
        assert (probe.firing.name, probe.firing.which) == ("same", which)


@pytest.mark.parametrize(
    ("function", "name", "why"),
    [
        ("work", "5000", "offset 0x5000 outside of function 'work'"),
        ("listed", "0", "list of functions that may not be probed"),
        ("quiet", "0", "noinstr"),
        (f"first.c@{line_of('sink = first;')}", "entry", "leave the name open"),
        ("first.c@9999", "", "has no code for line 9999"),
        ("third.c@7", "", "has no source file third.c"),
        ("*.c@7", "", "is no file and line"),
        ("first.c@2", "", "the next line that has is first.c@"),
        ("missing", "10", "there is no function missing in the kernel"),
    ],
)
def test_what_cannot_be_probed_is_refused_with_the_reason(registry, function, name, why):
    assert why in refused(registry.match, "fbt", "", function, name)


def test_the_instruction_of_a_warning_is_refused(registry):
    refusals = {}
    for offset in offsets(vmlinux(), "warned"):
        try:
            registry.match("fbt", "", "warned", f"{offset:x}")
        except SourceError as error:
            refusals[offset] = error.hint
    assert list(refusals.values()) == ["it is the instruction of a BUG() or WARN()"]


def test_patterns_mean_entries_and_returns_only(registry):
    assert {each.name for each in registry.match("fbt", "", "work", "*")} == {"entry", "return"}
    assert {each.name for each in registry.match("fbt", "", "wor*", "")} == {"entry", "return"}
    assert not registry.match("fbt", "", "wor*", "10")


def test_variables_are_fetched_from_registers_and_the_kernel_s_memory(registry):
    text = (
        f"fbt::first.c@{LOOP}: {{ trace(locals->square); trace(args->file->place.line); trace(locals->copy.position);"
        " trace(stringof(locals->file->place.name)); trace(globals->hidden); }"
    )
    (program,) = spec(text, registry).programs
    assert (program.kind, program.attach_type) == (programs.KPROBE, programs.ATTACH_NONE)
    assert {(stamp.kind, stamp.name) for stamp in program.stamps} == {("symbol", "vmlinux`_stext")}


def test_nothing_of_a_variable_is_read_as_the_memory_of_a_process(registry):
    """The helpers that read are the kernel's."""
    from sonde.bpf import instructions as i
    from sonde.bpf.helpers import NUMBERS

    text = f"fbt::first.c@{LOOP}: {{ print(*locals->file); trace(locals->copy.position); trace(locals->name[1]); }}"
    (program,) = spec(text, registry).programs
    called = {each.imm for each in i.decode(program.code) if each.opcode == i.call(0).opcode}
    assert NUMBERS["probe_read_kernel"] in called
    assert not called & {NUMBERS["probe_read_user"], NUMBERS["probe_read_user_str"], NUMBERS["copy_from_user"]}


def test_what_btf_does_not_describe_has_arguments_by_debug_information(registry):
    """`work` is in BTF, and keeps fentry; `other` is not."""
    (program,) = spec("fbt::work:entry { trace(args->count); }", registry).programs
    assert program.attach_type == programs.TRACE_FENTRY
    (program,) = spec("fbt::other:entry { trace(args->first); trace(args[0]); }", registry).programs
    assert program.attach_type == programs.TRACE_KPROBE_MULTI
    (program,) = spec("fbt::work:entry { trace(locals->count); }", registry).programs
    assert program.attach_type == programs.TRACE_KPROBE_MULTI


def test_a_clause_may_have_entries_and_places(registry):
    """At the entry BTF has it, at the line debug information."""
    text = f"fbt::work:entry, fbt::first.c@{LOOP}: {{ trace(args->count); }}"
    assert [each.attach_type for each in spec(text, registry).programs] == [
        programs.TRACE_FENTRY, programs.ATTACH_NONE,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("fbt::work:0 { trace(locals->total); }", "optimised out there"),
        ("fbt::work:0 { trace(locals->totla); }", "did you mean total?"),
        ("fbt::work:0 { trace(globals->per_cpu_count); }", "it is a per-CPU variable"),
        ("fbt::work:0 { trace(globals->missing); }", "defines no variable of that name"),
        ("fbt::work:0 { trace(args[3]); }", "there are file, name, count"),
        ("fbt::quiet:entry { trace(args->first); }", "does not match any probes"),
        ("fbt::same:entry { trace(locals->first); }", "a probe at a line, FILE@LINE, is in one of them"),
        ("fbt::work:return { trace(locals->total); }", "has no variables with names"),
    ],
)
def test_a_variable_that_is_not_to_be_had_is_refused_with_the_reason(registry, text, why):
    assert why in refused(spec, text, registry)


def test_a_spec_depends_on_the_build_whose_code_it_knows(registry, tmp_path):
    """And on no build where BTF tells all."""
    from sonde.symbols.elf.file import ElfFile

    build = ElfFile.open(vmlinux()).build_id
    found = registry.facts(spec("fbt::work:entry { trace(args->count); }", registry))
    assert "build" not in {kind for kind, *_ in found}
    found = registry.facts(spec(f"fbt::first.c@{LOOP}: {{ trace(locals->square); }}", registry))
    assert ("build", "vmlinux", build) in found
    assert registry.fact("build", "vmlinux") == build


def test_without_debug_information_offsets_are_left_to_the_kernel(tmp_path):
    found = made(tmp_path, vmlinux=str(tmp_path / "nothing"))
    (probe,) = found.match("fbt", "vmlinux", "work", "5")
    assert probe.firing == KernelFunction("vmlinux", "work", False, False, True, 5)
    assert "there is no function missing" in refused(found.match, "fbt", "", "missing", "5")
    why = refused(found.match, "fbt", "", "first.c@7", "")
    assert "there is no debug information of the kernel" in why
    assert "Debian: linux-image-$(uname -r)-dbg" in why
    why = refused(spec, "fbt::work:5 { trace(locals->total); }", found)
    assert "there is no debug information of the kernel" in why
