"""The providers against what this kernel says of itself."""

import contextlib
import ctypes
import os
import re
import subprocess

import pytest
from support.machine import packages

from sonde.bpf import btf
from sonde.bpf.btf import Btf
from sonde.model.probe import Syscall, Tracepoint
from sonde.model.target import Target
from sonde.model.types import name_of, size_of
from sonde.providers.syscall import SyscallProvider
from sonde.session.registry import Registry
from sonde.symbols.kallsyms import Kallsyms

TRACEFS = "/sys/kernel/tracing"
VMLINUX = "/sys/kernel/btf/vmlinux"

KINDS = (
    "INT", "PTR", "ARRAY", "STRUCT", "UNION", "ENUM", "FWD", "TYPEDEF", "VOLATILE", "CONST", "RESTRICT", "FUNC",
    "FUNC_PROTO", "VAR", "DATASEC", "FLOAT", "DECL_TAG", "TYPE_TAG", "ENUM64",
)  # fmt: skip

needs_tracefs = pytest.mark.skipif(
    not os.access(f"{TRACEFS}/events", os.R_OK), reason="tracefs is not mounted or not readable for this user"
)
needs_bpftool = packages.needs("bpftool")


@pytest.fixture
def registry():
    return Registry(Target("x86_64", os.uname().release))


@pytest.fixture
def without_tracefs():
    return Registry(Target("x86_64", os.uname().release), tracefs="/nonexistent")


def bpftool():
    command = ["bpftool", "btf", "dump", "file", VMLINUX]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def available_events():
    with open(f"{TRACEFS}/available_events") as file:
        return [tuple(line.strip().split(":")) for line in file]


@needs_tracefs
def test_sdt_has_every_trace_event(registry):
    excluded = ("syscalls", "kprobes", "uprobes")
    truth = {
        pair for pair in available_events() if pair[0] not in excluded and not pair[0].startswith(("dt", "dtrace"))
    }
    probes = registry.match("sdt", "", "", "")
    assert {(probe.module, probe.name) for probe in probes} == truth
    assert len(probes) == len(truth)
    assert [probe.id for probe in probes] == sorted(probe.id for probe in probes)


@needs_tracefs
def test_fields_have_the_sizes_that_formats_give(registry):
    for probe in registry.match("sdt", "sched", "", ""):
        assert isinstance(probe.firing, Tracepoint)
        with open(f"{TRACEFS}/events/sched/{probe.name}/format") as file:
            lines = re.findall(r"field:.*?(\w+)(?:\[[^\]]*\])?;\toffset:(\d+);\tsize:(\d+);", file.read())
        wanted = [(name, int(offset), int(size)) for name, offset, size in lines if not name.startswith("common_")]
        fields = registry.fields(probe)
        assert [(field.name, field.offset, field.size) for field in fields] == wanted
        assert all(size_of(field.type) == field.size for field in fields if not field.location)


@needs_tracefs
def test_syscalls_are_those_tracefs_has_events_for(registry):
    names = {
        name.removeprefix("sys_enter_") for name in os.listdir(f"{TRACEFS}/events/syscalls") if "sys_enter_" in name
    }
    names.discard("sys_exit_io_uring_enter")
    for side in ("entry", "return"):
        probes = registry.match("syscall", "vmlinux", "", side)
        assert {probe.function for probe in probes} == names
        assert len(probes) == len(names)


@needs_tracefs
def test_syscall_arguments_are_those_of_the_formats(registry):
    for probe in registry.match("syscall", "vmlinux", "", "entry"):
        with open(f"{TRACEFS}/events/syscalls/sys_enter_{probe.function}/format") as file:
            fields = re.findall(r"field:([^;]+);\toffset:(\d+);", file.read())
        spelled = [text.rpartition(" ")[0].replace(" ", "") for text, offset in fields if int(offset) >= 16]
        types = [name_of(argument.native).replace(" ", "") for argument in registry.arguments(probe)]
        assert [kind.replace("unsignedint", "unsigned") for kind in types] == [
            kind.replace("unsignedint", "unsigned") for kind in spelled
        ], probe


def test_without_tracefs_the_same_calls_and_perhaps_more(registry, without_tracefs):
    usual = {probe.function for probe in registry.match("syscall", "vmlinux", "", "entry")}
    assert {probe.function for probe in without_tracefs.match("syscall", "vmlinux", "", "entry")} >= usual


@needs_tracefs
@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers are those of x86-64")
def test_the_numbers_of_the_youngest_calls():
    """Calls with arguments that must fail, watched in a trace instance of their own."""
    provider = SyscallProvider(lambda prefix: [], lambda keyword, name: None, TRACEFS)
    calls = [call for call in provider._table("vmlinux").by_number.values() if call.number >= 451]
    instance = f"{TRACEFS}/instances/sonde_test_{os.getpid()}"
    os.mkdir(instance)
    try:
        present = [call for call in calls if os.path.exists(f"{instance}/events/syscalls/sys_enter_{call.name}")]
        for call in present:
            with open(f"{instance}/events/syscalls/sys_enter_{call.name}/enable", "w") as file:
                file.write("1")
        with open(f"{instance}/set_event_pid", "w") as file:
            file.write(str(os.getpid()))
        bad = ctypes.c_long(-1)
        for call in present:
            ctypes.CDLL(None).syscall(call.number, bad, bad, bad, bad, bad, bad)
        with open(f"{instance}/trace") as file:
            seen = re.findall(r": sys_(\w+)\(", file.read())
    finally:
        removed = False
        while not removed:
            # Its events may still be on their way.
            with contextlib.suppress(OSError):
                os.rmdir(instance)
                removed = True
    assert seen == [call.name for call in present]
    assert seen


