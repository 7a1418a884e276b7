"""The syscall provider: names, both tables, arguments."""

import pytest

from sonde.arch.x86_64.compat_syscalls import CALLS as COMPAT_CALLS
from sonde.arch.x86_64.syscalls import CALLS
from sonde.model import types
from sonde.model.probe import CHANGES_NOTHING, Syscall
from sonde.model.types import Pointer, Struct, name_of, resolve
from sonde.providers import syscall_inputs
from sonde.providers.pattern import Pattern
from sonde.providers.syscall import SyscallProvider

FUNCTIONS = {
    "__x64_sys_": ["openat", "newstat", "read", "kexec_load"],
    "__do_sys_": ["getpid"],
}


def refuse(*_):
    raise AssertionError("asked for what a plain name does not need")


@pytest.fixture
def provider(tmp_path):
    (tmp_path / "vsyscall32").write_text("1\n")
    return SyscallProvider(
        lambda prefix: FUNCTIONS.get(prefix, []),
        lambda keyword, name: None,
        str(tmp_path),
        vsyscall32=str(tmp_path / "vsyscall32"),
    )


def names(probes):
    return [str(probe) for probe in probes]


def test_a_plain_name_asks_nobody():
    provider = SyscallProvider(refuse, refuse, "/none")
    (probe,) = provider.match(Pattern("syscall", "", "openat", "entry"))
    assert str(probe) == "syscall:vmlinux:openat:entry"
    assert probe.firing == Syscall(257, "openat", False, inputs=CHANGES_NOTHING | 0b10)
    assert [name_of(argument.native) for argument in provider.arguments(probe)] == [
        "int",
        "const char *",
        "int",
        "umode_t",
    ]


def test_entry_and_return(provider):
    probes = provider.match(Pattern("syscall", "", "read", ""))
    assert names(probes) == ["syscall:vmlinux:read:entry", "syscall:vmlinux:read:return"]
    assert [probe.firing.is_return for probe in probes] == [False, True]
    assert [provider.by_id(probe.id) for probe in probes] == probes


def test_a_call_may_be_named_by_its_own_name(provider):
    assert names(provider.match(Pattern("syscall", "", "stat", "entry"))) == ["syscall:vmlinux:newstat:entry"]


def test_the_32_bit_call_when_it_is_asked_for(provider):
    (probe,) = provider.match(Pattern("syscall", "ia32", "openat", "entry"))
    assert probe.firing == Syscall(295, "openat", False, compat=True, inputs=CHANGES_NOTHING | 0b10)
    assert provider.by_id(probe.id) == probe
    assert names(provider.match(Pattern("syscall", "*", "openat", "entry"))) == [
        "syscall:vmlinux:openat:entry",
        "syscall:ia32:openat:entry",
    ]


def test_the_32_bit_call_when_only_that_table_has_the_name(provider):
    assert names(provider.match(Pattern("syscall", "", "mmap2", "return"))) == ["syscall:ia32:mmap2:return"]


def test_listing_shows_what_the_kernel_has(provider):
    native = [probe.function for probe in provider.match(Pattern("syscall", "vmlinux", "", "entry"))]
    assert native == ["read", "newstat", "getpid", "kexec_load", "openat"]
    every = provider.match(Pattern("syscall", "", "", "entry"))
    assert {probe.module for probe in every} == {"vmlinux", "ia32"}
    assert len({probe.id for probe in every}) == len(every)


def test_tracefs_knows_better_which_calls_there_are(tmp_path, provider):
    for name in ("sys_enter_read", "sys_exit_read", "sys_enter_getpid"):
        (tmp_path / "events" / "syscalls" / name).mkdir(parents=True)
    probes = provider.match(Pattern("syscall", "vmlinux", "*", "entry"))
    assert [probe.function for probe in probes] == ["read", "getpid"]


def test_no_32_bit_calls_on_a_kernel_without_them(tmp_path):
    none = str(tmp_path / "vsyscall32")
    provider = SyscallProvider(lambda prefix: [], lambda keyword, name: None, str(tmp_path), vsyscall32=none)
    probes = provider.match(Pattern("syscall", "", "", "entry"))
    assert {probe.module for probe in probes} == {"vmlinux"}
    assert len(probes) > 350


@pytest.mark.parametrize("name", ["", "*try", "entry"])
def test_sides(provider, name):
    assert provider.match(Pattern("syscall", "", "read", name))[0].name == "entry"


def test_other_names_match_nothing(provider):
    assert not provider.match(Pattern("syscall", "", "", "begin"))
    assert not provider.match(Pattern("syscall", "ext4", "read", ""))
    assert not provider.match(Pattern("syscall", "", "no_such_call", ""))
    assert provider.by_id(100 + 2 * 499) is None


