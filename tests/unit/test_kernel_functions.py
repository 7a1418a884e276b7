"""fbt and rawfbt: which functions there are, what their arguments are, and how they are attached."""

import pytest
from support.bpftrace.bt_compiling import options
from support.d.d_checking import DEFAULTS, compile_sources

from sonde.arch.x86_64 import convention
from sonde.arch.x86_64 import registers as r
from sonde.arch.x86_64.convention import ParameterPlace
from sonde.bpf import programs
from sonde.bpf.btf_writer import INT_SIGNED, BtfBuilder, WrittenMember
from sonde.bpf.helpers import NUMBERS
from sonde.bpf.instructions import call, decode
from sonde.codegen.basis.settings import Settings
from sonde.codegen.compiler import Compilation
from sonde.frontends.bpftrace.check.listing import listed
from sonde.frontends.bpftrace.check.probes import Machine
from sonde.frontends.d.source import ProgramSource
from sonde.frontends.languages import front_end
from sonde.library.attachments import attachments
from sonde.model import types
from sonde.model.errors import ProgramError, SourceError
from sonde.model.probe import KernelFunction
from sonde.model.target import Target
from sonde.model.types import Function, Pointer, Struct
from sonde.providers.functions import TraceableFunctions
from sonde.session.registry import Registry

MANY = [f"many_{number}" for number in range(20)]
LIST = (
    (
        "__ftrace_invalid_address___0 plain twice __probestub_x twice clone.isra.0 clone.isra.0.cold wide wine unknown "
        f"vague _raw_spin_lock nothing {' '.join(MANY)} shared shared,[ext4] twice,[ext4] inner,[ext4] "
    )
    .replace(" ", "\n")
    .replace(",", " ")
)
ALL = ("fentry", "kprobe_multi", "kprobe_cookie", "perf_cookie", "raw_tp_cookie")


@pytest.fixture
def kernel(tmp_path):
    """A directory as -k takes it: the kernel's BTF, its functions and symbols."""
    btf = BtfBuilder()
    number, size = btf.add_int("int", 4, INT_SIGNED), btf.add_int("long unsigned int", 8)
    file = btf.add_struct("file", 16, [WrittenMember("f_flags", number, 0), WrittenMember("f_pos", size, 64)])
    pair = btf.add_struct("pair", 16, [WrittenMember("first", size, 0), WrittenMember("second", size, 64)])
    plain = btf.add_function_type(number, [("file", btf.add_pointer(file)), ("count", size)])
    for name in ("plain", "twice", "shared", "inlined", *MANY):
        btf.add_func(name, plain)
    btf.add_func("wide", btf.add_function_type(size, [("pair", pair), *((f"n{at}", number) for at in range(6))]))
    btf.add_func("wine", btf.add_function_type(size, [(f"n{at}", number) for at in range(7)]))
    btf.add_func("nothing", btf.add_function_type(0, []))
    vague = btf.add_pointer(btf.add_pointer(number))
    btf.add_func("vague", btf.add_function_type(vague, [("object", vague), ("count", size)]))
    (tmp_path / "vmlinux").write_bytes(btf.build())
    (tmp_path / "available_filter_functions").write_text(LIST)
    (tmp_path / "kallsyms").write_text("ffffffff81000000 T secret\nffffffff81000010 D data\n")
    return tmp_path


@pytest.fixture
def registry(kernel):
    return Registry(Target("x86_64", "6.12.0"), btf=str(kernel), tracefs=str(kernel), kallsyms=str(kernel / "kallsyms"))


def compiled(text, registry, features=ALL, refused=()):
    program = compile_sources([ProgramSource(text)], registry, DEFAULTS)
    return compiled_program(program, text, registry, features, refused)


def bt_compiled(text, registry, features=ALL, refused=(), unsafe=False):
    given = options()
    given.set_in_program("destructive", "yes" if unsafe else "no")
    found = front_end("bpftrace").check((("text", text),), given, registry, (), 0, "bpftrace")
    return compiled_program(found.program, text, registry, features, refused)


def compiled_program(program, text, registry, features, refused):
    target = registry.target._replace(features=frozenset(features), refused_functions=frozenset(refused))
    sources = {None: text.splitlines()}
    return Compilation(
        program, Settings(), target, registry.tagged_type, registry.fields, sources, registry.signature
    ).spec()  # fmt: skip


