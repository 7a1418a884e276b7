"""What is chosen of an object, in the kernel: programs count where they are attached, and only those that are on."""

import errno
import os
import re
import shlex
import struct
import subprocess
import sys
from functools import cache

import pytest
from support.bpf.bpf_objects import BOTH, compiled
from support.command import command
from support.command.command import unwrapped
from support.machine import packages
from support.symbols.static_programs import assembler

from sonde.engines.kernel.syscalls import address_of, bpf

GETPPIDS = f"'{sys.executable}' -c 'import os; [os.getppid() for _ in range(37)]'"

COUNTS = """
const volatile u32 target;
u64 always, asked, moved, elsewhere;
static __attribute__((always_inline)) int mine(void) { return bpf_get_current_pid_tgid() >> 32 == target; }
#define COUNTER(section, name, to) \\
    SEC(section) int name(void *context) { if (mine()) __sync_fetch_and_add(&to, 1); return 0; }
COUNTER("tracepoint/syscalls/sys_enter_getppid", first, always)
COUNTER("?tracepoint/syscalls/sys_enter_getppid", second, asked)
COUNTER("tracepoint/syscalls/sys_enter_getpgid", third, moved)
COUNTER("uprobe", fourth, elsewhere)
"""


def run(*words, source=COUNTS, compiler="gcc", workload=GETPPIDS, status=0):
    options = ["-c", workload] if workload else []
    done = command.sonde("--object", compiled(source, compiler), "--dump", *options, *words, status=status)
    return done, dict(line.split(" = ", 1) for line in done.stdout.splitlines() if " = " in line)


@pytest.mark.share(1)
@pytest.mark.parametrize("compiler", BOTH)
@pytest.mark.parametrize(
    ("words", "counts"),
    [
        ((), "37 0 0 0"),
        (("--program", "second=on"), "37 37 0 0"),
        (("--program", "*=off", "--program", "second=on"), "0 37 0 0"),
        (("--attach", "third=syscalls/sys_enter_getppid"), "37 0 37 0"),
        (("--attach", "third=syscalls/sys_enter_getppid", "--attach", "third=syscalls/sys_exit_getppid"), "37 0 74 0"),
        (("--attach", "fourth=libc.so.6:getppid"), "37 0 0 37"),
        (("--attach", "fourth=libc.so.6:getppid", "--program", "f*=off"), "0 0 0 0"),
    ],
)
def test_what_is_on_counts_where_it_is_attached(words, counts, compiler):
    done, found = run("-D", "target=$target", *words, compiler=compiler)
    assert [found.get(name, "0") for name in ("always", "asked", "moved", "elsewhere")] == counts.split(), done


def test_a_program_without_a_place_is_told():
    done, _ = run("-D", "target=$target")
    text = unwrapped(done.stderr)
    assert "program fourth is attached nowhere, since its section uprobe does not say where" in text
    assert "--attach fourth=PLACE" in text


def test_an_object_without_any_place_ends_at_once():
    done = command.sonde(
        "--object", compiled(COUNTS, "gcc"), "--program", "[!f]*=off", "--program", "first=off", status=1
    )
    text = unwrapped(done.stderr)
    assert "none of its programs says where it is attached: fourth" in text
    assert "--attach fourth=PLACE" in text


OTHERS = (("record", "-n", "BEGIN { exit(0); }"), ("read",), ("raw", "absent"), ("verify", "-n", "BEGIN { exit(0); }"))
TRACING = (("-n", "BEGIN { exit(0); }"), ("--spec", "absent"))
"""Where --record names the file of a recording if there is no object."""


@pytest.mark.share(3)
@pytest.mark.parametrize(
    ("option", "words"),
    [(option, words) for option in ("--map", "--program", "--attach", "--record") for words in OTHERS]
    + [(option, words) for option in ("--map", "--program", "--attach") for words in TRACING],
)
def test_choices_need_an_object(option, words):
    done = command.sonde(*words, option, "a=b", status=2)
    assert "it needs --object FILE" in unwrapped(done.stderr)


def test_an_object_is_verified_with_what_is_chosen():
    path = compiled(SIZED)
    assert "--map every=10240" in unwrapped(command.sonde("verify", path, status=1).stderr)
    assert "program program" in command.sonde("verify", path, "--map", "every=5").stdout
    done = command.sonde("verify", compiled(COUNTS), "--program", "[!f]*=off", "-D", "target=7").stdout
    named = [line.split()[1] for line in done.splitlines() if line.startswith("program ")]
    assert named == ["first", "fourth"]