def test_pointers_are_the_processs(provider):
    (probe,) = provider.match(Pattern("syscall", "", "execve", "entry"))
    kinds = [argument.native for argument in provider.arguments(probe)]
    assert [name_of(kind) for kind in kinds] == ["const char *", "const char * const *", "const char * const *"]
    assert all(isinstance(kind, Pointer) and kind.user for kind in kinds)
    assert resolve(kinds[1].to).user


@pytest.mark.parametrize("module", ["vmlinux", "ia32"])
def test_arguments_have_the_names_of_the_parameters(provider, module):
    entry, leave = provider.match(Pattern("syscall", module, "openat", ""))
    assert provider.argument_names(entry) == ("dfd", "filename", "flags", "mode")
    assert len(provider.arguments(entry)) == 4
    assert provider.argument_names(leave) == ("ret",)


@pytest.mark.parametrize("module", ["vmlinux", "ia32"])
def test_each_argument_of_each_call_has_one_name(provider, module):
    for probe in provider.match(Pattern("syscall", module, "", "entry")):
        names = provider.argument_names(probe)
        assert names is not None, probe
        assert len(set(names)) == len(names) == len(provider.arguments(probe)), probe


def test_structures_come_from_the_kernel(tmp_path):
    stat = Struct("struct", "stat", 144, tuple)
    provider = SyscallProvider(
        refuse, lambda keyword, name: stat if (keyword, name) == ("struct", "stat") else None, "/"
    )
    (probe,) = provider.match(Pattern("syscall", "", "newstat", "entry"))
    assert provider.arguments(probe)[1].native.to is stat


def test_the_result_is_a_long(provider):
    (probe,) = provider.match(Pattern("syscall", "", "read", "return"))
    assert [argument.native for argument in provider.arguments(probe)] == [types.LONG]


def test_no_arguments(provider):
    (probe,) = provider.match(Pattern("syscall", "", "getpid", "entry"))
    assert provider.arguments(probe) == ()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("read", ["unsigned int", "char *", "unsigned int"]),
        ("lseek", ["unsigned int", "int", "unsigned int"]),
        ("stat", ["const char *", "void *"]),
        ("pipe", ["int *"]),
        ("clock_gettime64", ["const clockid_t", "void *"]),
        ("getpid", []),
    ],
)
def test_32_bit_arguments_have_four_bytes(provider, name, expected):
    (probe,) = provider.match(Pattern("syscall", "ia32", name, "entry"))
    assert [name_of(argument.native) for argument in provider.arguments(probe)] == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mmap", "void * arg"),
        ("pread64", "unsigned int fd, char * ubuf, unsigned int count, unsigned int poslo, unsigned int poshi"),
        ("socketcall", "int call, unsigned int * args"),
        ("fallocate", "int fd, int mode, unsigned int offset_lo, unsigned int offset_hi, "
         "unsigned int len_lo, unsigned int len_hi"),
    ],
)  # fmt: skip
def test_32_bit_calls_with_arguments_of_their_own(provider, name, expected):
    """64-bit values in two halves, blocks of arguments."""
    (probe,) = provider.match(Pattern("syscall", "ia32", name, "entry"))
    kinds = [name_of(argument.native).replace("u32", "unsigned int") for argument in provider.arguments(probe)]
    shown = [f"{kind} {called}" for kind, called in zip(kinds, provider.argument_names(probe), strict=True)]
    assert ", ".join(shown) == expected


def test_an_architecture_without_a_table_has_no_calls():
    provider = SyscallProvider(refuse, refuse, "/none", "riscv64")
    assert not provider.match(Pattern("syscall", "", "", ""))
    assert provider.by_id(100) is None


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("openat", CHANGES_NOTHING | 0b10),
        ("write", CHANGES_NOTHING | 0b10),
        ("connect", CHANGES_NOTHING | 0b10),
        ("mount", CHANGES_NOTHING | 0b10111),
        ("execve", CHANGES_NOTHING | 0b111),
        ("readlinkat", 0b10),
        ("newfstatat", 0b10),
        ("readv", 0b10),
        ("read", 0),
        ("ioctl", 0),
        ("exit_group", 0),
    ],
)
def test_what_a_call_only_reads(provider, call, expected):
    """By the manual pages: the rest it may have written to when it returns."""
    (probe,) = provider.match(Pattern("syscall", "", call, "entry"))
    assert probe.firing.inputs == expected


def test_the_exceptions_are_calls_and_arguments_that_there_are():
    declared = {}
    for line in (*COMPAT_CALLS.splitlines(), *CALLS.splitlines()):
        head, _, arguments = line.partition("(")
        declared[head.split()[1].partition("=")[0]] = {each.rpartition(" ")[2] for each in arguments[:-1].split(", ")}
    for name, arguments in syscall_inputs._INPUTS.items():
        assert set(arguments.split()) <= declared[name], name