@needs_bpftool
def test_rawtp_has_every_tracepoint_of_btf(registry):
    output = bpftool()
    truth = set(re.findall(r"TYPEDEF 'btf_trace_(\w+)'", output))
    probes = registry.match("rawtp", "", "", "")
    assert truth <= {probe.firing.name for probe in probes}
    if not os.listdir("/sys/kernel/btf")[1:]:
        assert len(probes) == len(truth)
    assert all(probe.firing.arguments >= 0 for probe in probes)
    assert all(len(registry.arguments(probe)) == probe.firing.arguments for probe in probes[::25])


@pytest.mark.long
def test_plain_names_and_listing_agree(registry):
    for listed in [*registry.match("rawtp", "", "", "")[::97], *registry.match("sdt", "", "", "")[::97]]:
        fresh = Registry(registry.target)
        assert fresh.match(listed.provider, listed.module, "", listed.name) == [listed]
        assert registry.by_id(listed.id) == listed


def test_all_identifiers_differ(registry):
    probes = registry.match("", "", "", "")
    assert len({probe.id for probe in probes}) == len(probes)
    assert [probe.id for probe in probes] == sorted(probe.id for probe in probes)


def test_without_tracefs_every_event_is_there_as_a_raw_tracepoint(registry, without_tracefs):
    names = {probe.name for probe in without_tracefs.match("sdt", "", "", "")}
    assert {probe.name for probe in registry.match("sdt", "", "", "")} <= names


@pytest.mark.long
@needs_bpftool
def test_types_are_those_bpftool_shows():
    output = bpftool()
    blocks = re.split(r"^(?=\[\d+\])", output, flags=re.MULTILINE)[1:]
    data = Btf.open(VMLINUX)
    assert data.end_id == len(blocks) + 1
    kinds = {getattr(btf, name): name for name in KINDS}
    for block in blocks[::53]:
        head, *lines = block.splitlines()
        number, kind, name = re.match(r"\[(\d+)\] (\w+) '(.*?)'", head).groups()
        found = data.type(int(number))
        assert (kinds[found.kind], found.name or "(anon)") == (kind, name)
        for word, value in (("size", found.size), ("type_id", found.type), ("nr_elems", found.length)):
            shown = re.search(rf"\b{word}=(\d+)", head)
            assert shown is None or int(shown[1]) == value, head
        check_elements(found, [line.strip() for line in lines if line.strip()])


def check_elements(found, lines):
    if found.kind in (btf.STRUCT, btf.UNION):
        pattern = re.compile(r"'(.*?)' type_id=(\d+) bits_offset=(\d+)(?: bitfield_size=(\d+))?")
        shown = [pattern.match(line).groups() for line in lines]
        members = [(name.replace("(anon)", ""), int(kind), int(at), int(bits or 0)) for name, kind, at, bits in shown]
        assert members == [tuple(member) for member in found.members]
    elif found.kind in (btf.ENUM, btf.ENUM64):
        shown = [re.match(r"'(.*?)' val=(-?\d+)", line).groups() for line in lines]
        assert [(name, int(value)) for name, value in shown] == [tuple(value) for value in found.values]
    elif found.kind == btf.FUNC_PROTO:
        shown = [re.match(r"'(.*?)' type_id=(\d+)", line).groups() for line in lines]
        assert [int(kind) for _, kind in shown] == [parameter.type for parameter in found.parameters]


def test_the_kernels_types_have_the_sizes_they_should(registry):
    task = registry.tagged_type("struct", "task_struct")
    assert size_of(task.find("comm").type) == 16
    assert task.find("group_leader").type.to is task
    assert name_of(task.find("mm").type) == "struct mm_struct *"
    assert size_of(registry.type_named("pid_t")) == 4
    assert registry.enumerator("BPF_MAP_TYPE_RINGBUF")[1] == 27
    assert registry.enumerator("NO_SUCH_ENUMERATOR") is None


@pytest.mark.skipif(os.geteuid() != 0, reason="kernel addresses are shown to root only")
def test_kernel_symbols():
    symbols = Kallsyms()
    found = symbols.find("do_exit")
    assert symbols.symbolize(found.address + 5) == ("vmlinux", "do_exit", 5)


def test_a_probe_named_outright_costs_no_btf(registry):
    (probe,) = registry.match("syscall", "", "openat", "entry")
    assert isinstance(probe.firing, Syscall)
    assert registry.match("", "", "", "BEGIN")
    assert registry.match("", "", "", "tick-1s")
    registry.arguments(probe)
    assert "types" not in vars(registry)
