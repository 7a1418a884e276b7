"""fbt and rawfbt on kernels that let their functions be probed: what fires, with which arguments, by which way."""

import contextlib
import os
import socket

import pytest
from support.command.command import sonde
from support.d import d_run
from support.d.d_checking import DEFAULTS, compile_sources

from sonde.bpf import programs
from sonde.codegen.basis.settings import Settings
from sonde.codegen.compiler import Compilation
from sonde.engines.kernel.engine import KernelEngine
from sonde.engines.kernel.features import FEATURES, detect, is_available
from sonde.frontends.d.source import ProgramSource
from sonde.machine.system import current_target
from sonde.machine.tracefs import find_tracefs
from sonde.providers.functions import TraceableFunctions
from sonde.session.registry import Registry
from sonde.symbols.kallsyms import Kallsyms

pytestmark = pytest.mark.every_kernel

WAYS = {
    "fentry": {programs.TRACE_FENTRY, programs.TRACE_FEXIT},
    "kprobe_multi": {programs.TRACE_KPROBE_MULTI},
    "kprobe": {programs.ATTACH_NONE},
}
SIZE = 12345
"""Bytes that nobody else reads or writes at a time."""


def available(name):
    return is_available(next(feature for feature in FEATURES if feature.name == name))


@pytest.fixture(scope="module", autouse=True)
def functions():
    """The kernel's functions; without kprobes, or where it keeps their names to itself, there is nothing to test."""
    found = TraceableFunctions(find_tracefs())
    if not found.readable or not available("kprobe"):
        pytest.skip("this kernel does not let its functions be probed")
    return found


class Run(d_run.Run):
    """A program attached in one way, as a kernel would have it that has no better."""

    def __init__(self, text, way=None):
        without = {"kprobe_multi": {"fentry"}, "kprobe": {"fentry", "kprobe_multi"}}.get(way, set())
        names = ("fentry", "kprobe_multi", "kprobe_cookie", "raw_tp_cookie", "perf_cookie")
        target = current_target(detect(names) - without)
        found = Registry(target)
        text = text.replace("$pid", str(os.getpid()))
        program = compile_sources([ProgramSource(text)], found, DEFAULTS)
        self.compilation = Compilation(
            program, Settings(), target, found.tagged_type, found.fields, {None: text.splitlines()}, found.signature
        )  # fmt: skip
        self.spec = self.compilation.spec()
        if way is not None:
            assert {each.attach_type for each in self.spec.programs} <= WAYS[way]
        self.tracing = KernelEngine().load(self.spec)
        self.layouts = {layout.number: layout for layout in self.spec.records}


@pytest.fixture(params=list(WAYS))
def way(request):
    if not available(request.param):
        pytest.skip(f"this kernel has no {request.param}")
    return request.param


def read_zeros(count=1):
    with open("/dev/zero", "rb", buffering=0) as file:
        for _ in range(count):
            assert len(file.read(SIZE)) == SIZE


@contextlib.contextmanager
def fired(text, way, work):
    with Run(text, way).attach() as run:
        work()
        yield run


def test_entry_with_its_arguments(way):
    text = """
fbt::vfs_read:entry /pid == $pid && args->count == 12345/
{ printf("%s %s %s %s %d %d %d %d", probeprov, probemod, probefunc, probename, args->count, args[2], arg2,
    args->file->f_flags & 3); }
"""
    with fired(text, way, lambda: read_zeros(3)) as run:
        names = [b"fbt", b"vmlinux", b"vfs_read", b"entry"]
        assert run.values() == [[*names, SIZE, SIZE, SIZE, os.O_RDONLY]] * 3


def test_return_with_its_value(way):
    text = """
fbt::vfs_read:return /pid == $pid && args[1] == 12345/
{ printf("%s %s %d %d %d %d", probefunc, probename, (int)arg0, arg1, args[0], args[1]); }
"""
    with fired(text, way, lambda: read_zeros(3)) as run:
        assert run.values() == [[b"vfs_read", b"return", -1, SIZE, -1, SIZE]] * 3


def test_arguments_on_the_stack_by_name():
    """ip_make_skb has ten, of which send(2) decides the length of the data and the flags."""
    text = """
fbt::ip_make_skb:entry /pid == $pid/
{ printf("%d %d %d %d %d", args->length, args->transhdrlen, args[5], args->flags, args[9] == arg9); }
"""

    def send():
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.connect(("127.0.0.1", 9))
            sender.send(bytes(321), socket.MSG_DONTWAIT)

    with fired(text, None, send) as run:
        assert run.values() == [[321 + 8, 8, 8, socket.MSG_DONTWAIT, 1]]


