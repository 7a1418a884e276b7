"""A command for each module that the examples do not execute, and what it prints: the module is executed then."""

import os
import subprocess
import sys

import pytest
from support.bpf.bpf_objects import BOTH, compiled
from support.command.command import SONDE, build, environment, unwrapped
from support.files.capture_files import pcap
from support.machine import compilers, packages
from support.places import EXAMPLES
from support.suite.executed import modules, noting
from test_recorded_static_probes import NONE, PROGRAM


def executed(directory, words, program=SONDE):
    """What the command prints, all of it as one line, and the modules that it executes."""
    notes = directory / "notes" / "modules"
    notes.parent.mkdir(exist_ok=True)
    around = {**environment(), **noting(notes)}
    done = subprocess.run([program, *words], capture_output=True, text=True, cwd=directory, env=around)
    if "SONDE_EXECUTED" in os.environ:
        with open(os.environ["SONDE_EXECUTED"], "a") as file:
            file.write(notes.read_text())
    return unwrapped(done.stdout + done.stderr), modules(notes)


C_PROGRAM = """
#define SEVEN (N + 4)
#define N 3
    struct one { char c; struct list_head list; };
    begin {
        $bytes = (int8[8])12345; $same = $bytes == (int8[8])12345;
        printf("%d %d %d %d\\n", SEVEN, EINVAL, offsetof(struct one, list), $bytes[0]);
        print(container_of((struct list_head *)1000, struct one, list));
    }
"""

CONNECTS = 'from socket import *; socket(AF_INET, SOCK_DGRAM).connect(("127.0.0.1", 9))'