def ways(text, registry, features=ALL, refused=()):
    """(function attached by its type, kind of attachment, number of probes) of each program."""
    spec = compiled(text, registry, features, refused)
    return [(each.attach_to, each.attach_type, len(each.probes)) for each in spec.programs]


def names(found):
    return [(probe.module, probe.function, probe.name) for probe in found]


def test_the_functions_that_ftrace_lists_are_there(registry):
    assert names(registry.match("fbt", "", "plain", "")) == [
        ("vmlinux", "plain", "entry"), ("vmlinux", "plain", "return"),
    ]  # fmt: skip
    assert names(registry.match("fbt", "ext4", "", "entry")) == [
        ("ext4", "shared", "entry"), ("ext4", "twice", "entry"), ("ext4", "inner", "entry"),
    ]  # fmt: skip
    assert names(registry.match("rawfbt", "vmlinux", "*.isra.*", "return")) == [
        ("vmlinux", "clone.isra.0", "return"), ("vmlinux", "clone.isra.0.cold", "return"),
    ]  # fmt: skip
    assert len(registry.match("fbt", "", "many_*", "entry")) == len(MANY)
    assert not registry.match("fbt", "", "", "offset")
    for name in ("__ftrace*", "__ftrace_invalid_address___0", "__probestub_x", "", "[ext4]", "plain "):
        assert not [each for each in registry.match("fbt", "", name, "") if each.function.startswith("__")], name


def test_equal_names_are_one_probe_in_each_module(registry):
    found = registry.match("fbt", "", "twice", "entry")
    assert names(found) == [("vmlinux", "twice", "entry"), ("ext4", "twice", "entry")]
    assert {probe.firing for probe in found} == {
        KernelFunction("vmlinux", "twice", False, False), KernelFunction("ext4", "twice", False, False),
    }  # fmt: skip
    assert all(not probe.firing.is_unique for probe in registry.match("fbt", "", "shared", ""))
    assert found == list(registry.match("fbt", "", "t?ice", "entry"))


def test_identifiers_lead_back_to_their_probes(registry):
    for provider in ("fbt", "rawfbt"):
        for probe in registry.match(provider, "", "", ""):
            assert registry.by_id(probe.id) == probe
    assert registry.by_id(399_998) is None


def test_without_the_list_there_is_no_function(tmp_path):
    functions = TraceableFunctions(str(tmp_path))
    assert not functions.readable
    assert list(functions.matching("", "")) == list(functions.matching("", "plain")) == []
    assert functions.at(0) is None


@pytest.mark.parametrize(
    ("function", "why"),
    [
        ("clone", "clone.isra.0, clone.isra.0.cold of clone"),
        ("secret", "secret cannot be traced: it is notrace"),
        ("inlined", "inlined is no function of its own"),
        ("data", "fbt has no function data"),
        ("plian", "like it: plain"),
    ],
)
def test_why_a_function_has_no_probe(registry, function, why):
    assert why in registry.mismatch("fbt", "", function, "entry")


def test_arguments_have_types_and_names_from_btf(registry):
    (entry, leave) = registry.match("fbt", "", "plain", "")
    assert [types.name_of(each.native) for each in registry.arguments(entry)] == ["struct file *", "unsigned long"]
    assert registry.argument_names(entry) == ("file", "count")
    assert [types.name_of(each.native) for each in registry.arguments(leave)] == ["int", "int"]
    assert registry.argument_names(leave) is None
    (_, leave) = registry.match("fbt", "", "nothing", "")
    assert len(registry.arguments(leave)) == 1
    (raw, *_) = registry.match("rawfbt", "", "plain", "")
    assert registry.argument_names(raw) == ("file", "count")
    (unknown, *_) = registry.match("fbt", "", "unknown", "")
    assert registry.arguments(unknown) is registry.argument_names(unknown) is None