@pytest.mark.parametrize("name", ["entry", "return"])
def test_the_stack_begins_with_the_function_and_goes_on_with_its_caller(way, name):
    text = f'fbt::vfs_read:{name} /pid == $pid/ {{ printf("%d %d", caller, stackdepth > 2); stack(3); exit(0); }}'
    kallsyms = Kallsyms()
    with fired(text, way, read_zeros) as run:
        record = next(each for each in run.raw_records())
        (layout,) = [each for each in run.spec.records if each.number == record.clause]
        fields = [
            field for action in layout.actions for field in getattr(action, "fields", (getattr(action, "field", None),))
        ]
        stack = next(field for field in fields if field.kind == "stack")
        words = memoryview(record.data[stack.offset : stack.offset + stack.size]).cast("Q").tolist()
        names = [kallsyms.symbolize(word)[1] for word in words[:2]]
        assert names == ["vfs_read", "ksys_read"]
        caller, is_deep = run.decode(record)[:2]
        assert kallsyms.symbolize(caller)[1] == "ksys_read"
        assert is_deep


def test_raw_probes_are_kprobes():
    text = """
rawfbt::vfs_read:entry /pid == $pid && arg2 == 12345/ { printf("%s %d", probename, args->count); }
rawfbt::vfs_read:return /pid == $pid && arg1 == 12345/ { printf("%s %d", probename, arg1); }
"""
    with fired(text, None, read_zeros) as run:
        assert {each.attach_type for each in run.spec.programs} == {programs.ATTACH_NONE}
        assert run.values() == [[b"entry", SIZE], [b"return", SIZE]]


def test_a_thousand_functions(functions):
    """In one link where the kernel has such, and each firing knows its function."""
    is_multi = available("kprobe_multi")
    # One by one it takes too long for a test in an emulated machine.
    names = "[tv]*" if is_multi else "vfs_[r-z]*"
    assert not is_multi or len(list(functions.matching("vmlinux", names))) >= 1000
    text = f'fbt:vmlinux:{names}:entry /pid == $pid && arg2 == 12345/ {{ printf("%s %d", probefunc, arg2); }}'
    with fired(text, None, read_zeros) as run:
        assert [b"vfs_read", SIZE] in run.values()
        attached = len(run.tracing._attachments)
        # A second link is for functions of whose name there are several.
        assert attached <= 2 if is_multi else attached > 20


def test_all_functions_of_a_name_are_probed(functions, way):
    """Static functions of different files may be called the same: there is one probe for them."""
    if way == "fentry":
        pytest.skip("fentry takes functions whose name is unique")
    kallsyms = Kallsyms()
    several = next(
        each
        for each in functions.matching("vmlinux", "*_open")
        if not each.is_unique and len({s.address for s in kallsyms.all(each.name, "vmlinux") if s.kind in "tT"}) > 1
    )
    copies = {each.address for each in kallsyms.all(several.name, "vmlinux") if each.kind in "tT"}
    with Run(f"fbt:vmlinux:{several.name}:entry {{ trace(1); }}", way).attach() as run:
        (program,) = run.spec.programs
        assert len(program.probes) == 1
        if way == "kprobe":
            assert 1 < len(run.tracing._attachments) <= len(copies)


def test_a_function_of_a_module(functions, way):
    if not list(functions.matching("overlay", "ovl_getattr")) or os.statvfs("/").f_flag == 0:
        pytest.skip("no module is here whose functions a test can call")
    text = 'fbt:overlay:ovl_getattr:entry /pid == $pid/ { printf("%s %s", probemod, probefunc); }'
    with fired(text, way, lambda: os.stat("/etc")) as run:
        assert [b"overlay", b"ovl_getattr"] in run.values()


def test_functions_that_programs_call_themselves():
    """The ring's lock is held when its unlocking is probed: a program that waited for it would wait for ever."""
    text = """
syscall:::entry /pid == $pid/ { trace(probefunc); }
fbt::_raw_spin_unlock_irqrestore:entry, fbt::_raw_spin_lock_irqsave:return /pid == $pid/ { trace(arg0); }
fbt::vfs_read:entry /pid == $pid/ { trace(stackdepth); }
"""
    with Run(text).attach() as run:
        read_zeros(50)
        assert len(run.raw_records()) > 100


def test_the_command_says_how_functions_are_attached():
    done = sonde("-vqn", "fbt::vfs_read:return { exit(0); }", "-c", "cat /etc/hostname")
    assert "fbt:vmlinux:vfs_read:return attached by " in done.stderr


def test_listing():
    listed = sonde("-l", "-n", "fbt::vfs_read:", "-n", "rawfbt::vfs_read:").stdout.splitlines()[1:]
    rows = [line.split() for line in listed]
    assert [row[1:] for row in rows] == [
        [provider, "vmlinux", "vfs_read", name] for provider in ("fbt", "rawfbt") for name in ("entry", "return")
    ]
    done = sonde("-i", rows[0][0], "-qn", "BEGIN { exit(0); }")
    assert not done.stdout.strip()