ABSENT = """
SEC("tracepoint/syscalls/sys_enter_getppid") int present(void *context) { return 0; }
SEC("%s") int absent(void *context) { return 0; }
"""


@pytest.mark.share(1)
@pytest.mark.parametrize(
    ("section", "cause"),
    [
        ("tracepoint/sched/sonde_has_none", "this kernel has no trace event sched:sonde_has_none"),
        ("raw_tp/sonde_has_none", "this kernel has no tracepoint sonde_has_none"),
        ("tp_btf/sonde_has_none", "this kernel has no tracepoint sonde_has_none"),
        ("fentry/sonde_has_none", "this kernel's BTF has no function sonde_has_none"),
        ("kprobe/sonde_has_none", "this kernel"),
        ("iter/sonde_has_none", "this kernel's BTF has no function bpf_iter_sonde_has_none"),
    ],
)
def test_a_program_that_cannot_be_attached_can_be_left_out(section, cause):
    source = ABSENT % section
    done = command.sonde("--object", compiled(source), "-c", "true", status=1)
    text = unwrapped(done.stderr)
    assert cause in text
    assert "program absent" in text
    assert "--program absent=off" in text
    command.sonde("--object", compiled(source), "-c", "true", "--program", "absent=off")


SIZED = """
const volatile u32 target;
struct { __uint(type, 1); __type(key, u32); __type(value, u64); } every SEC(".maps");
SEC("tracepoint/syscalls/sys_enter_getppid") int program(void *context)
{
    u64 one = 1;
    static u32 key;
    if (bpf_get_current_pid_tgid() >> 32 == target) {
        key++;
        bpf_map_update_elem(&every, &key, &one, 0);
    }
    return 0;
}
"""


@pytest.mark.share(1)
@pytest.mark.parametrize("compiler", BOTH)
def test_a_map_has_the_size_that_is_given(compiler):
    for size, kept in ((1000, 37), (5, 5)):
        _, found = run("-D", "target=$target", "--map", f"every={size}", source=SIZED, compiler=compiler)
        assert sum(name.startswith("every[") for name in found) == kept
    done = command.sonde("--object", compiled(SIZED, compiler), "-c", "true", status=1)
    assert "give it one: --map every=10240" in unwrapped(done.stderr)


ITERATORS = """
struct seq_file;
struct bpf_iter_meta { struct seq_file *seq; u64 session_id, seq_num; };
struct task_struct { int pid, tgid; } __attribute__((preserve_access_index));
struct bpf_iter__task { struct bpf_iter_meta *meta; struct task_struct *task; };
struct bpf_iter__bpf_map_elem { struct bpf_iter_meta *meta; void *map; u32 *key; u64 *value; };
struct { __uint(type, 2); __uint(max_entries, 3); __type(key, u32); __type(value, u64); } counts SEC(".maps");
const volatile u32 target;
HELPER(126, long, seq_printf, struct seq_file *file, const char *format, u32 size, const void *values, u32 length);
SEC("?tracepoint/syscalls/sys_enter_getppid") int count(void *context)
{
    u32 key = 2;
    u64 *found = bpf_map_lookup_elem(&counts, &key);
    if (found && bpf_get_current_pid_tgid() >> 32 == target)
        __sync_fetch_and_add(found, 1);
    return 0;
}
SEC("iter/task") int tasks(struct bpf_iter__task *context)
{
    static const char format[] = "task %d\\n";
    struct task_struct *task = context->task;
    if (task) {
        u64 number = task->tgid;
        seq_printf(context->meta->seq, format, sizeof format, &number, 8);
    }
    return 0;
}
SEC("iter/bpf_map_elem:counts") int elements(struct bpf_iter__bpf_map_elem *context)
{
    static const char format[] = "element %d: %d\\n";
    u32 *key = context->key;
    u64 *value = context->value, numbers[2];
    if (key && value) {
        numbers[0] = *key;
        numbers[1] = *value;
        seq_printf(context->meta->seq, format, sizeof format, numbers, 16);
    }
    return 0;
}
"""


