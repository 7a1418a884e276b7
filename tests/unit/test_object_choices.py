"""What is chosen of an object: sizes of maps, which programs are loaded, and where they are attached."""

import struct

import pytest
from support.bpf.bpf_objects import BOTH, Writer, compiled
from support.machine import packages
from test_object_linking import RETURN, NoKernel

from sonde.bpf import instructions as i
from sonde.bpf import maps, programs
from sonde.model.probe import KernelFunction, RawTracepoint, Timer, Tracepoint
from sonde.objects.choices import Words, given_choices
from sonde.objects.errors import ObjectError
from sonde.objects.front_end import loadable
from sonde.objects.reading import read_object
from sonde.session.harm import harm


def chosen(data, *, kernel=None, **words):
    return loadable(read_object(data), kernel or NoKernel(), given_choices(Words(**words), None))


def refused(data, **choices):
    with pytest.raises(ObjectError) as caught:
        chosen(data, **choices)
    return f"{caught.value.text}\n{caught.value.hint}"


def written(*sections):
    """An object with a program in each of these sections: `p0`, `p1` and so on."""
    writer = Writer()
    for number, section in enumerate(sections):
        writer.function(f"p{number}", writer.code(section, RETURN), len(RETURN))
    return writer.build()


SIX = written("raw_tp/sys_enter", "?raw_tp/sys_exit", "tp/sched/sched_switch", "kprobe", "perf_event", "iter/task")


@pytest.mark.parametrize(
    ("choices", "names"),
    [
        ({}, "p0 p2 p3 p4 p5"),
        ({"states": ["p1=on"]}, "p0 p1 p2 p3 p4 p5"),
        ({"states": ["p*=off", "p1=on"]}, "p1"),
        ({"states": ["p[0-3]=off"]}, "p4 p5"),
        ({"states": ["p?=on", "p0=off"]}, "p1 p2 p3 p4 p5"),
        ({"places": ["p1=sched_switch"]}, "p0 p1 p2 p3 p4 p5"),
        ({"places": ["p1=sched_switch"], "states": ["p1=off"]}, "p0 p2 p3 p4 p5"),
    ],
)
def test_programs_are_loaded_as_their_sections_and_options_say(choices, names):
    made = chosen(SIX, **choices)
    assert [each.name for each in made.spec.programs] == names.split()
    assert list(made.requests) == names.split()


@pytest.mark.parametrize(
    ("place", "firings"),
    [
        (("p0=sched_switch",), [RawTracepoint("sched_switch")]),
        (("p0=sched_switch", "p0=sys_exit"), [RawTracepoint("sched_switch"), RawTracepoint("sys_exit")]),
        (("p2=irq/irq_handler_entry",), [Tracepoint("irq", "irq_handler_entry")]),
        (("p4=10ms",), [Timer(10**7, True)]),
        (("p3=vfs_read+0x4",), [KernelFunction("vmlinux", "vfs_read", False, False, True, 4)]),
    ],
)
def test_a_program_is_attached_where_the_option_says(place, firings, monkeypatch):
    monkeypatch.setattr("sonde.objects.traceable_code.TraceableCode.traceable", lambda self, name: [])
    made = chosen(SIX, places=place)
    name = place[0].partition("=")[0]
    (program,) = (each for each in made.spec.programs if each.name == name)
    assert [each.probe.firing for each in program.probes] == firings


def test_programs_that_nothing_fires_are_known():
    assert list(chosen(SIX).idle) == ["p3"]
    for kind in ("uprobe", "uretprobe", "usdt", "kprobe.multi", "uprobe.multi", "ksyscall", "tracepoint", "raw_tp"):
        assert list(chosen(written(kind)).idle) == ["p0"], kind


def test_an_iterator_knows_its_function_and_map():
    writer = Writer()
    for number, section in enumerate(("iter/task", "iter.s/bpf_map_elem:counts")):
        writer.function(f"p{number}", writer.code(section, RETURN), len(RETURN))
    writer.symbol("counts", writer.section("maps", struct.pack("<5I", maps.ARRAY, 4, 8, 1, 0)))
    made = chosen(writer.build())
    assert [(each.attach_to, each.attach_type) for each in made.spec.programs] == [
        ("bpf_iter_task", programs.TRACE_ITER), ("bpf_iter_bpf_map_elem", programs.TRACE_ITER),
    ]  # fmt: skip
    assert [made.requests[name].iterated for name in ("p0", "p1")] == ["", "counts"]
    assert "map counts, which the object has not" in refused(written("iter/bpf_map_elem:counts"))


def test_system_calls_are_functions_of_the_kernel(monkeypatch):
    monkeypatch.setattr("sonde.objects.traceable_code.TraceableCode.traceable", lambda self, name: [("vmlinux", True)])
    made = chosen(written("ksyscall/getppid", "kretsyscall/openat"))
    assert [each.probes[0].probe.firing for each in made.spec.programs] == [
        KernelFunction("vmlinux", "__x64_sys_getppid", False, True, True),
        KernelFunction("vmlinux", "__x64_sys_openat", True, True, True),
    ]


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        ({"states": ["p9=off"]}, ["--program p9", "p0, p1, p2"]),
        ({"states": ["p0=never"]}, ["--program p0=never", "--program NAME=off"]),
        ({"states": ["p*=off"]}, ["none of its programs", "--program p0=on"]),
        ({"places": ["p9=x"]}, ["--attach p9", "p0, p1, p2"]),
        ({"places": ["p0"]}, ["--attach p0", "--attach PROGRAM=PLACE"]),
        ({"places": ["p5=task", "p5=task_file"]}, ["attached to one place", "2 are given"]),
        ({"sizes": ["counts=5"]}, ["--map counts", "its maps: none"]),
        ({"sizes": ["counts"]}, ["--map counts", "--map NAME=NUMBER"]),
        ({"sizes": ["counts=0"]}, ["--map counts=0", "--map NAME=NUMBER"]),
        ({"sizes": [f"counts={1 << 32}"]}, ["--map counts=", "--map NAME=NUMBER"]),
    ],
)
def test_a_choice_that_fits_nothing_is_told(choices, words):
    text = refused(SIX, **choices)
    assert all(word in text for word in words), text