@pytest.mark.parametrize(
    ("text", "features", "expected"),
    [
        ("fbt::plain:entry { trace(args->count); }", ALL, [("plain", programs.TRACE_FENTRY, 1)]),
        ("fbt::plain:return { trace(arg1); }", ALL, [("plain", programs.TRACE_FEXIT, 1)]),
        ("fbt::plain:entry { trace(arg1); }", ALL[1:], [(None, programs.TRACE_KPROBE_MULTI, 1)]),
        ("fbt::plain:entry { trace(arg1); }", ALL[2:], [(None, programs.ATTACH_NONE, 1)]),
        ("rawfbt::plain:entry { trace(args->count); }", ALL, [(None, programs.ATTACH_NONE, 1)]),
        ("fbt::many_*:entry { trace(probefunc); }", ALL, [(None, programs.TRACE_KPROBE_MULTI, len(MANY))]),
        ("fbt::many_*:entry { trace(args->count); }", ALL, [(None, programs.TRACE_KPROBE_MULTI, len(MANY))]),
        ("fbt::many_*:return { trace(args[1]); }", ALL[2:], [(None, programs.ATTACH_NONE, len(MANY))]),
        # Not what fentry takes, by its arguments, by its name, and where BTF does not know it.
        ("fbt::wide:entry { trace(args->n5); }", ALL, [(None, programs.TRACE_KPROBE_MULTI, 1)]),
        ("fbt::twice:entry { trace(arg1); }", ALL, [(None, programs.TRACE_KPROBE_MULTI, 2)]),
        ("fbt::unknown:entry { trace(arg1); }", ALL, [(None, programs.TRACE_KPROBE_MULTI, 1)]),
        # What the verifier lets no program load.
        ("fbt::vague:entry { trace(arg1); }", ALL, [("vague", programs.TRACE_FENTRY, 1)]),
        ("fbt::vague:entry { trace(arg0); }", ALL, [(None, programs.TRACE_KPROBE_MULTI, 1)]),
        ("fbt::vague:return { trace(arg1); }", ALL, [(None, programs.TRACE_KPROBE_MULTI, 1)]),
        # Each clause for itself, as they are few or many.
        (
            "fbt::plain:entry { trace(1); } fbt::many_*:entry { trace(2); }", ALL,
            [("plain", programs.TRACE_FENTRY, 1), (None, programs.TRACE_KPROBE_MULTI, len(MANY))],
        ),
        (
            "fbt::plain:entry, fbt::unknown:entry { trace(1); }", ALL,
            [("plain", programs.TRACE_FENTRY, 1), (None, programs.TRACE_KPROBE_MULTI, 1)],
        ),
    ],
)  # fmt: skip
def test_the_attachment_is_chosen_for_each_set_of_clauses(registry, text, features, expected):
    assert ways(text, registry, features) == expected


def test_what_the_kernel_refuses_at_its_entry_gets_a_kprobe(registry):
    text = "fbt::plain:entry, fbt::nothing:entry { trace(1); }"
    expected = [("nothing", programs.TRACE_FENTRY, 1), (None, programs.TRACE_KPROBE_MULTI, 1)]
    assert ways(text, registry, refused=["plain"]) == expected


def test_functions_with_arguments_in_other_places_have_a_program_of_their_own(registry):
    """`wide` has a structure in the first two registers: its second argument is in the third, that of `wine` is not."""
    assert ways("fbt::wi?e:entry { trace(arg1); }", registry, ALL[1:]) == [(None, programs.TRACE_KPROBE_MULTI, 2)]
    assert ways("fbt::wi?e:entry { trace(args[1]); }", registry) == [(None, programs.TRACE_KPROBE_MULTI, 1)] * 2
    with pytest.raises(SourceError, match="unstable set of probes"):
        ways("fbt::wi?e:entry { trace(args[0]); }", registry)


def test_without_cookies_the_number_is_stamped_in(registry):
    (program,) = compiled("fbt::many_*:entry { trace(probefunc); }", registry, ()).programs
    assert [stamp.kind for stamp in program.stamps] == ["cookie"]


def test_a_function_without_result_has_no_second_argument_at_its_return(registry):
    with pytest.raises(SourceError, match="index 1 is out of range"):
        compiled("fbt::nothing:return { trace(args[1]); }", registry)