@cache
def elements_are_forbidden():
    """Whether this kernel forbids even root the least program that iterates over the elements of maps."""
    types = subprocess.run(
        ["bpftool", "btf", "dump", "file", "/sys/kernel/btf/vmlinux"], capture_output=True, text=True, check=True
    ).stdout
    (number,) = re.findall(r"^\[(\d+)\] FUNC 'bpf_iter_bpf_map_elem'", types, re.MULTILINE)
    code, license_ = bytearray.fromhex("b700000000000000 9500000000000000"), bytearray(b"GPL\0")
    attributes = bytearray(144)
    struct.pack_into("=IIQQ", attributes, 0, 26, 2, address_of(code), address_of(license_))
    struct.pack_into("=I", attributes, 68, 28)
    struct.pack_into("=I", attributes, 108, int(number))
    try:
        os.close(bpf(5, attributes))
    except OSError as error:
        return error.errno == errno.EPERM
    return False


def require_elements():
    if elements_are_forbidden():
        pytest.skip("this kernel forbids root iterators over the elements of maps")


@pytest.mark.long
@packages.needs("clang", "bpftool")
def test_iterators_alone_are_read_once():
    require_elements()
    object_ = compiled(ITERATORS, "clang")
    sleeper = subprocess.Popen(["sleep", "60"])
    try:
        lines = command.sonde("--object", object_).stdout.splitlines()
    finally:
        sleeper.kill()
        sleeper.wait()
    assert f"task {sleeper.pid}" in lines
    assert [each for each in lines if each.startswith("element")] == [f"element {n}: 0" for n in range(3)]


@pytest.mark.long
@packages.needs("clang", "bpftool")
def test_iterators_come_behind_what_is_counted():
    require_elements()
    done = command.sonde(
        "--object", compiled(ITERATORS, "clang"), "--program", "count=on", "-D", "target=$target", "-c", GETPPIDS,
        "--attach", "elements=bpf_map_elem:counts", "--program", "tasks=off",
    )  # fmt: skip
    assert done.stdout.splitlines() == ["element 0: 0", "element 1: 0", "element 2: 37"]


USDT = """
#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <stdbool.h>
#include <bpf/usdt.bpf.h>
char LICENSE[] SEC("license") = "GPL";
long sum, number;
SEC("usdt") int BPF_USDT(sale, long first, int second)
{
    __sync_fetch_and_add(&number, 1);
    __sync_fetch_and_add(&sum, first * second + bpf_usdt_arg_cnt(ctx));
    return 0;
}
"""

SHOP = (
    assembler("")
    + """
__attribute__((noinline)) void fire(long a, int b)
{
    asm volatile("probe shop, sale, 0, \\"8@%%rdi -4@%%esi\\"" :: "D"(a), "S"(b) : "memory");
}
int main(void) { for (int i = 0; i < 11; i++) fire(i, -3); return 0; }
"""
)


@packages.needs("clang", "gcc", "bpf/usdt.bpf.h")
def test_static_probes_by_libbpfs_own_header(tmp_path):
    """Its functions are weak and hidden: the verifier has to look at them with their callers."""
    program = command.build(tmp_path, "program", SHOP)
    source, object_ = tmp_path / "usdt.bpf.c", tmp_path / "usdt.bpf.o"
    source.write_text(USDT)
    words = ["-D__TARGET_ARCH_x86", "-I/usr/include/x86_64-linux-gnu", "-target", "bpf", "-O2", "-g", "-w"]
    subprocess.run(["clang", *words, "-c", source, "-o", object_], check=True)
    done = command.sonde("--object", object_, "--dump", "--attach", f"sale={program}:shop:sale", "-c", program)
    found = dict(line.split(" = ", 1) for line in done.stdout.splitlines() if line.startswith(("sum", "number")))
    assert found == {"number": "11", "sum": str(-3 * sum(range(11)) + 2 * 11)}


RECORDS = """
const volatile u32 target;
struct event { int number; char name[12]; };
struct other { u64 ago; short kind; };
struct long_event { int count; char text[64]; };
struct { __uint(type, 4); __uint(key_size, 4); __uint(value_size, 4); } events SEC(".maps");
struct { __uint(type, 27); __uint(max_entries, 4096); } plain SEC(".maps");
struct { __uint(type, 4); __uint(max_entries, 64); __type(key, u32); __type(value, u32); } long_events SEC(".maps");
SEC("tracepoint/syscalls/sys_enter_getppid") int program(void *context)
{
    struct event event = { 7, "seven" };
    struct other other = { 1000, -3 };
    struct long_event cut = { 2, "ab" };
    if (bpf_get_current_pid_tgid() >> 32 != target)
        return 0;
    bpf_perf_event_output(context, &events, 0xffffffffULL, &event, sizeof event);
    bpf_perf_event_output(context, &long_events, 0xffffffffULL, &cut, 12);
    bpf_ringbuf_output(&plain, &other, sizeof other, 0);
    return 0;
}
"""


