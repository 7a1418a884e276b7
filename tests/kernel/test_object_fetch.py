"""bpf_fetch_variables() in objects of both compilers: what programs ask for, where they ask for it, no more."""

import subprocess

import pytest
from support.bpf.bpf_objects import BOTH, COMPILERS, HEADERS, built, compiled, config
from support.command import command
from support.machine import packages

pytestmark = packages.needs("gcc")

PROGRAM = """
struct inner { char tag[8]; int depth; };
struct request { long id; struct inner in; struct inner *next; short sizes[4]; };
__attribute__((noinline)) long work(struct request *r, int n, signed char c)
{
    __asm__ volatile("" ::: "memory");
    return r->id + n + c;
}
int main(void)
{
    static struct inner deep = { "deep", 42 };
    long sum = 0;
    for (int i = 0; i < 5; i++) {
        struct request r = { 100 + i, { "tag", 7 }, i == 3 ? 0 : &deep, { 1, -2, 3, -4 } };
        sum += work(&r, -i, -5);
    }
    return sum == 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return built(PROGRAM, tmp_path_factory.mktemp("program") / "program")


def run(source, compiler, program, status=0):
    return command.sonde("--object", compiled(source, compiler), "-c", program, status=status)


VARIABLES = "work=work n c r->id r->in.tag r->next->depth"
STRUCTURE = """
struct work { int n; signed char c; long id; char tag[8]; int depth; };
"""
CALLS = {
    "in the program": """
    SEC("work") int on_work(void *context)
    {
        struct work w;
        long error = bpf_fetch_variables(context, &w, sizeof w);
        bpf_printk("%d %d %ld", w.n, w.c, w.id); bpf_printk("%s %d %ld", w.tag, w.depth, error);
        return 0;
    }""",
    "in a subprogram": """
    static __attribute__((noinline)) long asked(void *context, struct work *w)
    { return bpf_fetch_variables(context, w, sizeof *w); }
    SEC("work") int on_work(void *context)
    {
        struct work w;
        long error = asked(context, &w);
        bpf_printk("%d %d %ld", w.n, w.c, w.id); bpf_printk("%s %d %ld", w.tag, w.depth, error);
        return 0;
    }""",
    "in a global function below another": """
    struct work w; long error;
    __attribute__((noinline)) int lower(void *context)
    { error = bpf_fetch_variables(context, &w, sizeof w); return 0; }
    __attribute__((noinline)) int upper(void *context) { return lower(context) + 1; }
    SEC("work") int on_work(void *context)
    {
        if (upper(context) != 1) return 0;
        bpf_printk("%d %d %ld", w.n, w.c, w.id); bpf_printk("%s %d %ld", w.tag, w.depth, error);
        return 0;
    }""",
    "into a record": """
    struct { __uint(type, 27); __uint(max_entries, 65536); } ring SEC(".maps");
    SEC("work") int on_work(void *context)
    {
        struct work *w = bpf_ringbuf_reserve(&ring, sizeof *w, 0);
        long error;
        if (!w) return 0;
        error = bpf_fetch_variables(context, w, sizeof *w);
        bpf_printk("%d %d %ld", w->n, w->c, w->id); bpf_printk("%s %d %ld", w->tag, w->depth, error);
        bpf_ringbuf_discard(w, 0);
        return 0;
    }""",
    "into the element of a map": """
    struct { __uint(type, 2); __uint(max_entries, 1); __type(key, u32); __type(value, struct work); } map SEC(".maps");
    SEC("work") int on_work(void *context)
    {
        u32 key = 0; struct work *w = bpf_map_lookup_elem(&map, &key);
        long error;
        if (!w) return 0;
        error = bpf_fetch_variables(context, w, sizeof *w);
        bpf_printk("%d %d %ld", w->n, w->c, w->id); bpf_printk("%s %d %ld", w->tag, w->depth, error);
        return 0;
    }""",
    "by the helper's number": """
    HELPER(65536, long, bpf_fetch_by_number, void *context, void *place, u64 size);
    SEC("work") int on_work(void *context)
    {
        struct work w;
        long error = bpf_fetch_by_number(context, &w, sizeof w);
        bpf_printk("%d %d %ld", w.n, w.c, w.id); bpf_printk("%s %d %ld", w.tag, w.depth, error);
        return 0;
    }""",
    "twice, and as a parameter": """
    SEC("work") int on_work(void *context, struct on_work_parameters *all, long error)
    {
        struct work w = {}, again = {};
        bpf_fetch_variables(context, &w, sizeof w);
        error += bpf_fetch_variables(context, &again, sizeof again);
        if (error == -28) error = -14;
        bpf_printk("%d %d %ld", again.n, w.c, all->r_id); bpf_printk("%s %d %ld", w.tag, again.depth, error);
        return 0;
    }""",
}
PARAMETERS = """
struct on_work_parameters { int n; signed char c; long r_id; char r_in_tag[8]; int r_next_depth; };
"""
EXPECTED = [
    line
    for n in range(5)
    for line in (f"{-n} -5 {100 + n}", "tag 0 -14" if n == 3 else "tag 42 0")
]  # fmt: skip


@pytest.mark.share(1)
@pytest.mark.parametrize("where", CALLS)
@pytest.mark.parametrize("compiler", BOTH)
def test_variables_are_fetched_where_the_program_asks(compiler, where, program):
    """What cannot be read, here behind a null pointer, is zeros and an error."""
    source = config(program, VARIABLES) + STRUCTURE + PARAMETERS + CALLS[where]
    assert run(source, compiler, program).stdout.splitlines() == EXPECTED


@pytest.mark.share(1)
@pytest.mark.parametrize("compiler", BOTH)
def test_a_larger_place_has_zeros_behind(compiler, program):
    source = (
        config(program, "work=work n")
        + """
    struct larger { int n; int behind[5]; };
    SEC("work") int on_work(void *context)
    {
        struct larger w;
        long sum = 0;
        __builtin_memset(&w, 1, sizeof w);
        bpf_fetch_variables(context, &w, sizeof w);
        for (int i = 0; i < 5; i++) sum |= w.behind[i];
        bpf_printk("%d %ld", w.n, sum);
        return 0;
    }"""
    )
    assert run(source, compiler, program).stdout.splitlines() == [f"{-n} 0" for n in range(5)]


@pytest.mark.share(1)
@pytest.mark.parametrize("compiler", BOTH)
def test_what_is_not_asked_for_is_not_fetched(compiler, program):
    """A function that takes the context alone has no instruction that reads the process, unless it asks."""
    asks = "struct work w; if (context) bpf_fetch_variables(context, &w, sizeof w);"
    listings = []
    for body in ("", asks):
        source = (
            config(program, VARIABLES) + STRUCTURE + f'SEC("work") int on_work(void *context) {{ {body} return 0; }}'
        )
        listings.append(command.sonde("--object", compiled(source, compiler), "--disasm", "-e", status=0).stdout)
    assert ["probe_read_user" in each for each in listings] == [False, True]


@pytest.mark.share(1)
@pytest.mark.parametrize("compiler", BOTH)
def test_branches_that_do_not_ask_do_not_fail(compiler, program):
    """The fetch that fails in the fourth call happens in odd calls alone."""
    source = (
        config(program, "work=work r->next->depth n")
        + """
    int calls;
    struct work { int depth; int n; };
    SEC("work") int on_work(void *context)
    {
        struct work w;
        if (++calls & 1)
            bpf_printk("%ld", bpf_fetch_variables(context, &w, sizeof w));
        return 0;
    }"""
    )
    assert run(source, compiler, program).stdout.splitlines() == ["0", "0", "0"]


CALL = "work=syscall/clock_nanosleep which_clock flags rqtp->tv_sec rqtp->tv_nsec"
"""What the embedded engine fires: a line at a system call, here of 24 bytes."""


def lines_of(engine, program):
    """A config with variables that take 28 or 24 bytes."""
    if engine == "kernel":
        return config(program, VARIABLES)
    return f'char lines[] SEC("config") = "{CALL}\\n";\n'


@pytest.mark.share(1)
@pytest.mark.parametrize("engine", ["kernel", "embedded"])
@pytest.mark.parametrize("compiler", BOTH)
def test_the_room_is_proven(compiler, engine, program):
    """By both verifiers; the message says how many bytes are needed and where the call stands."""
    source = (
        lines_of(engine, program)
        + STRUCTURE
        + """
    SEC("work") int on_work(void *context)
    {
        struct work w;
        bpf_fetch_variables(context, &w, sizeof w);
        return w.n + bpf_fetch_variables(context, &w, 20);
    }"""
    )
    object_ = compiled(source, compiler)
    done = command.sonde("verify", "-xengine=" + engine, object_, status=1)
    assert f"take {28 if engine == 'kernel' else 24} bytes" in command.unwrapped(done.stderr)
    line = source[: source.index("return w.n")].count("\n") + 3
    if compiler == "clang":
        assert f"program.c:{line}: " in done.stderr
    if engine == "kernel":
        refused = run(source, compiler, program, status=1).stderr
        assert "the variables of on_work take 28 bytes, and bpf_fetch_variables() gets room for fewer" in refused
        assert "make it 28 bytes" in refused
        assert compiler == "gcc" or f"program.c:{line}\n" in refused


@pytest.mark.share(1)
@pytest.mark.parametrize("engine", ["kernel", "embedded"])
@pytest.mark.parametrize("compiler", BOTH)
def test_a_place_smaller_than_its_size_is_refused(compiler, engine, program):
    source = (
        lines_of(engine, program)
        + """
    SEC("work") int on_work(void *context)
    { char place[24]; bpf_fetch_variables(context, place, 32); return place[3]; }"""
    )
    done = command.sonde("verify", "-xengine=" + engine, compiled(source, compiler), status=1)
    assert "writes up to 32 bytes" in done.stderr
    if engine == "kernel":
        assert "the kernel refuses program on_work" in run(source, compiler, program, status=1).stderr


@pytest.mark.share(1)
@pytest.mark.parametrize(
    ("source", "said"),
    [
        ('SEC("raw_tp/sys_enter") int entry(void *c) { long w; return bpf_fetch_variables(c, &w, 8); }',
         "program entry calls bpf_fetch_variables in entry, and no probe line says which variables it has"),
        ('SEC("raw_tp/sys_enter") int entry(void *c) { return bpf_get_stackid(c, bpf_fetch_variables, 0); }',
         "takes the address of bpf_fetch_variables, which can only be called"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("compiler", BOTH)
def test_what_makes_no_sense_is_explained(compiler, source, said):
    stacks = "HELPER(27, long, bpf_get_stackid, void *context, void *map, u64 flags);\n"
    done = command.sonde("--object", compiled(stacks + source, compiler), "-e", status=1)
    assert said in done.stderr


JOBS = [(id, 1000 << id, ("ada", "grace")[id % 2], attempt) for id in range(1, 8) for attempt in range(1, 2 + id % 3)]


@pytest.fixture(scope="module")
def queue(tmp_path_factory):
    return command.build(tmp_path_factory.mktemp("queue"), "queue", (HEADERS / "queue.c").read_text(), "-g", "-O2")


@pytest.mark.share(1)
@pytest.mark.parametrize("every", [1, 3])
@pytest.mark.parametrize("compiler", BOTH)
def test_the_example(compiler, every, queue, tmp_path):
    """examples/jobs.c says what examples/queue.c does."""
    object_ = str(tmp_path / "jobs.o")
    define = f'-DPROGRAM="{queue}"'
    subprocess.run([*COMPILERS[compiler], define, "-c", str(HEADERS / "jobs.c"), "-o", object_], check=True)
    words = [] if every == 3 else ["-D", f"every={every}"]
    output = command.sonde("--object", object_, "--dump", *words, "-c", queue).stdout
    waiting, told = 7, []
    for job, size, owner, attempt in JOBS:
        told.append(f'served: {{.attempt = {attempt}, .job_id = {job}, .job_size = {size}, '
                    f'.job_owner_name = "{owner}", .waiting = {waiting}}}')  # fmt: skip
        waiting -= attempt == 1
    assert [each for each in output.splitlines() if each.startswith("served")] == told[::every]
    assert f"jobs = {len(JOBS)}" in output.splitlines()
    for path in (HEADERS / "jobs.c", HEADERS / "queue.c"):
        assert max(map(len, path.read_text().splitlines())) <= 80
