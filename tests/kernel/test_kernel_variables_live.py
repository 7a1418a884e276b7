"""Variables of the running kernel at places within its functions, where its debug information is installed: what a
program fetches is what this process has asked the kernel for."""

import shlex
import sys

import pytest
from support.bpf.bpf_objects import COMPILERS, compiled
from support.command import command
from support.machine import packages

from sonde.engines.kernel.features import FEATURES, detect, is_available
from sonde.machine.system import current_target
from sonde.model.errors import SourceError
from sonde.session.registry import Registry
from sonde.symbols.elf.errors import DebugInfoError
from sonde.symbols.kernel_files import VMLINUX
from sonde.symbols.kernel_objects import KernelObjects

pytestmark = pytest.mark.every_kernel

SIZE, CALLS = 12347, 7
READ = f"import os; fd = os.open('/dev/zero', os.O_RDONLY); [os.read(fd, {SIZE}) for _ in range({CALLS})]"
NAME = "stringof(args->file->f_path.dentry->d_name.name)"


@pytest.fixture(scope="module")
def registry():
    """Only machines with kprobes and a debug package have anything to test."""
    if not is_available(next(each for each in FEATURES if each.name == "kprobe")):
        pytest.skip("this kernel does not let its functions be probed")
    try:
        KernelObjects().of(VMLINUX)
    except DebugInfoError as error:
        pytest.skip(f"the kernel's debug information is not installed: {error}")
    return Registry(current_target(detect()))


@pytest.fixture(scope="module")
def offsets(registry):
    """Places in vfs_read where its parameters are still there, the first and the last of them."""
    home = KernelObjects().of(VMLINUX)
    (function,) = home.find("vfs_read")
    found = []
    for offset in sorted(home.instructions(function))[1:40]:
        try:
            (probe,) = registry.match("fbt", "vmlinux", "vfs_read", f"{offset:x}")
            for name in ("file", "count"):
                registry.variable(probe, "args", name)
        except SourceError:
            continue
        found.append(offset)
    assert len(found) > 3
    return found[1], found[2], found[-1]


def traced(*words):
    return command.sonde(*words, "-c", shlex.join([sys.executable, "-c", READ])).stdout


def test_parameters_at_offsets_are_those_of_the_call(offsets):
    probes = ",".join(f"fbt:vmlinux:vfs_read:{each:x}" for each in offsets)
    text = f'{probes} /pid == $target && {NAME} == "zero"/ {{ @[probename, args->count, locals->count] = count(); }}'
    rows = sorted(tuple(line.split()) for line in traced("-qn", text).splitlines() if line.strip())
    assert all(row[1] == row[2] and row[3] == str(CALLS) for row in rows)
    assert (f"{offsets[0]:x}", str(SIZE), str(SIZE), str(CALLS)) in rows


def test_locals_at_an_entry_and_data_of_the_kernel(registry):
    """The first task is the idle one of the first CPU, and is called so."""
    text = (
        f"fbt::vfs_read:entry /pid == $target && locals->count == {SIZE}/"
        ' { printf("%s %d %d\\n", stringof(globals->init_task.comm), globals->init_task.pid, args->count); }'
    )
    rows = traced("-qn", text).split("\n")
    assert [row for row in rows if row] == [f"swapper/0 0 {SIZE}"] * CALLS


def test_probe_lines_fetch_them_in_objects(offsets):
    compiler = next((name for name, words in COMPILERS.items() if not packages.missing(words[0])), "")
    if not compiler:
        packages.require("bpf-gcc")
    source = f"""
    static long (*bpf_probe_read_kernel_str)(void *to, u32 size, const void *from) = (void *)115;
    char lines[] SEC("config") = "inside=vfs_read+{offsets[0]} count file->f_path.dentry->d_name.name init_task.pid";
    SEC("inside") int on_inside(void *context, long error, u64 count, const char *name, int pid)
    {{
        char text[8] = "";
        bpf_probe_read_kernel_str(text, sizeof text, name);
        if (!error && count == {SIZE} && text[0] == 'z' && text[3] == 'o')
            bpf_printk("%ld %d", count, pid);
        return 0;
    }}
    """
    lines = traced("--object", compiled(source, compiler)).splitlines()
    assert lines.count(f"{SIZE} 0") == CALLS


def test_a_place_within_an_instruction_is_refused_before_anything_runs(offsets, registry):
    home = KernelObjects().of(VMLINUX)
    (function,) = home.find("vfs_read")
    begins = home.instructions(function)
    wrong = next(each for each in range(function.size) if each not in begins)
    done = command.sonde("-n", f"fbt::vfs_read:{wrong:x} {{ }}", status=1)
    assert "is not aligned on an instruction" in done.stderr
