"""Programs compiled for one kernel and run on another, or refused by it; -k with what was copied from a kernel."""

import shutil

import pytest
from support.command import command
from support.command.command import EXECNAME, table
from support.machine.activity import activity

from sonde.bpf.btf_writer import INT_SIGNED, BtfBuilder, WrittenMember

pytestmark = pytest.mark.every_kernel

KERNEL = "/sys/kernel/btf/vmlinux"
STRUCTURES = 'BEGIN { printf("%d %s", curthread->pid == pid, curthread->comm); exit(0); }'
WITHOUT = """
BEGIN { s = strjoin(execname, "!"); for (i = 0; i < 5; i++) @[i] = sum(i); }
syscall::getppid:entry { @calls[probefunc] = count(); }
BEGIN { printf("%s %d", basename("/a/b"), strlen(s) > 1); exit(0); }
"""


def sonde(*words, status=0):
    """As in `command`, for machines that are emulated."""
    return command.sonde(*words, status=status)


@pytest.fixture
def other(tmp_path):
    """The BTF of a kernel that is not there, whose task_struct is another one."""
    builder = BtfBuilder()
    number = builder.add_int("int", 4, INT_SIGNED)
    name = builder.add_array(builder.add_int("char", 1, INT_SIGNED), number, 16)
    builder.add_struct("task_struct", 24, [WrittenMember("pid", number, 0), WrittenMember("comm", name, 32)])
    path = tmp_path / "other"
    path.write_bytes(builder.build())
    return str(path)


def saved(tmp_path, program, *words):
    path = str(tmp_path / "program.spec")
    assert sonde(*words, "--save", path, "-qn", program).stdout == ""
    return path


def test_a_program_for_this_kernel(tmp_path):
    assert sonde("--spec", saved(tmp_path, STRUCTURES)).stdout.strip() == f"1 {EXECNAME}"


def test_what_is_compiled_for_another_kernel_runs_where_it_needs_nothing_of_it(tmp_path, other):
    done = sonde("--spec", saved(tmp_path, WITHOUT, "-k", other))
    assert done.stdout.startswith("b 1\n")
    assert table(done.stdout.partition("\n")[2])[("4",)] == 4


def test_a_kernel_with_other_structures_refuses_it(tmp_path, other):
    path = saved(tmp_path, STRUCTURES, "-k", other)
    done = sonde("--spec", path, status=1)
    message, hint = done.stderr.splitlines()
    assert message == (
        f"sonde: {path} was compiled for another kernel (other), which differs from this one in struct task_struct"
    )
    assert "-k" in hint
    assert done.stdout == ""


def test_nothing_runs_here_that_is_compiled_for_another_kernel(other):
    done = sonde("-k", other, "-n", STRUCTURES, status=1)
    assert done.stderr.startswith("sonde: -k compiles for another kernel")


@pytest.mark.share(1)
@pytest.mark.parametrize("what", ["a file", "a directory"])
def test_a_copy_of_this_kernels_types(tmp_path, what):
    where = tmp_path / "copy"
    if what == "a file":
        shutil.copyfile(KERNEL, where)
    else:
        where.mkdir()
        shutil.copyfile(KERNEL, where / "vmlinux")
    path = saved(tmp_path, f"{STRUCTURES} rawtp:::sched_switch {{ @[args[2]->comm] = count(); }}", "-k", str(where))
    assert sonde("--spec", path).stdout.startswith(f"1 {EXECNAME}")


@pytest.fixture
def directory(tmp_path):
    """What is copied from this kernel to compile for it elsewhere: types, one event, some symbols."""
    where = tmp_path / "kernel"
    event = "events/sched/sched_process_exit"
    (where / event).mkdir(parents=True)
    for name in ("format", "id"):
        shutil.copyfile(f"/sys/kernel/tracing/{event}/{name}", where / event / name)
    shutil.copyfile(KERNEL, where / "vmlinux")
    with open("/proc/kallsyms", encoding="ascii") as file:
        (where / "kallsyms").write_text("".join(line for line in file if line.split()[2] == "vfs_read"))
    return str(where)


@pytest.mark.long
def test_a_directory_with_events_and_symbols(tmp_path, directory):
    """The fields of a trace event, and an address of the kernel, which is found where the program is loaded."""
    program = """sdt:sched::sched_process_exit /args[1] > 0/
        { printf("%d %a", args[1] > 0, (uintptr_t)&`vfs_read); exit(0); }"""
    path = saved(tmp_path, program, "-k", directory)
    with activity():
        assert sonde("--spec", path).stdout.strip() == "1 vmlinux`vfs_read"


def test_what_a_directory_has_is_listed(directory):
    listed = sonde("-k", directory, "-lP", "sdt").stdout.splitlines()[1:]
    assert [line.split()[1:] for line in listed] == [["sdt", "sched", "sched_process_exit"]]
    done = sonde("-k", directory, "-en", "BEGIN { trace((uintptr_t)&`vfs_write); }", status=1)
    assert "failed to resolve `vfs_write: Unknown symbol name" in done.stderr


def test_a_directory_without_events_has_the_tracepoints_of_its_types(tmp_path):
    """With the arguments of the tracepoint then, not the fields of the event."""
    shutil.copyfile(KERNEL, tmp_path / "vmlinux")
    path = saved(tmp_path, 'sdt:::sched_process_exit { printf("%d", args[0]->pid > 0); exit(0); }', "-k", str(tmp_path))
    with activity():
        assert sonde("--spec", path).stdout.strip() == "1"


@pytest.mark.share(2)
@pytest.mark.parametrize("content", [None, b"", b"no BTF at all"])
def test_what_has_no_types(tmp_path, content):
    path = tmp_path / "wrong"
    if content is not None:
        path.write_bytes(content)
    done = sonde("-k", str(path), "-en", "BEGIN { }", status=1)
    assert str(path) in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_an_empty_directory_has_no_types(tmp_path):
    done = sonde("-k", str(tmp_path), "-en", "BEGIN { }", status=1)
    assert done.stderr == f"sonde: failed to open {tmp_path}/vmlinux: No such file or directory\n"


def test_a_spec_file_takes_no_program_and_no_option_of_compiling(tmp_path):
    path = saved(tmp_path, STRUCTURES)
    assert "it takes no other" in sonde("--spec", path, "-n", "BEGIN { }", status=1).stderr
    done = sonde("--spec", path, "-x", "strsize=10", status=1)
    assert "this option is compiled into the program" in done.stderr
    assert sonde("--spec", path, "-x", "aggsortrev", "-x", "switchrate=5hz").stdout.strip() == f"1 {EXECNAME}"


def test_a_saved_program_may_do_harm_only_where_that_is_allowed(tmp_path):
    path = saved(tmp_path, 'BEGIN { system("echo done"); exit(0); }', "-w")
    assert "it calls system()" in sonde("--spec", path, status=1).stderr
    assert sonde("--spec", path, "-w").stdout.strip() == "done"