@packages.needs("clang")
def test_records_are_shown_by_structures_of_the_dwarf():
    """They are variables of programs, so that the BTF has none of them."""
    from sonde.bpf.btf import STRUCT, Btf
    from sonde.objects.reading import read_object

    path = compiled(RECORDS, "clang")
    with open(path, "rb") as file:
        types = read_object(file.read()).types
    assert isinstance(types, Btf)
    assert types.find("event", STRUCT) is None
    words = ("-D", "target=$target", "-c", f"'{sys.executable}' -c 'import os; os.getppid()'")
    shown = command.sonde("--object", path, *words, "--record", "plain=struct other").stdout.splitlines()
    assert sorted(shown) == [
        'events: {.number = 7, .name = "seven"}',
        'long_events: {.count = 2, .text = "ab"}',
        "plain: {.ago = 1000, .kind = -3}",
    ]
    shown = command.sonde("--object", path, *words, "--record", "events=other").stdout
    assert "events: {.ago" in shown
    assert "plain: 16 bytes" in shown


@pytest.mark.share(1)
@packages.needs("clang")
@pytest.mark.parametrize(
    ("record", "words"),
    [
        ("events=absent", ["--record events=absent", "has a structure absent", "do not strip it"]),
        ("absent=event", ["--record absent", "no ring or array of perf events", "events, long_events, plain"]),
        ("events", ["--record events", "--record MAP=STRUCTURE"]),
    ],
)
def test_a_record_that_is_not_there_is_told(record, words):
    done = command.sonde("--object", compiled(RECORDS, "clang"), "-c", "true", "--record", record, status=1)
    text = unwrapped(done.stderr)
    assert all(each in text for each in words), text


@packages.needs("clang", "readelf", "llvm-dwp")
def test_records_of_a_stripped_object_are_bytes(tmp_path):
    stripped = tmp_path / "stripped.o"
    names = subprocess.run(["readelf", "-SW", compiled(RECORDS, "clang")], capture_output=True, text=True).stdout
    removed = [f"--remove-section={name}" for name in (".debug_info", ".debug_abbrev") if name in names]
    assert len(removed) == 2
    subprocess.run(["llvm-objcopy", *removed, compiled(RECORDS, "clang"), stripped], check=True)
    done = command.sonde("--object", stripped, "-D", "target=$target", "-c", GETPPIDS)
    assert "events: 20 bytes" in done.stdout


PROCESSES = """
u64 everywhere, target_only;
SEC("uprobe") int first(void *context) { __sync_fetch_and_add(&everywhere, 1); return 0; }
SEC("uprobe") int second(void *context) { __sync_fetch_and_add(&target_only, 1); return 0; }
"""


@pytest.mark.share(1)
@pytest.mark.parametrize("compiler", BOTH)
def test_a_uprobe_may_be_of_the_target_alone(compiler, tmp_path):
    inner, outer = tmp_path / "inner", tmp_path / "outer"
    inner.write_text("import os\n[os.getppid() for _ in range(11)]\n")
    words = [sys.executable, str(inner)]
    outer.write_text(f"import os\n[os.getppid() for _ in range(41)]\nos.spawnv(os.P_WAIT, {words[0]!r}, {words!r})\n")
    _, found = run(
        "--attach", "first=libc.so.6:getppid", "--attach", "second=libc.so.6:getppid@$target",
        source=PROCESSES, compiler=compiler, workload=shlex.join([sys.executable, str(outer)]),
    )  # fmt: skip
    assert int(found["target_only"]) == 41
    assert int(found["everywhere"]) >= 52


def test_only_places_in_processes_have_a_target():
    done = command.sonde("--object", compiled(COUNTS), "-c", "true", "--attach", "first=syscalls/x@$target", status=1)
    assert "@$target is for programs and libraries" in unwrapped(done.stderr)
    done = command.sonde("--object", compiled(COUNTS), "--attach", "fourth=libc.so.6:getppid@$target", status=1)
    assert "$target is the process of -c or -p, and neither is given" in unwrapped(done.stderr)


