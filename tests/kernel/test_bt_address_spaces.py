"""Pointers into memory of the kernel and of a process at every kind of probe: each is read where it lives, whatever way
it has come there."""

import re

import pytest
from support.command.command import sonde
from support.command.targets import program

TARGET = """
#include <fcntl.h>
#include <unistd.h>
#include <sys/sdt.h>
__attribute__((noinline)) int function(const char *text, int number) { asm volatile("" ::: "memory"); return number; }
int main(void)
{
    char text[] = "text of the process";
    for (int i = 0; i < 20; i++) {
        open("text of the process", O_RDONLY);
        function(text, i);
        STAP_PROBE1(house, mark, text);
        usleep(1000);
    }
}
"""

OF_PROCESS = (
    "uprobe:{target}:function", "usdt:{target}:house:mark", "tracepoint:syscalls:sys_enter_openat",
)  # fmt: skip
KINDS = (
    *OF_PROCESS, "uretprobe:{target}:function", "tracepoint:syscalls:sys_exit_openat",
    "tracepoint:raw_syscalls:sys_enter", "tracepoint:sched:sched_switch", "rawtracepoint:sched_switch",
    "interval:ms:5", "profile:hz:999", "software:cs:1",
)  # fmt: skip
OF_ALL = ("interval", "profile")

WAYS = {
    "pointer": "(char *)&curtask->comm",
    "number": "(char *)((uint64)curtask + offsetof(struct task_struct, comm))",
    "variable": "(char *)$number",
    "pointer in a variable": "$pointer",
    "map": "(char *)@number[cpu]",
    "pointer in a map": "@pointer[cpu]",
    "tuple": "$tuple.1",
    "branches": "(cpu >= 0 ? $pointer : (char *)0)",
    "kptr": "(char *)kptr($number)",
    "kptr of a pointer": "kptr((char *)$number)",
    "cast twice": "(char *)(struct task_struct *)(void *)$pointer",
    "container": "(char *)&container_of($pointer, struct task_struct, comm)->comm",
}

BEFORE = """
    $number = (uint64)curtask + offsetof(struct task_struct, comm); $pointer = (char *)&curtask->comm;
    @number[cpu] = $number; @pointer[cpu] = $pointer; $tuple = (1, $pointer);
"""

READS = {
    "str": "str({0}) == comm",
    "str of a number": "str((uint64){0}, 3) == str(curtask->comm, 3)",
    "[]": "({0})[1] == (char)curtask->comm[1]",
    "member": "((struct task_struct *)((uint64){0} - offsetof(struct task_struct, comm)))->pid == curtask->pid",
    "strlen": "strlen({0}) == strlen(comm)",
}


def clause(kind, target, ways, reads):
    """Counts the firings and, for each way and function, those in which it has given what it should."""
    where = kind.format(target=target)
    mine = "" if kind.startswith(OF_ALL) else "/ pid == cpid /"
    name = kind.split(":{")[0]
    sums = [f'@["{name} {way} {read}"] = sum({READS[read].format(WAYS[way])});' for way in ways for read in reads]
    return "\n".join([f'{where} {mine} {{ {BEFORE} @firings["{name}"] = count();', *sums, "}\n"])


def wrong(kinds, ways, reads):
    """The combinations that have given something else, and the messages; each kind has to fire."""
    target = program(TARGET, "-g")
    text = "".join(clause(kind, target, ways, reads) for kind in kinds)
    done = sonde("bt", "-q", "--no-warnings", "-e", text, "-c", target)
    shown = {name: int(count) for name, count in re.findall(r"^@\w*\[(.*)\]: (\d+)", done.stdout, re.MULTILINE)}
    found = []
    for kind in kinds:
        name = kind.split(":{")[0]
        firings = shown[name]
        found += [key for way in ways for read in reads if shown[key := f"{name} {way} {read}"] != firings]
    return found, done.stderr


def test_the_kernel_s_memory_is_read_at_system_calls():
    kinds = [kind for kind in KINDS if "syscalls" in kind]
    assert wrong(kinds, ("pointer", "variable", "kptr"), ("str", "member")) == ([], "")


@pytest.mark.long
@pytest.mark.parametrize("read", READS)
def test_the_kernel_s_memory_is_read_everywhere(read):
    assert wrong(KINDS, WAYS, [read]) == ([], "")


KEPT = """
tracepoint:syscalls:sys_enter_openat / pid == cpid && strncmp(str(args.filename), "text", 4) == 0 / {
    @pointer = args.filename; @number = (uint64)args.filename; @either = args.filename;
    @own = (str(args.filename), str((uint64)args.filename), str((char *)(void *)args.filename), str(uptr(@number)));
}
tracepoint:raw_syscalls:sys_enter / pid == cpid && args.id == 257 / {
    $raw = str(uptr(args.args[1]));
    if ($raw == "text of the process") { @raw = $raw; }
}
tracepoint:syscalls:sys_exit_openat / pid == cpid && @pointer / {
    @left = (str(@pointer), str(@number), str(@either), strlen((int8 *)@number));
}
tracepoint:raw_syscalls:sys_exit / pid == cpid && @pointer / {
    @behind = (str(@pointer), str(@number), str((int8 *)@number));
    @either = (char *)&curtask->comm;
    @of_kernel = str(@either) == comm;
}
"""


def test_the_process_s_memory_is_read_where_addresses_are_kept():
    done = sonde("bt", "-q", "--no-warnings", "-e", KEPT, "-c", program(TARGET, "-g"))
    text = "text of the process"
    for name, wanted in {
        "own": ", ".join([text] * 4), "left": ", ".join([text] * 3) + f", {len(text)}",
        "behind": ", ".join([text] * 3), "raw": text, "of_kernel": "true",
    }.items():  # fmt: skip
        assert re.search(rf"^@{name}: \(?{wanted}\)?$", done.stdout, re.MULTILINE), done.stdout
