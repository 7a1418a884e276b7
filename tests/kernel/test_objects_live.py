"""BPF objects of both compilers in the kernel: what their programs count, print and write is what happened."""

import os
import shutil
import struct
import subprocess
import sys

import pytest
from support.bpf.bpf_objects import ADD, BOTH, COMPILERS, HEADERS, WRITES, built, compiled, config
from support.command import command
from support.machine import packages

from sonde.bpf.btf import Btf

GETPPIDS = f"'{sys.executable}' -c 'import os; [os.getppid() for _ in range(37)]'"

MINE = """
const volatile u32 target;
static __attribute__((always_inline)) int mine(void) { return bpf_get_current_pid_tgid() >> 32 == target; }
"""


def run(source, compiler, *words, workload=GETPPIDS, status=0):
    options = ["-c", workload] if workload else []
    return command.sonde(
        "--object", compiled(MINE + source, compiler), "-D", "target=$target", *options, *words, status=status
    )


def values(done):
    """The `name = value` lines."""
    return dict(line.split(" = ", 1) for line in done.stdout.splitlines() if " = " in line)


COUNTS = (
    ADD
    + """
struct { __uint(type, 5); __uint(max_entries, 64); __type(key, u64); __type(value, int); } every SEC(".maps");
u64 events, raw, typed; int step = 3;
SEC("tracepoint/syscalls/sys_enter_getppid") int event(void *context)
{
    if (mine()) { __sync_fetch_and_add(&events, 1); add(7, step); }
    return 0;
}
SEC("raw_tp/sys_enter") int raw_entry(u64 *context)
{
    if (mine() && context[1] == 110) { __sync_fetch_and_add(&raw, 1); add(8, 1); }
    return 0;
}
SEC("tp_btf/sys_exit") int typed_exit(u64 *context)
{
    if (mine()) typed += ((s64)context[1] > 0) ? 1 : 0;
    return 0;
}
"""
)


@pytest.mark.share(1)
@pytest.mark.parametrize("compiler", BOTH)
def test_programs_count_what_happened(compiler):
    found = values(run(COUNTS, compiler, "--dump"))
    assert (found["events"], found["raw"], found["step"]) == ("37", "37", "3")
    assert (found["counts[7]"], found["counts[8]"]) == ("111", "37")
    assert int(found["typed"]) >= 37


@pytest.mark.share(1)
@pytest.mark.parametrize("compiler", BOTH)
def test_a_global_variable_is_set_and_verbose_tells_what_is_attached(compiler):
    done = run(COUNTS, compiler, "--dump", "-v", "-D", "step=-2")
    assert values(done)["counts[7]"] == str((1 << 64) - 74)
    assert "program event: tracepoint/syscalls/sys_enter_getppid" in done.stderr


@pytest.mark.share(1)
@pytest.mark.parametrize("compiler", BOTH)
def test_rings_and_prints_are_shown_in_their_order(compiler):
    lines = run(WRITES, compiler).stdout.splitlines()
    typed = [each for each in lines if each.startswith("events:")]
    assert typed == [f'events: {{.number = {n}, .comm = "python3", .sizes = {{0, -5}}}}' for n in (1, 2, 3)] or all(
        ".sizes = {0, -5}" in each for each in typed
    )
    assert len(typed) == 3
    assert [each for each in lines if each.startswith("call")] == [f"call {n} of it" for n in (1, 2, 3)]
    assert lines.count("plain: 8 bytes") == 3
    assert sum(each.startswith("perf: ") for each in lines) == 3
    assert sum("41 42 43 44 45 46 47 48" in each for each in lines) == 6


@pytest.mark.share(1)
@pytest.mark.parametrize("compiler", BOTH)
def test_only_the_prints_of_this_object_are_shown(compiler):
    """Two at a time print, and each shows its own."""
    source = """
    SEC("tracepoint/syscalls/sys_enter_getppid") int event(void *c) { if (mine()) bpf_printk("%s here"); return 0; }
    """
    # A command runs when all is attached: it says so, and calls when both have.
    work = f"'{sys.executable}' -c 'import os; print(1, flush=True); input(); [os.getppid() for _ in range(20)]'"
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    started = []
    for name in ("one", "two"):
        path = compiled(MINE + source.replace("%s", name).replace("mine()", "1"), compiler)
        started.append(subprocess.Popen([command.SONDE, "--object", path, "-c", work], text=True, **pipes))
    for each in started:
        while each.stdout.readline() != "1\n":
            assert each.poll() is None
    outputs = [each.communicate("\n")[0].splitlines() for each in started]
    for name, lines in zip(("one", "two"), outputs, strict=True):
        assert lines.count(f"{name} here") >= 20
        assert set(lines) == {f"{name} here"}