def test_what_is_said_of_attachments(registry):
    def said(text, features=ALL):
        return list(attachments(compiled(text, registry, features)))

    assert said("BEGIN { trace(1); }") == []
    assert said("fbt::plain:entry { trace(1); }") == ["fbt:vmlinux:plain:entry attached by fentry"]
    many = f"{len(MANY)} probes from fbt:vmlinux:many_0:return to fbt:vmlinux:many_19:return attached"
    assert said("fbt::many_*:return { trace(1); }") == [f"{many} in one kprobe_multi link"]
    assert said("fbt::many_*:return { trace(1); }", ()) == [f"{many} by a kretprobe each"]


def test_programs_that_may_call_each_others_functions_tell_when_they_run(registry):
    def maps(text):
        return {each.name for each in compiled(text, registry).maps}

    assert "running" not in maps("fbt::plain:entry { trace(1); }")
    assert "running" not in maps("BEGIN { trace(0); } fbt::many_*:entry { trace(1); }")
    assert "running" in maps("fbt::plain:entry { trace(1); } fbt::plain:return { trace(1); }")
    assert "running" in maps("fbt::plain:entry { trace(1); } tick-1s { trace(1); }")
    assert "running" not in maps("tick-1s { trace(1); } syscall::read:entry { trace(2); }")


SMALL = Struct("struct", "small", 12, lambda: (types.Member("a", types.LONG, 0), types.Member("b", types.INT, 64)))
LARGE = Struct("struct", "large", 24, lambda: (types.Member("a", types.Array(types.LONG, 3), 0),))
PACKED = Struct("struct", "packed", 12, lambda: (types.Member("a", types.INT, 0), types.Member("b", types.LONG, 32)))
EMPTY = Struct("struct", "empty", 0, lambda: ())
LONGS = (types.LONG,) * 6


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ((types.CHAR, Pointer(types.INT)), [((r.DI,), 0), ((r.SI,), 0)]),
        ((*LONGS, types.CHAR, types.LONG), [*(((each,), 0) for each in r.ARGUMENTS), ((), 0), ((), 8)]),
        ((SMALL, types.INT), [((r.DI, r.SI), 0), ((r.DX,), 0)]),
        # What does not fit into the registers that are left is in memory, and leaves them to what follows.
        ((*LONGS[:5], SMALL, types.INT), [*(((each,), 0) for each in r.ARGUMENTS[:5]), ((), 0), ((r.R9,), 0)]),
        ((LARGE, types.INT), [((), 0), ((r.DI,), 0)]),
        ((LARGE, PACKED, LARGE), [((), 0), ((), 24), ((), 40)]),
        ((types.INT128, types.INT), [((r.DI, r.SI), 0), ((r.DX,), 0)]),
        ((*LONGS, types.INT, types.INT128), [*(((each,), 0) for each in r.ARGUMENTS), ((), 0), ((), 16)]),
        ((EMPTY, types.INT), [((), 0), ((r.DI,), 0)]),
    ],
)  # fmt: skip
def test_where_arguments_are(kinds, expected):
    """As the System V ABI has it (AMD64 supplement, 3.2.3)."""
    assert list(convention.parameters(kinds)) == [ParameterPlace(*each) for each in expected]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (Function(types.INT, LONGS), True),
        (Function(types.VOID, ()), True),
        (Function(types.INT, (*LONGS, types.INT)), False),
        (Function(types.INT, (SMALL,)), False),
        (Function(types.INT, (types.INT128,)), False),
        (Function(SMALL, ()), False),
        (Function(types.INT, (Pointer(types.CHAR),), variadic=True), False),
    ],
)
def test_which_functions_fentry_takes_on_every_kernel(kind, expected):
    assert convention.is_simple(kind) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("fexit:plain { @[args.count, retval] = count(); }", [("plain", programs.TRACE_FEXIT, 1)]),
        ("fexit:nothing { @ = count(); }", [("nothing", programs.TRACE_FEXIT, 1)]),
        # A program each, however many there are.
        ("fexit:many_* { @[args.count] = count(); }", [(each, programs.TRACE_FEXIT, 1) for each in MANY]),
        ("fexit:many_* { @[retval] = count(); }", [(None, programs.TRACE_KPROBE_MULTI, len(MANY))]),
        ("fexit:plain { print(args); }", [("plain", programs.TRACE_FEXIT, 1)]),
    ],
)
def test_the_return_knows_what_the_function_was_called_with(registry, text, expected):
    spec = bt_compiled(text, registry)
    found = [(each.attach_to, each.attach_type, len(each.probes)) for each in spec.programs]
    assert sorted(found, key=str) == sorted(expected, key=str)