TEXTS = {
    "codegen.routines.strings": (["-qn", 'BEGIN /execname < "~"/ { trace("before"); exit(0); }'], "before"),
    "codegen.routines.waiting": (["-wqn", 'BEGIN { chill(1000); trace("waited"); exit(0); }'], "waited"),
    "codegen.subroutines.ancestors": (
        ["-qn", 'BEGIN { trace(progenyof($ppid) ? "own" : "other"); exit(0); }'], "own",
    ),
    "engines.embedded.sources.argument_reads": (
        ["--engine", "embedded", "--record", "it", "--record-reads", "-qn",
         'syscall::openat:entry { n++; } END { printf("%d opened", n); }', "-c", "cat /dev/null"], "opened",
    ),
    **dict.fromkeys(
        ("arch.x86_64.perf_registers", "engines.embedded.sources.sampling"),
        (["--engine", "embedded", "-xsampling=running", "-qn",
          'profile-997 /arg1/ { @[ustack(1)] = count(); } END { trace("sampled"); }', "-c",
          "sh -c 'i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done'"], "sampled"),
    ),
    "codegen.expressions.kept_stacks": (
        ["--record", "it", "--record-stacks", "4096", "-qn",
         'syscall::openat:entry { @[ustack(2)] = count(); } END { trace("kept"); }', "-c", "cat /dev/null"], "kept",
    ),
    "frontends.bpftrace.check.header_constants": (
        ["bt", "-q", "-e", "#include <net/sock.h>\nbegin { print(DT_REG); exit(); }"], "8",
    ),
    "codegen.firings.widening": (
        ["--record", "it", "--record-reads", "-qn",
         'syscall::openat:entry { n++; } END { printf("%d opened", n); }', "-c", "cat /dev/null"], "opened",
    ),
    "frontends.bpftrace.check.config_record": (["bt", "-e", "begin { print(config()); }"], ".max_map_keys = 4096"),
    "frontends.bpftrace.check.kernel_log": (["bt", "-e", 'begin { debugf("x"); }'], "not recommended"),
    "codegen.records.kernel_log": (["bt", "--no-warnings", "-e", 'begin { debugf("x"); print(7); }'], "7"),
    "codegen.subroutines.numbered_tasks": (["bt", "-e", "begin { print(comm(2)); }"], "kthreadd"),
    "frontends.bpftrace.check.held_values": (["bt", "-e", "begin { print(comm(2)); }"], "kthreadd"),
    **dict.fromkeys(
        (
            "frontends.bpftrace.check.saved_packets", "frontends.bpftrace.report.packet_files", "model.packet_files",
            "report.pcap", "codegen.records.captured_packets",
        ),
        (["bt", "-e", 'rawtracepoint:net_dev_queue { $r = skboutput("/dev/null", args.skb, 9, 0); } '
          "begin { print(7); exit(); }"], "7"),
    ),
    "library.bpftrace.dry_runs": (["bt", "--dry-run", "-e", "begin { print(7); }"], ""),
    "frontends.bpftrace.report.json_messages": (
        ["bt", "-f", "json", "-e", 'begin { warnf("seven"); }'], '"msg": "seven"'),
    "frontends.bpftrace.check.called_types": (["bt", "-e", "begin { $x = 1; print($x[0]); }"], "found int8"),
    "frontends.bpftrace.check.unstable": (["bt", "-e", "begin { @ = tseries(1, 1s, 5); }"], "an unstable feature"),
    "frontends.bpftrace.check.overriding": (["bt", "-e", "begin { override(5); }"], "can only be used inside kprobes"),
    "machine.control_groups": (
        ["bt", "--engine", "embedded", "-e", "tracepoint:syscalls:sys_enter_openat { print(cgroup > 0); exit(); }",
         "-c", "cat /dev/null"], "1",
    ),
    "frontends.bpftrace.check.timers": (["bt", "-e", "i:ms:1 { print(7); exit(); }"], "7"),
    "frontends.bpftrace.formatting.layout": (["bt", "--fmt", "-e", "begin{exit()}"], "begin { exit() }"),
    "library.bpftrace.usual_layout": (["bt", "--fmt", "-e", "begin{exit()}"], "begin { exit() }"),
    "frontends.bpftrace.check.unwatched": (["bt", "-e", "begin { unwatch(7); print(8); }"], "8"),
    "frontends.bpftrace.check.type_information": (
        ["bt", "-e", "config = { unstable_typeinfo = enable } begin { print(typeinfo(7)); }"], ".base_type = int"),
    "frontends.bpftrace.check.counted_events": (["bt", "-e", "software:faults:1 { exit(); }"], "Attached 1 probe"),
    "frontends.bpftrace.check.watchpoints": (
        ["bt", "-e", "watchpoint:0x1000:4:x { } interval:ms:1 { exit(); }"], "Attached 2 probes",
    ),
    "frontends.bpftrace.check.kernel_functions": (["bt", "-e", "kprobe:nosuch { }"], "No matches for kprobe nosuch"),
    "frontends.bpftrace.check.trials": (["bt", "--test", "-e", "test:own { }"], "1 test ran."),
    "frontends.bpftrace.report.trials": (["bt", "--bench", "-e", "bench:own { }"], "Iterations"),
    "session.watchers": (
        ["export", "--listen", "0", "--folded", "f", "-n", "BEGIN { @[execname, stack()] = count(); exit(0); }"],
        "metrics are at http://127.0.0.1:"),
    "providers.watched": (["-qn", "perf:breakpoint::0x1000-8-w-1 { } tick-1ms { exit(0); }"], ""),
    "frontends.bpftrace.check.iterators": (["bt", "-e", "iter:task { @threads = count(); }"], "@threads:"),
    "providers.iterators": (["-qn", 'iter:::task { n = 1; } END { printf("%d it is", n); }'], "1 it is"),
    "codegen.firings.iterator": (["-qn", 'iter:::task { n = 1; } END { printf("%d it is", n); }'], "1 it is"),
    "engines.kernel.iterators": (["-qn", 'iter:::task { n = 1; } END { printf("%d it is", n); }'], "1 it is"),
    "codegen.expressions.aggregated": (["bt", "-e", "begin { @ = sum(7); print((@, 1)); }"], "(7, 1)"),
    "codegen.routines.totals": (["bt", "-e", "begin { @ = max(7); print((@, 1)); }"], "(7, 1)"),
    "codegen.clauses.elements": (["bt", "-e", "begin { @[1] = 7; for ($kv : @) { print($kv); } }"], "(1, 7)"),
    "frontends.bpftrace.check.addresses": (["bt", "-e", 'begin { print(kfunc_exist("schedule")); }'], "true"),
    "codegen.expressions.byte_arrays": (["bt", "-e", 'begin { print(pton("127.0.0.1")); }'], "[127,0,0,1]"),
    "frontends.bpftrace.check.buffers": (["bt", "-e", 'begin { print(buf("abc", 2)); }'], "ab"),
    "frontends.bpftrace.check.stacks": (["bt", "-e", "begin { print(ustack(raw, 1)); }"], "Attached"),
    "frontends.bpftrace.report.allocation_flags": (["bt", "-e", 'begin { printf("%gr", 1); }'], "GFP_DMA"),
    "frontends.bpftrace.report.control_groups": (
        ["bt", "-e", 'begin { printf("<%s>", cgroup_path(0, "none")); }'], "<>",
    ),
    "frontends.bpftrace.report.series": (["bt", "-e", "begin { @ = tseries(7, 1s, 3); }"], "hh:mm:ss.ns"),
    "frontends.bpftrace.report.objects": (["bt", "-e", "begin { print(ksym(7)); }"], "0x7"),
    "frontends.bpftrace.check.subprograms": (
        ["bt", "-e", "fn twice($a : int64): int64 { return $a * 2; } begin { print(twice(7)); }"], "14",
    ),
    "frontends.bpftrace.check.failing": (["bt", "-e", 'begin { assert(pid == 1, "one"); }'], "assert failed: one"),
    "frontends.bpftrace.check.joining": (
        ["bt", "-e", "t:syscalls:sys_enter_execve { join(args.argv); }", "-c", "sh -c 'exec echo one two'"], "one two",
    ),
    "frontends.bpftrace.check.predicates": (["bt", "-e", "begin { print(is_ptr(7)); }"], "false"),
    "frontends.bpftrace.check.signals": (["bt", "-e", "begin { signal(7); }"], "can not be used"),
    "frontends.bpftrace.check.tasks": (["bt", "-e", "begin { print(pid(curr_ns) == pid); }"], "true"),
    "frontends.bpftrace.check.texts": (["bt", "-e", 'begin { print(strstr("abc", "bc")); }'], "1"),
    "frontends.bpftrace.check.definitions.declarations": (["bt", "--include", "errno.h", "-e", C_PROGRAM], "7 22 8 57"),
    "cli.bt_info": (["bt", "--info"], "perf_event: yes"),
    "frontends.bpftrace.syntax.shown_tree": (["bt", "-d", "ast,dis", "-e", "begin { @[7] = 8; }"], "keys: Number 1:11"),
    "cli.bt_listing": (["bt", "-lv", "struct css_task_iter"], "cset_pos"),
    "frontends.bpftrace.check.listing": (["bt", "-l", "software:*"], "software:cpu:"),
    "frontends.bpftrace.check.user_probes": (["bt", "-l", "-e", "uprobe:libc:fopen { }"], ":fopen"),
    "frontends.bpftrace.report.json_objects": (["bt", "-f", "json", "-e", "begin { print(7); }"], '"data": 7'),
    "frontends.bpftrace.check.folded_texts": (["bt", "-e", 'begin { print("a" + "b"); }'], "ab"),
    "frontends.bpftrace.check.number_names": (["bt", "-e", "begin { print(strerror(22)); }"], "Invalid argument"),
    "frontends.bpftrace.report.number_forms": (["bt", "-e", 'begin { print(strftime("%%", 0)); }'], "%"),
    "frontends.bpftrace.report.outside": (["bt", "-e", 'begin { time("at %%H"); }'], "at %H"),
    "frontends.d.check.described": (["-n", "BEGIN { trace(uid[1, 2]); }"], "cannot access"),
    "frontends.d.check.undefined": (["-n", "BEGIN /self->x/ { trace(self->y); self->x = 1; }"], "self->y has not"),
    "frontends.d.check.untranslated": (["-n", "syscall::read:entry { trace(curpsinfo->pr_pctmem); }"], "pr_pctmem"),
    "frontends.d.ctf": (["-xctypes=types", "-qn", "struct pair { int a; }; BEGIN { exit(0); }"], ""),
    "library.inspection.type_files": (["-xdtypes=types", "-qn", "struct pair { int a; }; BEGIN { exit(0); }"], ""),
    "notation.sockets": (
        ["-s", f"{EXAMPLES}/strace.d", "-c", f"'{sys.executable}' -c '{CONNECTS}'"], "sin_port=htons(9)",
    ),
    "report.dates": (["-qn", 'BEGIN { printf("%Y", walltimestamp); exit(0); }'], "20"),
}  # fmt: skip
"""By module: the words of a command, and a part of what it prints."""