NESTED = """
struct inner { __uint(type, 2); __uint(max_entries, 4); __type(key, u32); __type(value, u64); };
struct inner first SEC(".maps"), second SEC(".maps");
struct { __uint(type, 12); __uint(max_entries, 4); __type(key, u32); __array(values, struct inner); }
    outer SEC(".maps") = { .values = { [1] = (void *)&first, [3] = (void *)&second } };
int called(void *context);
struct { __uint(type, 3); __uint(max_entries, 2); __uint(key_size, 4); __array(values, int(void *)); }
    jumps SEC(".maps") = { .values = { [1] = (void *)&called } };
int missing;
static __attribute__((noinline)) int add(u32 which, u64 by)
{
    u32 key = 2;
    void *inner = bpf_map_lookup_elem(&outer, &which);
    u64 *found = inner ? bpf_map_lookup_elem(inner, &key) : 0;
    if (found) *found += by; else missing++;
    return 0;
}
SEC("tracepoint/syscalls/sys_enter_getppid") int event(void *context)
{
    if (!mine()) return 0;
    add(3, 5); add(0, 1);
    bpf_tail_call(context, &jumps, 1);
    return 0;
}
SEC("tracepoint") int called(void *context) { add(1, 7); return 0; }
"""


@pytest.mark.share(1)
@pytest.mark.parametrize("compiler", BOTH)
def test_maps_of_maps_and_programs_that_are_called(compiler):
    found = values(run(NESTED, compiler, "--dump"))
    assert (found["first[2]"], found["second[2]"], found["missing"]) == (str(37 * 7), str(37 * 5), "37")


SHUFFLED = """
struct signal_struct;
struct task_struct___mine {
    char comm[16]; char between[40]; int tgid; struct task_struct___mine *real_parent; int exit_code; int pid;
} __attribute__((preserve_access_index));
int pid, tgid, parent; char name[16];
SEC("raw_tp/sys_enter") int entry(u64 *context)
{
    struct task_struct___mine *task = bpf_get_current_task_btf(), *above;
    if (!mine() || context[1] != 110) return 0;
    pid = task->pid;
    tgid = task->tgid;
    above = task->real_parent;
    parent = above->tgid;
    return 0;
}
"""

BY_HELPER = """
    struct task_struct___mine *task = (void *)bpf_get_current_task(), *above = 0;
    if (!mine() || context[1] != 110) return 0;
    bpf_probe_read_kernel(&pid, 4, &task->pid);
    bpf_probe_read_kernel(&tgid, 4, &task->tgid);
    bpf_probe_read_kernel(&above, 8, &task->real_parent);
    bpf_probe_read_kernel(&parent, 4, &above->tgid);
    return 0;
}
"""


def by_helper():
    """Addresses of fields, which gcc 12 relocates only where they are loaded from."""
    return SHUFFLED.partition("    struct task_struct___mine *task = bpf")[0] + BY_HELPER


@pytest.mark.share(1)
@pytest.mark.parametrize(
    ("compiler", "source"), [(each.values[0], SHUFFLED) for each in BOTH] + [("clang", by_helper())],
    ids=["gcc", "clang", "addresses"],
)  # fmt: skip
def test_fields_are_found_where_the_kernel_has_them(compiler, source):
    """Declared in another order than the kernel's and with other members between."""
    packages.require(COMPILERS[compiler][0])
    work = f"'{sys.executable}' -c 'import os; print(os.getpid(), os.getppid(), flush=True)'"
    done = run(source, compiler, "--dump", workload=work)
    pid, parent = next(each for each in done.stdout.splitlines() if each[:1].isdigit()).split()
    found = values(done)
    assert (found["pid"], found["tgid"], found["parent"]) == (pid, pid, parent)