STACKS = """
const volatile u32 target;
struct key { u32 tgid; int user_stack_id, kern_stack_id; };
struct { __uint(type, 1); __uint(max_entries, 64); __type(key, struct key); __type(value, u64); } counts SEC(".maps");
struct { __uint(type, 7); __type(key, u32); } stacks SEC(".maps");
HELPER(27, long, get_stackid, void *context, void *map, u64 flags);
SEC("tracepoint/syscalls/sys_enter_getppid") int program(void *context)
{
    struct key key = { bpf_get_current_pid_tgid() >> 32 };
    u64 one = 1;
    if (key.tgid != target)
        return 0;
    key.user_stack_id = get_stackid(context, &stacks, 256);
    key.kern_stack_id = get_stackid(context, &stacks, 0);
    bpf_map_update_elem(&counts, &key, &one, 0);
    return 0;
}
"""


@pytest.mark.share(1)
@pytest.mark.parametrize("compiler", BOTH)
def test_stacks_have_the_names_of_processes_that_have_ended(compiler):
    done, _ = run("-D", "target=$target", "--map", "stacks=16384", source=STACKS, compiler=compiler)
    (key,) = (line for line in done.stdout.splitlines() if line.startswith("counts["))
    numbers = dict(re.findall(r"\.(\w+) = (-?\d+)", key))
    blocks = dict(re.findall(r"^stacks\[(\d+)\] =(.*(?:\n    .*)*)", done.stdout, re.MULTILINE))
    user, kernel = blocks[numbers["user_stack_id"]], blocks[numbers["kern_stack_id"]]
    assert user.startswith(f" process {numbers['tgid']}\n    libc.so.6`")
    assert "getppid" in user.splitlines()[1]
    assert kernel.startswith("\n    vmlinux`")
    assert "do_syscall_64" in kernel


@packages.needs("clang", "readelf")
def test_damaged_debug_information_is_told_and_does_without(tmp_path):
    path = compiled(RECORDS, "clang")
    table = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True).stdout
    offset, size = re.search(r" \.debug_info +PROGBITS +\w+ (\w+) (\w+)", table).groups()
    with open(path, "rb") as file:
        data = bytearray(file.read())
    data[int(offset, 16) + 12 : int(offset, 16) + int(size, 16)] = b"\xff" * (int(size, 16) - 12)
    damaged = tmp_path / "damaged.o"
    damaged.write_bytes(data)
    done = command.sonde("--object", damaged, "-D", "target=$target", "-c", GETPPIDS)
    assert "events: 20 bytes" in done.stdout
    assert "debug information cannot be read" in unwrapped(done.stderr)
    assert "records of which its BTF knows no type are shown as bytes" in unwrapped(done.stderr)
    done = command.sonde("--object", damaged, "-c", "true", "--record", "events=event", status=1)
    assert "debug information cannot be read" in unwrapped(done.stderr)


IMPOSSIBLE = """
struct { __uint(type, 27); __uint(max_entries, 4096); } ring SEC(".maps");
struct { __uint(type, 7); __uint(max_entries, 16); __uint(key_size, 4); __uint(value_size, %d); } stacks SEC(".maps");
SEC("tracepoint/syscalls/sys_enter_getppid") int program(void *context)
{
    u64 word = 1;
    u32 key = 0;
    bpf_ringbuf_output(&ring, &word, sizeof word, 0);
    return bpf_map_lookup_elem(&stacks, &key) != 0;
}
"""


@pytest.mark.share(1)
@pytest.mark.parametrize(
    ("size", "words", "cause"),
    [
        (64, ["--map", "ring=1000"], "map ring: a ring buffer has a power of two of bytes, in whole pages"),
        (64, ["--map", "ring=12288"], "map ring: a ring buffer has a power of two of bytes"),
        (8 * 100_000, [], "map stacks: a stack has at most"),
        (60, [], "map stacks: a stack has addresses of 8 bytes, and the values have 60"),
    ],
)
def test_a_map_that_no_kernel_makes_is_not_blamed_on_this_one(size, words, cause):
    text = unwrapped(command.sonde("--object", compiled(IMPOSSIBLE % size), "-c", "true", *words, status=1).stderr)
    assert cause in text
    assert "does not support" not in text