@pytest.mark.share(1)
@pytest.mark.parametrize("module", TEXTS)
def test_a_command_executes_the_module(module, tmp_path):
    words, shown = TEXTS[module]
    output, found = executed(tmp_path, words)
    assert shown in output
    assert module in found


ATTEMPTS = """
#include <stdlib.h>
struct job { int id; long size; };
static inline __attribute__((always_inline)) long served(struct job *job) { return malloc(job->size) != NULL; }
__attribute__((noinline)) long serve(struct job *job) { return served(job) + job->id; }
int main(int argc, char **argv) { struct job job = { argc, 11223344 }; return serve(&job) == 7; }
"""

UNSAFE = 'SEC("raw_tp/sys_enter") int reads(void *context) { return *(int *)16; }'

MAPS = """
struct { __uint(type, 22); __uint(max_entries, 4); __uint(value_size, 4); } jobs SEC(".maps");
struct { __uint(type, 7); __uint(max_entries, 64); __uint(key_size, 4); __uint(value_size, 1016); } stacks SEC(".maps");
HELPER(27, long, get_stack, void *context, void *map, u64 flags);
HELPER(87, long, push, void *map, const void *value, u64 flags);
SEC("tracepoint/syscalls/sys_enter_getpid") int walks(void *context)
{
        u32 found = get_stack(context, &stacks, 256);
        push(&jobs, &found, 0);
        bpf_trace_printk("stack %d", 9, found < 64);
        return 0;
}
"""