@packages.needs("clang")
def test_all_kinds_of_relocations_agree_with_the_kernels_types():
    """What clang can ask of the kernel's types is what bpftool's oracle, the BTF itself, says."""
    source = """
    struct task_struct { int pid; unsigned in_execve : 1; unsigned long no_such; }
    __attribute__((preserve_access_index));
    struct no_such_struct { int x; } __attribute__((preserve_access_index));
    struct list_head { struct list_head *next, *prev; } __attribute__((preserve_access_index));
    enum bpf_map_type { BPF_MAP_TYPE_RINGBUF = 99, BPF_MAP_TYPE_NONE = 77 };
    int offset, size, has, hasnt, shift, sign, type, notype, bytes, value, novalue;
    SEC("raw_tp/sys_enter") int entry(u64 *context)
    {
        struct task_struct *t = (void *)bpf_get_current_task();
        offset = __builtin_preserve_field_info(t->pid, 0); size = __builtin_preserve_field_info(t->pid, 1);
        has = __builtin_preserve_field_info(t->pid, 2); hasnt = __builtin_preserve_field_info(t->no_such, 2);
        sign = __builtin_preserve_field_info(t->pid, 3); shift = __builtin_preserve_field_info(t->in_execve, 5);
        type = __builtin_preserve_type_info(*(struct list_head *)0, 0);
        notype = __builtin_preserve_type_info(*(struct no_such_struct *)0, 0);
        bytes = __builtin_preserve_type_info(*(struct task_struct *)0, 1);
        value = __builtin_preserve_enum_value(*(enum bpf_map_type *)BPF_MAP_TYPE_RINGBUF, 1);
        novalue = __builtin_preserve_enum_value(*(enum bpf_map_type *)BPF_MAP_TYPE_NONE, 0);
        return 0;
    }
    """
    kernel = Btf.open("/sys/kernel/btf/vmlinux")
    task = kernel.type(next(each for each in kernel.find_all("task_struct", 4) if kernel.type(each).members))
    pid = next(each for each in task.members if each.name == "pid")
    found = {name: int(value) for name, value in values(run(source, "clang", "--dump")).items() if "[" not in name}
    assert (found["offset"], found["size"], found["sign"], found["shift"]) == (pid.offset // 8, 4, 1, 63)
    assert (found["has"], found["hasnt"], found["type"], found["notype"]) == (1, 0, 1, 0)
    assert (found["bytes"], found["value"], found["novalue"]) == (task.size, 27, 0)


@packages.needs("clang")
def test_what_this_kernel_has_not_is_named():
    source = """
    struct task_struct { int no_such_member; } __attribute__((preserve_access_index));
    SEC("raw_tp/sys_enter") int entry(u64 *context)
    {
        int value;
        struct task_struct *t = (void *)bpf_get_current_task();
        return bpf_probe_read_kernel(&value, 4, &t->no_such_member);
    }
    """
    assert "it needs struct task_struct.no_such_member" in run(source, "clang", status=1).stderr


@packages.needs("clang")
def test_what_only_the_kernel_has():
    source = """
    extern int LINUX_KERNEL_VERSION __attribute__((section(".kconfig")));
    extern _Bool CONFIG_BPF __attribute__((section(".kconfig")));
    extern _Bool CONFIG_NO_SUCH __attribute__((section(".kconfig"), weak));
    extern const void schedule __attribute__((section(".ksyms")));
    u64 address; int version, has, hasnt;
    SEC("raw_tp/sys_enter") int entry(u64 *c)
    {
        version = LINUX_KERNEL_VERSION; has = CONFIG_BPF; hasnt = CONFIG_NO_SUCH; address = (u64)&schedule;
        return 0;
    }
    """
    found = values(run(source, "clang", "--dump"))
    with open("/proc/kallsyms") as file:
        addresses = [int(line.split()[0], 16) for line in file if line.split()[2:] == ["schedule"]]
    assert int(found["address"]) in addresses
    major, minor = map(int, os.uname().release.split(".")[:2])
    assert int(found["version"]) >> 8 == major << 8 | minor
    assert (found["has"], found["hasnt"]) == ("1", "0")


PROGRAM = """
#include <stdio.h>
#include <unistd.h>
struct inner { char tag[8]; int depth; };
struct request { long id; struct inner in; struct inner *next; short sizes[4]; char much[700]; };
__attribute__((noinline)) long work(struct request *r, int n, signed char c, unsigned u, long e, long f,
                                    long g, struct inner by)
{
    __asm__ volatile("" ::: "memory");
    return r->id + n + c + u + e + f + g + by.depth;
}
int main(void)
{
    static struct inner deep = { "deep", 42 };
    long sum = 0;
    for (int i = 0; i < 3; i++) {
        struct request r = { 100 + i, { "tag", 7 }, &deep, { 1, -2, 3, -4 }, { [699] = 70 + i } };
        struct inner by = { "val", i };
        sum += work(&r, -i, -5, 4000000000u, 5, 6, 7, by);
    }
    return sum == 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return built(PROGRAM, tmp_path_factory.mktemp("program") / "program")


@pytest.mark.share(1)
@pytest.mark.parametrize("compiler", BOTH)
def test_variables_of_a_program_arrive_as_arguments(compiler, program):
    source = (
        config(program, "few=work n r->id r->sizes[1]", "result=work%return $retval")
        + """
    SEC("few") int on_few(void *context, long error, long n, long id, long size)
    { bpf_printk("%ld %ld %ld", n, id, size); if (error) bpf_printk("error %ld", error); return 0; }
    SEC("result") int on_result(void *context, long error, long value) { bpf_printk("= %lu", value); return 0; }
    """
    )
    lines = run(source, compiler, workload=program).stdout.splitlines()
    expected = []
    for n in range(3):
        expected += [f"{-n} {100 + n} -2", f"= {100 + n - n - 5 + 4000000000 + 18 + n}"]
    assert lines == expected


@pytest.mark.share(1)
@pytest.mark.parametrize("compiler", BOTH)
def test_any_number_of_variables_arrives_as_one_structure(compiler, program):
    source = (
        config(program, "many=work r n c u e f g by r->id r->in.tag r->next->depth", "much=work r->id r->much")
        + """
    struct all { void *r; int n; signed char c; unsigned u; long e, f, g; unsigned char by[12];
                 long r_id; char r_in_tag[8]; int r_next_depth; long mine; };
    struct large { long r_id; char r_much[700]; };
    SEC("many") int on_many(void *context, struct all *v, long error)
    {
        bpf_printk("%d %d %u", v->n, v->c, v->u); bpf_printk("%ld %ld %ld", v->e + v->f, v->g, v->r_id);
        bpf_printk("%s %d %d", v->r_in_tag, v->r_next_depth, v->by[8]);
        v->mine = error;
        return 0;
    }
    SEC("much") int on_much(void *context, struct large *v, long error)
    { bpf_printk("much %ld %d %ld", v->r_id, v->r_much[699], error); return 0; }
    """
    )
    lines = run(source, compiler, workload=program).stdout.splitlines()
    many = [each for each in lines if not each.startswith("much")]
    expected = []
    for n in range(3):
        expected += [f"{-n} -5 4000000000", f"11 7 {100 + n}", f"tag 42 {n}"]
    assert many == expected
    assert [each for each in lines if each.startswith("much")] == [f"much {100 + n} {70 + n} 0" for n in range(3)]


@pytest.mark.long
@pytest.mark.parametrize("compiler", BOTH)
def test_the_structure_that_vars_declares_has_the_space_and_a_smaller_one_has_not(compiler, program):
    """The declaration is made, compiled and filled; a member less, or one that is too small, is refused with it."""
    names = ("n", "r->id", "r->in.tag", "by", "g")
    declared = command.sonde("vars", "--struct", program, "work", *names).stdout
    source = (
        config(program, f"many=work {' '.join(names)}")
        + """
    %s
    SEC("many") int on_many(void *context, struct variables_of_work *v, long error)
    { bpf_printk("%%d %%ld %%ld", v->n, v->r_id, v->g); return 0; }
    """
    )
    assert "struct variables_of_work {" in declared
    lines = run(source % declared, compiler, workload=program).stdout.splitlines()
    assert lines == [f"{-n} {100 + n} 7" for n in range(3)]
    for smaller in (declared.replace("long g;", "int g;"), declared.replace("r_in_tag[8]", "r_in_tag[4]")):
        assert smaller != declared
        said = run(source % smaller, compiler, workload=program, status=1).stderr
        assert "struct variables_of_work of on_many does not have" in said
        assert "declare it as" in said


@pytest.mark.share(1)
@pytest.mark.parametrize("compiler", BOTH)
def test_what_cannot_be_read_is_an_error_and_zeros(compiler, program):
    source = (
        config(program, "few=work n r->in.tag[9]", "bad=work r->next[99999999].depth n")
        + """
    SEC("bad") int on_bad(void *context, long error, long depth, long n)
    { bpf_printk("%ld %ld %ld", error, depth, n); return 0; }
    SEC("few") int on_few(void *context, long error, long n, long tag) { return 0; }
    """
    )
    lines = run(source, compiler, workload=program).stdout.splitlines()
    assert lines == [f"-14 0 {-n}" for n in range(3)]


@pytest.mark.share(1)
@pytest.mark.parametrize("compiler", BOTH)
def test_a_section_can_be_the_line_itself(compiler, program):
    source = f"""
    SEC("\\"exec={program};func=work n\\"") int on_work(void *context, long error, long n)
    {{ bpf_printk("n %ld", n); return 0; }}
    """
    assert run(source, compiler, workload=program).stdout.splitlines() == ["n 0", "n -1", "n -2"]


@packages.needs("bpf-gcc")
def test_a_line_whose_section_gcc_has_cut_off_is_explained(program):
    source = 'SEC("func=work;n") int on_work(void *context, long error, long n) { return 0; }'
    assert "gcc needs it in quotes" in run(source, "gcc", workload=program, status=1).stderr


@pytest.mark.share(1)
@pytest.mark.parametrize("compiler", BOTH)
def test_a_line_of_source(compiler, program):
    place = next(n for n, text in enumerate(PROGRAM.splitlines(), 1) if "return r->id" in text)
    source = (
        config(program, f"here=program.c@{place} n by.depth")
        + """
    SEC("here") int on_line(void *context, long error, long n, long depth)
    { if (!error) bpf_printk("%ld %ld", n, depth); return 0; }
    """
    )
    assert run(source, compiler, workload=program).stdout.splitlines() == [f"{-n} {n}" for n in range(3)]


UPROBES = """
int entries, returns, every, timers;
SEC("uprobe.multi/%(path)s:wor*") int all(void *c) { every++; return 0; }
SEC("uprobe/%(path)s:work") int entry(void *c) { entries++; return 0; }
SEC("uretprobe/%(path)s:work") int back(void *c) { returns++; return 0; }
SEC("perf_event/997hz") int timer(void *c) { timers++; return 0; }
"""


@pytest.mark.share(1)
@pytest.mark.parametrize("compiler", BOTH)
def test_uprobes_and_timers(compiler, program):
    work = f"/bin/sh -c '{program}; {program}; n=0; while [ $n -lt 30000 ]; do n=$((n+1)); done'"
    found = values(run(UPROBES % {"path": program}, compiler, "--dump", workload=work))
    assert (found["entries"], found["returns"], found["every"]) == ("6", "6", "6")
    assert int(found["timers"]) > 0


CALLED = """
int called(void *context);
struct { __uint(type, 3); __uint(max_entries, 2); __uint(key_size, 4); __array(values, int(void *)); }
    jumps SEC(".maps") = { .values = { [1] = (void *)&called } };
int entries, ends;
SEC("uprobe/%(path)s:work") int entry(void *c) { entries++; bpf_tail_call(c, &jumps, 1); return 0; }
SEC("uprobe") int called(void *c) { ends++; return 0; }
"""


@pytest.mark.share(1)
@pytest.mark.parametrize("compiler", BOTH)
def test_uprobes_that_are_linked_call_each_other(compiler, program):
    found = values(run(CALLED % {"path": program}, compiler, "--dump", workload=program))
    assert (found["entries"], found["ends"]) == ("3", "3")


@pytest.mark.share(1)
@pytest.mark.parametrize(("body", "reason"), [
    ("c[14] = 7; return 0;", "may change registers of what it probes"),
    ("bpf_send_signal(9); return 0;", "calls bpf_send_signal"),
    ("return c[14] & 1;", ""),
])  # fmt: skip
@packages.needs("bpf-gcc")
def test_what_changes_a_process_needs_permission(program, body, reason):
    signal = "static long (*bpf_send_signal)(u32 number) = (void *)109;"
    source = f'{signal}\nSEC("uprobe/{program}:work") int entry(u64 *c) {{ {body} }}'
    done = run(source, "gcc", workload=str(program), status=1 if reason else 0)
    assert reason in done.stderr
    assert ("Destructive actions not allowed" in done.stderr) == bool(reason)


def test_an_offset_that_is_no_instruction_is_refused(program):
    source = f'SEC("uprobe/{program}:work+1") int entry(void *c) {{ return 0; }}'
    name = next(each.values[0] for each in BOTH if not each.marks[0].args[0])
    assert "no instruction of work begins at offset 0x1" in run(source, name, workload=program, status=1).stderr


@pytest.mark.share(1)
@pytest.mark.parametrize("compiler", BOTH)
def test_counts_agree_with_bpftrace(compiler):
    packages.require("bpftrace")
    code = "import os; print(os.getpid(), flush=True); input(); [os.getppid() for _ in range(1234)]"
    words = [command.SONDE, "--object", compiled(MINE + COUNTS, compiler), "--dump", "-D", "target=$target"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    mine = subprocess.Popen([*words, "-c", f"'{sys.executable}' -c '{code}'"], **pipes)
    pid = int(mine.stdout.readline())
    script = f"""
        BEGIN {{ printf("ready\\n"); }}
        tracepoint:syscalls:sys_enter_getppid /pid == {pid}/ {{ @n = count(); }}
        tracepoint:sched:sched_process_exit /pid == {pid}/ {{ exit(); }}
    """
    other = subprocess.Popen(["bpftrace", "-e", script], stderr=subprocess.STDOUT, **pipes)
    while "ready" not in (line := other.stdout.readline()):
        assert line, "bpftrace has ended"
    found = mine.communicate("\n")[0]
    assert "@n: 1234" in other.communicate()[0]
    assert "events = 1234" in found.splitlines()


NAMED = """
char first[] = "one";
const char *const names[] = { "one", "two", first };
int which = 1, other;
SEC("raw_tp/sys_enter") int entry(void *c)
{
    char text[8];
    bpf_probe_read_kernel(text, 4, %s);
    bpf_printk("%%s", text);
    other++;
    return 0;
}
"""


@pytest.mark.share(1)
@pytest.mark.parametrize("compiler", BOTH)
def test_data_that_hold_addresses_are_refused_where_they_are_used(compiler):
    said = run(NAMED % "names[which & 1]", compiler, status=1).stderr
    assert "names of section .data" in said or "names of section .rodata" in said
    assert "which programs in the kernel cannot follow" in said
    assert run(NAMED % "first", compiler, "-e").stderr == ""


def test_the_wrong_object_is_a_message(tmp_path):
    path = tmp_path / "empty.o"
    path.write_bytes(struct.pack("<Q", 1))
    done = command.sonde("--object", str(path), status=1)
    assert done.stderr.startswith(f"sonde: {path} cannot be loaded: not a little-endian ELF file")
    assert "failed to open" in command.sonde("--object", str(tmp_path / "nothing"), status=1).stderr


@pytest.mark.share(1)
@pytest.mark.parametrize("compiler", BOTH)
def test_the_example(compiler, tmp_path):
    source = HEADERS / "reads.c"
    object_ = str(tmp_path / "reads.o")
    subprocess.run([*COMPILERS[compiler], "-c", str(source), "-o", object_], check=True)
    (tmp_path / "file").write_bytes(bytes(100_000))
    work = tmp_path / "reader-of-test"
    shutil.copy("/bin/cat", work)
    output = command.sonde("--object", object_, "--dump", "-c", f"{work} {tmp_path}/file {tmp_path}", status=0).stdout
    assert 'failed: {.comm = "reader-of-test", .error = 21}' in output
    total = next(line for line in output.splitlines() if line.startswith('bytes[{.comm = "reader-of-test"}] = '))
    assert 100_000 <= int(total.split()[-1]) < 110_000


@pytest.mark.share(1)
@pytest.mark.parametrize("compiler", BOTH)
def test_the_embedded_verifier_takes_what_the_kernel_takes(compiler):
    output = command.sonde("verify", compiled(MINE + COUNTS, compiler)).stdout
    assert output.count(": accepted") == 3
    source = 'SEC("raw_tp/sys_enter") int entry(u64 *context) { u32 key = 0; return *(u64 *)(context + 4096); }'
    assert ": refused" in command.sonde("verify", compiled(source, compiler), status=1).stdout
