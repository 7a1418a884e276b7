"""Functions of probes as symbols, registers, and arrays in memory as pointers."""

import re

from support.command.command import sonde
from support.command.targets import program

from sonde.library.compiling import For, compiled
from sonde.library.settings import option_table

TARGET = """
__attribute__((noinline)) int first(int a) { asm volatile("" ::: "memory"); return a; }
__attribute__((noinline)) int second(int a) { asm volatile("" ::: "memory"); return first(a) + 1; }
int main(void) { return second(first(3)) != 4; }
"""
BUSY = "int main(void) { for (volatile long i = 0; ; i++); }"


def bt(*words):
    return sonde("bt", "-q", *words)


def test_a_function_is_a_symbol_beside_symbols():
    target = program(TARGET, "-g")
    text = f"""
    uprobe:{target}:first, uprobe:{target}:second {{ @calls[func] = count(); @seen[func] = 1; @seen[usym(0)] = 2; }}
    """
    lines = bt("-e", text, "-c", target).stdout.splitlines()
    assert {"@calls[first]: 2", "@calls[second]: 1", "@seen[first]: 1", "@seen[second]: 1", "@seen[0x0]: 2"} <= {*lines}


def test_a_function_is_a_string_where_none_are():
    target = program(TARGET, "-g")
    text = f'uprobe:{target}:second {{ printf("%s %d\\n", func, func == "second"); }}'
    assert bt("-e", text, "-c", target).stdout.splitlines()[0] == "second 1"


def test_functions_of_the_kernel_are_symbols(tmp_path):
    """Without probes of functions on the machine that runs this: what is compiled has the functions' addresses."""
    folder = tmp_path / "kernel"
    (folder / "events").mkdir(parents=True)
    (folder / "vmlinux").symlink_to("/sys/kernel/btf/vmlinux")
    (folder / "available_filter_functions").write_text("vfs_read\nvfs_write\n")
    (folder / "kallsyms").write_text("ffffffff81000010 T vfs_read\nffffffff81000020 T vfs_write\n")
    text = 'begin { @name[0] = ksym(0); } kprobe:vfs_read, kprobe:vfs_write { @name[tid] = func; @ip = reg("ip"); }'
    options = option_table([("quiet", "yes"), ("strsize", "1024")])
    made = compiled("bpftrace", (("text", text),), options, (), For("kernel", str(folder)), "bpftrace")
    code = b"".join(each.code for each in made.spec.programs)
    # A constant of 64 bits is in two instructions, half in each.
    assert all(number.to_bytes(4, "little") in code for number in (0x81000010, 0x81000020))


def test_samples_have_registers():
    target = program(BUSY)
    text = (
        'profile:hz:997 / pid == cpid / { @[usym(reg("ip")), reg("sp") > 4096] = count(); if (++@n > 20) { exit(); } }'
    )
    assert re.search(r"^@\[main, true\]: ", bt("-e", text, "-c", target).stdout, re.MULTILINE)


def test_arrays_in_memory_are_pointers():
    text = """
    tracepoint:sched:sched_switch / pid == cpid / {
        $p = (uint16 *)args.prev_comm; $q = (uint8 *)args.prev_comm;
        printf("%d\\n", *$p == $q[0] + ($q[1] << 8) && $q[0] == (uint8)comm[0]); exit();
    }
    """
    assert bt("-e", text, "-c", "sleep 0.1").stdout.splitlines()[0] == "1"
    connect = "import socket as s; a = s.create_server(('127.0.0.1', 0)); s.create_connection(a.getsockname())"
    text = """
    tracepoint:sock:inet_sock_set_state / pid == cpid / {
        $p = (uint8 *)args.saddr; printf("%d.%d.%d.%d %x\\n", $p[0], $p[1], $p[2], $p[3], *(uint32 *)args.daddr);
    }
    """
    shown = bt("-e", text, "-c", f'python3 -c "{connect}"').stdout
    assert re.search(r"^127\.0\.0\.1 100007f$", shown, re.MULTILINE)
