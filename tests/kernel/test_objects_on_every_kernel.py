"""BPF objects at functions of the kernel, which not every kernel lets be probed: parameters by name, results."""

import sys

import pytest
from support.bpf.bpf_objects import BOTH, COMPILERS, compiled
from support.bpf.handwritten import COUNT_ZERO, program, tracing_spec
from support.command import command
from support.machine import packages

from sonde.bpf import programs
from sonde.engines.kernel.engine import KernelEngine
from sonde.engines.kernel.features import detect
from sonde.model.errors import EngineError
from sonde.model.probe import KernelFunction

pytestmark = pytest.mark.every_kernel


def has_kprobes():
    with open("/proc/kallsyms") as file:
        return any(line.split()[2:] == ["register_kprobe"] for line in file)


SOURCE = """
const volatile u32 target;
static __attribute__((noinline)) int mine(void) { return bpf_get_current_pid_tgid() >> 32 == target; }
int entries, returns, trampolines, exits;
char lines[] SEC("config") = "open=do_sys_openat2 filename how->flags dfd\\n"
                             "all=do_sys_openat2 how->mode filename dfd\\n"
                             "result=do_sys_openat2%return $retval";
struct all { u64 how_mode; char *filename; int dfd; u64 mine; };
SEC("kprobe/do_sys_openat2") int entry(void *c) { if (mine()) __sync_fetch_and_add(&entries, 1); return 0; }
SEC("kretprobe/do_sys_openat2") int back(void *c) { if (mine()) __sync_fetch_and_add(&returns, 1); return 0; }
SEC("fentry/do_sys_openat2") int trampoline(u64 *c) { if (mine()) __sync_fetch_and_add(&trampolines, 1); return 0; }
SEC("fexit/do_sys_openat2") int left(u64 *c) { if (mine()) __sync_fetch_and_add(&exits, 1); return 0; }
SEC("open") int on_open(void *context, long error, char *filename, u64 flags, long dfd)
{
    char name[32];
    if (!mine()) return 0;
    bpf_probe_read_user_str(name, sizeof name, filename);
    bpf_printk("%s %llx %d", name, flags, dfd);
    if (error) bpf_printk("error %d", error);
    return 0;
}
SEC("all") int on_all(void *context, struct all *v, long error)
{
    char name[32];
    if (!mine()) return 0;
    bpf_probe_read_user_str(name, sizeof name, v->filename);
    bpf_printk("mode %llx of %s at %d", v->how_mode, name, v->dfd);
    return 0;
}
SEC("\\"func=do_sys_openat2 filename how->flags\\"")
int on_section(void *context, long error, char *filename, u64 flags)
{
    char name[32];
    if (!mine()) return 0;
    bpf_probe_read_user_str(name, sizeof name, filename);
    bpf_printk("section %s %llx", name, flags);
    return 0;
}
SEC("result") int on_result(void *context, long error, long value) { if (mine()) bpf_printk("= %d", value); return 0; }
"""

WORK = """
#include <fcntl.h>
int main(void)
{
    for (int n = 0; n < 3; n++)
        open(n < 2 ? "/dev/null" : "/no/such", n ? O_WRONLY | O_CREAT : O_RDONLY, 0640);
}
"""


@pytest.mark.skipif(not has_kprobes(), reason="this kernel has no kprobes")
@pytest.mark.parametrize("compiler", BOTH)
def test_functions_of_the_kernel(tmp_path, compiler):
    program = command.build(tmp_path, "work", WORK, "-static")
    words = ["--object", compiled(SOURCE, compiler), "--dump", "-D", "target=$target", "-c", str(program)]
    lines = command.sonde(*words).stdout.splitlines()
    for expected in (
        "/dev/null 8000 -100", "/dev/null 8041 -100", "/no/such 8041 -100", "= -2",
        "section /dev/null 8000", "section /no/such 8041",
        "mode 0 of /dev/null at -100", "mode 1a0 of /dev/null at -100",
    ):  # fmt: skip
        assert expected in lines, (expected, lines)
    assert not [each for each in lines if each.startswith("error")]
    found = dict(each.split(" = ") for each in lines if " = " in each and not each.startswith(" "))
    assert [found[each] for each in ("entries", "returns", "trampolines", "exits")] == ["3"] * 4