@pytest.mark.parametrize(
    ("text", "features", "refused", "why"),
    [
        ("fexit:plain { print(args.count); }", ALL[1:], (), "this kernel has no fexit"),
        ("fexit:plain { print(args.count); }", ALL, ("plain",), "the kernel takes no fexit there"),
        ("fexit:wine { print(args.n3); }", ALL, (), "the kernel takes no fexit there"),
        ("fexit:plain { print(args.nope); }", ALL, (), "does not contain a field named 'nope'"),
        ("fexit:unknown { print(args.count); }", ALL, (), "does not contain a field named 'count'"),
    ],
)
def test_the_return_tells_why_it_does_not_know(registry, text, features, refused, why):
    with pytest.raises((SourceError, ProgramError), match=why):
        bt_compiled(text, registry, features, refused)


def test_a_helper_gives_what_the_verifier_lets_no_program_load(registry):
    (program,) = bt_compiled("fexit:vague { @[args.object, args.count, retval] = count(); }", registry).programs
    called = {each.imm for each in decode(program.code) if each == call(each.imm)}
    assert {NUMBERS["get_func_arg"], NUMBERS["get_func_ret"]} <= called


def test_a_function_is_overridden_by_a_kprobe_of_its_own(registry):
    """Its other clauses, too, are of that kprobe; the helper takes the registers first."""
    text = "kprobe:plain { if (arg1 > 5) { override(-13); } @ = count(); } kprobe:nothing { @n = count(); }"
    spec = bt_compiled(text, registry, unsafe=True)
    found = {each.attach_to: each for each in spec.programs}
    assert found["nothing"].attach_type == programs.TRACE_FENTRY
    code = decode(found[None].code)
    assert (found[None].kind, found[None].attach_type) == (programs.KPROBE, programs.ATTACH_NONE)
    at = code.index(call(NUMBERS["override_return"]))
    assert any(each.dst == 2 and each.imm == -13 for each in code[:at])
    with pytest.raises(ProgramError, match="unsafe"):
        bt_compiled(text, registry)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("kprobe:0xffffffff81000000", ("secret", "0", KernelFunction("vmlinux", "secret", False, True, True, 0))),
        ("kprobe:0xffffffff81000004", ("secret", "4", KernelFunction("vmlinux", "secret", False, True, True, 4))),
        ("kretprobe:0xffffffff81000000", ("secret", "return", KernelFunction("vmlinux", "secret", True, True, True))),
    ],
)
def test_an_address_is_a_place_in_a_function(registry, text, place):
    (program,) = bt_compiled(f"{text} {{ print(probe); }}", registry, unsafe=True).programs
    ((probe, _),) = program.probes
    assert (probe.function, probe.name, probe.firing) == place
    assert program.attach_type == programs.ATTACH_NONE


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("kprobe:0x1234", "no code of the kernel is at 0x1234"),
        ("kprobe:0xffffffff81000010", "no code of the kernel"),
        ("kretprobe:0xffffffff81000004", "no function's first instruction but secret.4"),
    ],
)
def test_an_address_that_cannot_be_probed_is_told(registry, text, why):
    with pytest.raises(ProgramError, match=why):
        bt_compiled(f"{text} {{ }}", registry, unsafe=True)


@pytest.mark.parametrize("kind", ["fentry", "fexit", "kprobe"])
def test_locks_that_programs_take_themselves_are_warned_of(registry, kind):
    program = f"{kind}:_raw_spin_* {{ }} {kind}:plain {{ }}"
    found = front_end("bpftrace").check((("text", program),), options(), registry, (), 0, "bpftrace").warnings(False)
    told = [str(each.text) for each in found if "dangerous" in str(each.text)]
    assert [each.partition(". ")[0] for each in told] == (
        [] if kind == "kprobe" else ["WARNING: Attaching to dangerous function: vmlinux:_raw_spin_lock"]
    )


def test_the_list_has_the_arguments_and_the_result(registry):
    (found,) = listed("fexit:plain", Machine(registry, 0), lambda _: ())
    assert found.arguments() == ("struct file * file", "unsigned long count", "int retval")