@pytest.mark.long
def test_a_place_inside_an_inlined_copy_shows_both_functions(tmp_path):
    program = build(tmp_path, "attempts", ATTEMPTS, "-g", "-O2")
    script = "pid$target::malloc:entry /arg0 == 11223344/ { ustack(2); }"
    output, found = executed(tmp_path, ["-xinlines", "-qn", script, "-c", program])
    assert "served" in output
    assert "symbols.dwarf.inlines" in found


def test_a_bpftrace_program_has_the_types_and_variables_of_another(tmp_path):
    program = build(tmp_path, "attempts", f"int attempts_made = 7; {ATTEMPTS}", "-g", "-O1")
    script = f"""uprobe:{program}:serve {{
        print(*uaddr("attempts_made")); print(args); print(((struct job *)args.job)->size);
    }}"""
    output, found = executed(tmp_path, ["bt", "-e", script, "-c", program])
    assert "7 { .job = 0x" in output
    assert "11223344" in output
    names = "all_arguments", "data_addresses", "function_table", "types_of_programs"
    assert {f"frontends.bpftrace.check.{each}" for each in names} <= found


def test_a_saved_bpftrace_program_is_executed(tmp_path):
    saved = str(tmp_path / "saved")
    executed(tmp_path, ["bt", "--aot", saved, "-e", "begin { for $n : 0..7 { print($n); } }"])
    output, found = executed(tmp_path, ["bt", saved])
    assert "5 6" in output
    assert {"library.bpftrace.spec_files", "library.spec_file"} <= found
    # Loops of files are bounded.
    assert {"session.work", "engines.program_work", "engines.kernel.metering"} <= found
    assert {
        f"bpf.work.{each}" for each in ("branching", "costs", "estimate", "graph", "numbers", "states", "steps")
    } <= found