MAPS = """
struct { __uint(type, 1); __type(key, u32); __type(value, u64); } start SEC(".maps");
struct { __uint(type, 2); __uint(max_entries, 4); __type(key, u32); __type(value, u64); } counts SEC(".maps");
struct { __uint(type, 7); __type(key, u32); } stacks SEC(".maps");
struct { __uint(type, 7); __type(key, u32); __uint(map_flags, 32); } built SEC(".maps");
struct { __uint(type, 29); __uint(map_flags, 1); __type(key, int); __type(value, u64); } local SEC(".maps");
SEC("raw_tp/sys_enter") int first(void *context)
{
    u32 key = 1;
    return bpf_map_lookup_elem(&start, &key) != bpf_map_lookup_elem(&counts, &key);
}
"""


@pytest.mark.parametrize("compiler", BOTH)
def test_maps_get_the_sizes_that_are_given(compiler):
    with open(compiled(MAPS, compiler), "rb") as file:
        data = file.read()
    text = refused(data, sizes=["counts=8"])
    assert all(f"--map {name}=10240" in text for name in ("start", "stacks", "built")), text
    assert "have no number of elements" in text
    assert "counts" not in text
    assert "local" not in text
    made = chosen(data, sizes=["start=100", "counts=8", "stacks=0x40", "built=7"])
    sizes = {each.name: (each.max_entries, each.value_size) for each in made.spec.maps}
    assert {name: sizes[name] for name in ("start", "counts", "stacks", "built", "local")} == {
        "start": (100, 8), "counts": (8, 8), "stacks": (64, 127 * 8), "built": (7, 127 * 32), "local": (0, 8),
    }  # fmt: skip
    assert "elements are made as they are needed" in refused(data, sizes=["start=1", "stacks=1", "built=1", "local=5"])


@packages.needs("clang")
def test_a_program_of_an_array_has_to_be_loaded():
    source = """
    extern int second(void *);
    struct { __uint(type, 3); __uint(max_entries, 2); __uint(key_size, 4); __array(values, int (void *)); }
        next SEC(".maps") = { .values = { [1] = (void *)&second } };
    SEC("raw_tp") int second(void *context) { return 0; }
    SEC("raw_tp/sys_enter") int first(void *context) { bpf_tail_call(context, &next, 1); return 0; }
    """
    with open(compiled(source, "clang"), "rb") as file:
        data = file.read()
    assert list(chosen(data).idle) == []
    text = refused(data, states=["second=off"])
    assert "map next is to hold program second, which is not loaded" in text


def test_code_that_cannot_run_here_is_not_called_destructive():
    """What stands for a field that the kernel has not is a call of no helper, which nobody can come to."""
    from sonde.bpf.helpers import NUMBERS, POISON

    def spec(number):
        code = [i.call(number), *RETURN]
        writer = Writer()
        writer.function("program", writer.code("raw_tp/sys_enter", code), len(code))
        return chosen(writer.build()).spec

    assert harm(spec(POISON + 7)) == ""
    assert "bpf_send_signal" in harm(spec(NUMBERS["send_signal"]))
    assert "helper#" in harm(spec(POISON - 1))
    assert "helper#" in harm(spec(POISON + (1 << 16)))


HIDDEN = """
__attribute__((noinline, visibility("hidden"))) int shared(u64 *pointer) { return pointer ? (int)*pointer : 0; }
__attribute__((noinline)) int seen(int number) { return number + 1; }
SEC("raw_tp/sys_enter") int program(u64 *context)
{
    u64 number = context[1];
    return shared(&number) + seen((int)number);
}
"""


@packages.needs("clang")
def test_hidden_functions_are_static_to_the_kernel():
    """gcc 12 does not say which functions have which types: then the kernel takes all of them for static."""
    from sonde.bpf.btf import FUNC, Btf

    with open(compiled(HIDDEN, "clang"), "rb") as file:
        (program,) = chosen(file.read()).spec.programs
    types = Btf(program.btf)
    linkage = {name: types.type(types.find(name, FUNC)).linkage for name in ("shared", "seen", "program")}
    assert linkage == {"shared": 0, "seen": 1, "program": 1}
    assert len(struct.unpack(f"<{len(program.func_info) // 4}I", program.func_info)) == 6


def test_a_file_is_read_once_for_all_programs(monkeypatch):
    from sonde.objects import traceable_code

    read, paths = traceable_code._read, []
    monkeypatch.setattr(traceable_code, "_read", lambda path: (paths.append(path), read(path))[1])
    places = [f"p{number}=libc.so.6:{name}" for number in range(3) for name in ("getppid", "getpid", "read")]
    made = chosen(written("uprobe", "uretprobe", "uprobe"), places=places)
    assert [len(each.probes) for each in made.spec.programs] == [3, 3, 3]
    assert len(paths) == 1