SYSTEM_CALLS = """
const volatile u32 target;
int calls, results, moved;
static __attribute__((always_inline)) int mine(void) { return bpf_get_current_pid_tgid() >> 32 == target; }
SEC("ksyscall/getppid") int entry(void *c) { if (mine()) __sync_fetch_and_add(&calls, 1); return 0; }
SEC("kretsyscall/getppid") int back(void *c) { if (mine()) __sync_fetch_and_add(&results, 1); return 0; }
SEC("kprobe/no_such_function") int other(void *c) { if (mine()) __sync_fetch_and_add(&moved, 1); return 0; }
"""


@pytest.mark.share(1)
@pytest.mark.parametrize("compiler", BOTH)
def test_system_calls_by_the_functions_that_serve_them(compiler):
    words = ["--object", compiled(SYSTEM_CALLS, compiler), "-D", "target=$target", "--dump"]
    words += ["-c", f"'{sys.executable}' -c 'import os; [os.getppid() for _ in range(37)]'"]
    if not has_kprobes():
        done = command.sonde(*words, "--program", "other=off", status=1)
        assert "has no kprobes (CONFIG_KPROBES)" in command.unwrapped(done.stderr)
        return
    done = command.sonde(*words, status=1)
    assert "this kernel has no function no_such_function" in command.unwrapped(done.stderr)
    done = command.sonde(*words, "--attach", "other=__x64_sys_getppid")
    found = dict(line.split(" = ") for line in done.stdout.splitlines() if " = " in line)
    assert [found[name] for name in ("calls", "results", "moved")] == ["37", "37", "37"]


@pytest.mark.share(1)
@pytest.mark.skipif(has_kprobes(), reason="this kernel has kprobes")
@pytest.mark.parametrize("compiler", BOTH)
def test_a_kernel_without_kprobes_says_so(compiler):
    """Programs are loaded, so the verifier has looked at the frames, and only then nothing can be attached."""
    source = "\n".join(line for line in SOURCE.splitlines() if not line.startswith(('SEC("fentry', 'SEC("fexit')))
    done = command.sonde("--object", compiled(source, compiler), "-D", "target=1", status=1)
    assert "cannot attach" in done.stderr


def has_links():
    return bool(detect(("kprobe_multi",)))


MANY = """
int entries;
SEC("kprobe.multi/vfs_open*") int entry(void *c) { __sync_fetch_and_add(&entries, 1); return 0; }
"""


@pytest.mark.share(1)
@pytest.mark.parametrize("compiler", BOTH)
def test_many_functions_in_one_link_or_a_message(compiler):
    words = ["--object", compiled(MANY, compiler), "--dump", "-c", "/bin/cat /etc/passwd"]
    if has_links():
        found = command.sonde(*words).stdout.rpartition("entries = ")[2]
        assert int(found) > 0
        return
    said = command.sonde(*words, status=1).stderr
    assert "has no kprobe_multi (Linux 5.18, CONFIG_FPROBE)" in said or "cannot be read" in said


def test_a_kernel_without_such_links_says_so():
    """Where functions cannot even be listed the engine still tells what is missing."""
    if has_links():
        pytest.skip("this kernel has kprobe_multi")
    firings = [(KernelFunction("vmlinux", name, False), 0) for name in ("vfs_open", "vfs_read")]
    many = program("many", programs.KPROBE, COUNT_ZERO, firings, attach_type=programs.TRACE_KPROBE_MULTI)
    tracing = KernelEngine().load(tracing_spec(many))
    try:
        with pytest.raises(EngineError, match="has no kprobe_multi"):
            tracing.attach()
    finally:
        tracing.close()


def test_uprobes_and_rings_work_on_every_kernel(tmp_path):
    compiler = next((name for name, words in COMPILERS.items() if not packages.missing(words[0])), "")
    if not compiler:
        packages.require("bpf-gcc")
    source = (
        "__attribute__((noinline)) int work(int n, long m) { return n + m; } int main(void) { return work(5, 7) - 12; }"
    )
    program = command.build(tmp_path, "program", source, "-g", "-Og", "-fno-ipa-cp")
    text = (
        f'char lines[] SEC("config") = "exec={program}\\nwork=work n m";'
        + """
    struct event { int n; long m; };
    struct { __uint(type, 27); __uint(max_entries, 65536); __type(value, struct event); } events SEC(".maps");
    SEC("work") int on_work(void *context, long error, long n, long m)
    { struct event e = { n, m }; bpf_ringbuf_output(&events, &e, sizeof e, 0); bpf_printk("%d", n); return 0; }
    """
    )
    done = command.sonde("--object", compiled(text, compiler), "-c", program)
    assert sorted(done.stdout.splitlines()) == ["5", "events: {.n = 5, .m = 7}"]