def test_arguments_of_static_probes_are_recorded(tmp_path):
    program = build(tmp_path, "program", PROGRAM, "-g")
    output, found = executed(tmp_path, ["--record", "it", "--record-reads", "-qn", NONE, "-c", program])
    assert "51" in output
    assert "model.static_values" in found


def test_variables_are_shown_as_a_structure(tmp_path):
    program = build(tmp_path, "attempts", ATTEMPTS, "-g", "-O2")
    output, found = executed(tmp_path, ["vars", "--struct", program, "serve"])
    assert "struct job *job;" in output
    assert "symbols.dwarf.structure" in found


@packages.needs("clang")
def test_functions_are_found_by_an_index_of_names(tmp_path):
    program = compilers.built("attempts.c", ATTEMPTS, "clang", "-w", "-O1", "-gdwarf-5", "-gpubnames")
    output, found = executed(tmp_path, ["vars", program, "serve"])
    assert "job" in output
    assert "symbols.dwarf.name_index" in found


@pytest.mark.share(1)
@pytest.mark.parametrize("compiler", BOTH)
def test_why_the_kernels_verifier_refuses_is_told(compiler, tmp_path):
    output, found = executed(tmp_path, ["--object", compiled(UNSAFE, compiler), "-c", "true"])
    assert "refuse" in output
    assert "engines.kernel.refusals" in found


@pytest.mark.share(1)
@pytest.mark.parametrize("compiler", BOTH)
def test_stacks_and_queues_are_maps_without_the_kernel(compiler, tmp_path):
    words = ["--engine", "embedded", "--object", compiled(MAPS, compiler), "-c", "sh -c 'echo $$'"]
    output, found = executed(tmp_path, words)
    assert "stack 1" in output
    assert {"runtime.maps.queue", "runtime.maps.stack_trace", "runtime.maps.jhash"} <= found


@pytest.mark.long
def test_a_file_of_packets(tmp_path):
    (tmp_path / "packets.pcap").write_bytes(pcap([(1, 0, bytes(60), 60)]))
    script = 'packet::ingress: { @ = count(); } END { printa("%@d packets", @); }'
    output, found = executed(tmp_path, ["--engine", "embedded", "--packets", "packets.pcap", "-qn", script])
    assert "1 packets" in output
    assert "formats.pcap_reading" in found
    kept = ["--engine", "embedded", "--packets", "packets.pcap", "--record", "it", "--anonymise", "addresses"]
    _, found = executed(tmp_path, [*kept, "-qn", script])
    assert "recording.packet_pseudonyms" in found
    output, found = executed(tmp_path, ["--replay", "it", "-qn", script])
    assert "1 packets" in output
    assert "engines.embedded.sources.recorded_packets" in found


TEXTS_OF_PYTHON = """
import sonde
from sonde import probe

@probe("BEGIN")
def begun(p):
    print(p.execname.startswith("s"))
    exit(0)

with sonde.run(begun) as run:
    print([event[0] for event in run if isinstance(event, sonde.Record)])
"""


def test_texts_have_methods_in_probes_of_python(tmp_path):
    (tmp_path / "texts.py").write_text(TEXTS_OF_PYTHON)
    shown, found = executed(tmp_path, ["texts.py"], sys.executable)
    assert shown.strip() in ("[0]", "[1]")
    assert "frontends.python.lowering.text_methods" in found


VARIABLES_OF_PYTHON = """
import sonde
from sonde import probe, thread

@probe("BEGIN")
def begun(p):
    print(thread.last)
    thread.last = 5
    exit(0)

with sonde.run(begun) as run:
    print([event[0] for event in run if isinstance(event, sonde.Record)])
"""


def test_probes_of_python_use_variables_before_they_set_them(tmp_path):
    (tmp_path / "variables.py").write_text(VARIABLES_OF_PYTHON)
    shown, found = executed(tmp_path, ["variables.py"], sys.executable)
    assert shown.strip() == "[0]"
    assert "frontends.python.programs.later" in found
