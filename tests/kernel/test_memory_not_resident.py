"""What a system call is given in memory that is not resident is told all the same, completed at the call's return."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.command import absent_memory
from support.command.command import sonde, start, table
from support.suite.example_counts import long_run

pytestmark = pytest.mark.examples

COUNT = 101
PATHS = [f"/never/there/{number}" for number in range(COUNT)]
OPENS = f"for number in range({COUNT}): call(OPENAT, -100, page(number), 0)\n"
OURS = '/pid == $target && strstr(copyinstr(arg1), "/never") != NULL/'


def run(directory, program, body=OPENS, texts=PATHS, touched=False):
    return sonde("-q", "-c", absent_memory.command(directory, body, texts, touched), "-n", program)


def test_a_thousand_opens_of_paths_never_touched_are_all_named(tmp_path):
    texts = [f"/never/there/{number}" for number in range(1009)]
    body = "for number in range(1009): call(OPENAT, -100, page(number), 0)\n"
    done = run(tmp_path, 'syscall::openat:entry /pid == $target/ { printf("%s\\n", copyinstr(arg1)); }', body, texts)
    assert [line for line in done.stdout.splitlines() if line.startswith("/never")] == texts
    assert done.stderr == ""


def test_memory_shown_as_text_is_read_when_it_is_there(tmp_path):
    program = """syscall::openat:entry /pid == $target/ { n++; printf("%s %d\\n", memstr("path", arg1), n); }"""
    done = run(tmp_path, program)
    lines = [line.split() for line in done.stdout.splitlines() if line.startswith('"/never')]
    assert [path for path, _ in lines] == [f'"{path}"' for path in PATHS]
    assert len({number for _, number in lines}) == COUNT
    assert done.stderr == ""


def test_the_pages_are_out_of_reach_at_the_entry(tmp_path):
    """Else the other tests would show nothing. Python itself opens nothing with these flags (O_NOCTTY)."""
    program = """rawtp:::sys_enter /pid == $target && arg1 == 257 && args[0]->dx == 256/ {
            @[copyinstr(args[0]->si)] = count(); }
        ERROR { @faults = count(); } END { printa("%@d faults\\n", @faults); }"""
    done = run(tmp_path, program, OPENS.replace(", 0)", ", 256)"))
    assert done.stdout.split() == [str(COUNT), "faults"]


@pytest.mark.share(1)
@pytest.mark.parametrize(
    "clauses",
    [
        'syscall::openat:entry %s { @["n"] = count(); }',
        "syscall::openat:entry /pid == $target/ { @[substr(copyinstr(arg1), 0, 6)] = count(); }",
        """syscall::openat:entry /pid == $target/ { self->path = copyinstr(arg1); self->at = timestamp; }
           syscall::openat:return /self->at && self->at < timestamp/ { @[substr(self->path, 0, 6)] = count(); }""",
        """syscall::openat:entry /pid == $target/ { this->path = copyinstr(arg1); }
           syscall::openat:entry /pid == $target/ { @[substr(this->path, 0, 6), probefunc, probename] = count(); }""",
        """syscall::openat:entry /pid == $target/ { this->n = 5; n++; }
           syscall::openat:entry /pid == $target/ { this->n += 2; @[this->n, substr(copyinstr(arg1), 0, 6)] = sum(n); }
           syscall::openat:entry /pid == $target/ { @after[this->n] = sum(n); n--; }""",
        """int n; syscall::openat:entry /pid == $target/ { @all = count(); self->n++; n += 3;
               @[substr(copyinstr(arg1), 0, 6)] = sum(self->n + n); }""",
        """syscall::openat:entry /pid == $target && !self->was/ {
               self->was = 1; @[strlen(copyinstr(arg1)) > 5] = count(); }
           syscall::openat:return { self->was = 0; }""",
        """syscall::openat:entry /pid == $target/ {
               n++;
               if (arg2 == 0) { @[substr(copyinstr(arg1), 0, 6)] = sum(n); } else { @other = count(); }
               @last[substr(copyinstr(arg1), 0, 6)] = sum(n); }""",
        """syscall::openat:entry /pid == $target/ {
               for (this->i = 0; this->i < 3; this->i++) { this->c = *(char *)copyin(arg1 + this->i, 1); }
               @[this->c] = count(); }""",
        """syscall:::entry /pid == $target && probefunc == "openat"/ {
               @[probefunc, substr(copyinstr(arg1), 0, 6)] = count(); }
           syscall:::return /pid == $target/ { @r[probefunc] = count(); }""",
        "syscall::openat:entry /pid == $target/ { @[substr(stringof(args[1]), 0, 6)] = count(); }",
    ],
    ids=lambda text: " ".join(text.split())[-60:],
)
def test_what_is_counted_is_the_same_as_with_memory_that_is_there(tmp_path, clauses):
    program = clauses % OURS if "%s" in clauses else clauses
    with_pages, without = (run(tmp_path, program, touched=touched) for touched in (True, False))
    assert (table(without.stdout), without.stderr) == (table(with_pages.stdout), "")
    assert any(value >= COUNT for value in table(without.stdout).values())


def test_what_a_clause_has_recorded_before_it_needs_memory_is_recorded_once(tmp_path):
    """Each way of access of the calls is a clause of its own, which meets the absent page first."""
    body = f"for number in range({COUNT}): call(OPENAT, -100, page(number), number % 4)\n"
    program = """
#pragma D option nspec=97
int n;
        syscall::openat:entry /pid == $target && arg2 == 0/ {
            this->x = 5; printf("a%d", this->x); n++;
            if (n) { printf(" %d %d %s\\n", this->x, n, copyinstr(arg1)); }
            printf("b%s\\n", copyinstr(arg1)); }
        syscall::openat:entry /pid == $target && arg2 == 1/ {
            for (this->i = 0; this->i < 3; this->i++) { printf("%d %s\\n", this->i, memstr("path", arg1)); } }
        syscall::openat:entry /pid == $target && arg2 == 2/ { self->s = speculation(); }
        syscall::openat:entry /self->s/ {
            speculate(self->s); printf("s"); if (arg2 == 2) { printf("%s\\n", copyinstr(arg1)); } }
        syscall::openat:return /self->s/ { commit(self->s); self->s = 0; }
        syscall::openat:entry /pid == $target && arg2 == 3/ {
            if (!n) { trace("x"); } else { @[copyinstr(arg1)] = count(); printf("y\\n"); } }"""
    with_pages, without = (run(tmp_path, program, body, touched=touched) for touched in (True, False))
    assert (without.stdout, without.stderr) == (with_pages.stdout, "")
    assert without.stdout.count("\n") > 6 * COUNT // 4


def test_what_a_loop_has_recorded_is_not_recorded_again(tmp_path):
    """Nor does the clause go on: what it needed is a fault."""
    program = """syscall::openat:entry /pid == $target && arg2 == 3/ {
            for (this->i = 0; this->i < 2; this->i++) { if (!this->i) printf("a\\n"); else trace(copyinstr(arg1)); } }
        ERROR { @faults = count(); } END { printa("%@d faults\\n", @faults); }"""
    done = run(tmp_path, program, OPENS.replace(", 0)", ", 3)"))
    assert done.stdout.split() == ["a"] * COUNT + [str(COUNT), "faults"]


def test_time_is_that_of_the_entry(tmp_path):
    """A firing that goes on at the return has the entry's time, though the call took long."""
    body = """
import threading, time
path = sys.argv[1] + "-fifo"
os.mkfifo(path)
threading.Timer(0.4, lambda: os.close(os.open(path, os.O_WRONLY))).start()
call(OPENAT, -100, page(0), 0)
"""
    program = """syscall::openat:entry /pid == $target && strstr(copyinstr(arg1), "-fifo") != NULL && !(arg2 & 1)/
            { self->at = timestamp; trace(probefunc); }
        syscall::openat:return /self->at/ { printf(" %d\\n", (timestamp - self->at) / 1000000); self->at = 0; }"""
    done = run(tmp_path, program, body, [f"{tmp_path}/pages-fifo"])
    function, milliseconds = done.stdout.split()
    assert function == "openat"
    assert int(milliseconds) >= 350


def test_paths_of_execs_that_succeed_and_fail(tmp_path):
    body = """
words = (ctypes.c_char_p * 2)(b"true", None)
vector = ctypes.cast(words, ctypes.c_void_p).value
call(EXECVE, page(0), vector, 0)
call(EXECVE, page(1), vector, 0)
"""
    program = """syscall::execve:entry /pid == $target/ { printf("%s %s\\n", probename, copyinstr(arg0)); }
        syscall::execve:return /pid == $target/ { printf("%d\\n", (int)arg0); }"""
    done = run(tmp_path, program, body, ["/never/there", "/bin/true"])
    assert done.stdout.split() == ["entry", "/never/there", "-2", "entry", "/bin/true", "0"]


def test_calls_that_have_not_returned_are_told_at_the_end(tmp_path):
    body = 'os.mkfifo(sys.argv[1] + "-fifo")\ncall(OPENAT, -100, page(0), 0)\n'
    program = "syscall::openat:entry /pid == $target/ { @[copyinstr(arg1)] = count(); } tick-1s { exit(0); }"
    command = absent_memory.command(tmp_path, body, [f"{tmp_path}/pages-fifo"])
    tracer = start("-q", "-c", command, "-n", program)
    output, errors = tracer.communicate()
    assert b"pages-fifo" not in output
    assert b"1 unfinished firing" in errors


def test_a_firing_of_one_cpu_goes_on_where_its_thread_is(tmp_path):
    body = """
import threading, time
os.sched_setaffinity(0, [0])
os.mkfifo(sys.argv[1] + "-fifo")

def move_and_open(thread):
    time.sleep(0.3)
    os.sched_setaffinity(thread, [1])
    os.close(os.open(sys.argv[1] + "-fifo", os.O_WRONLY))

import time
other = threading.Thread(target=move_and_open, args=[threading.get_native_id()])
other.start()
call(OPENAT, -100, page(0), 0)
other.join()
"""
    program = 'syscall::openat:entry /pid == $target/ { printf("%s %d\\n", copyinstr(arg1), cpu); }'
    command = absent_memory.command(tmp_path, body, [f"{tmp_path}/pages-fifo"])
    done = sonde("-q", "-xcpu=0", "-c", command, "-n", program)
    assert f"{tmp_path}/pages-fifo 1" in done.stdout.splitlines()


def test_memory_that_the_call_writes_is_not_read_after_it(tmp_path):
    """What is there at the return is not what was there at the entry."""
    body = "call(READLINKAT, -100, page(0), page(1), 64)\nfor n in range(7): call(READ, file, page(n), 0)\n"
    program = """syscall::read:entry /pid == $target && arg2 == 0/ { trace(copyinstr(arg1)); }
        syscall::readlinkat:entry /pid == $target/ { printf("<%s>", copyinstr(arg1)); }
        syscall::readlinkat:entry /pid == $target/ { trace(copyinstr(arg2)); }
        ERROR { @[arg4] = count(); }"""
    done = run(tmp_path, program, body, ["/never", *["words"] * 7])
    assert "</never>" in done.stdout
    assert table(done.stdout.partition(">")[2]) == {("1",): 8}
    assert "writes to it" in done.stderr


def test_memory_that_the_call_does_not_read_is_a_fault_that_says_so(tmp_path):
    body = 'null = os.open("/dev/null", os.O_WRONLY)\nfor n in range(5): call(WRITE, null, page(n), 4)\n'
    program = "syscall::write:entry /pid == $target && arg2 == 4/ { trace(copyinstr(arg1)); } ERROR { @ = count(); }"
    done = run(tmp_path, program, body, ["words"] * 5)
    assert done.stdout.split() == ["5"]
    assert done.stderr.count("invalid address") == 5
    assert done.stderr.count("read it at the call's return") == 1


EFFECTS = (
    "@a = count();", "@b[n % 3] = sum(m);", "n++;", "m += 2;", "self->s = n;", "self->s++;", "a[n % 5] = m;",
    "this->t = n + 1;", "this->u = this->t * 2;", "@c = sum(this->t);", "@d = sum(this->u + self->s);",
    "@p[copyinstr(arg1)] = count();", "path = copyinstr(arg1);", "@q[path] = count();", "this->p = copyinstr(arg1);",
    "@r[this->p, m % 2] = count();", 'printf("%s %d|", copyinstr(arg1), n);', 'printf("%d|", m);', "@e = max(a[2]);",
    "@f = sum(strlen(copyinstr(arg1)) + n);",
    'for (this->i = 0; this->i < 3; this->i++) { printf("%s %d|", copyinstr(arg1), this->i + n); }',
    "for (this->i = 0; this->i < 3; this->i++) { n++; @g[substr(copyinstr(arg1), this->i)] = count(); }",
)  # fmt: skip
"""Statements, each of which a firing is to do once, wherever it is broken off."""

TEXT = " ".join(f"{number:x}" for number in range(70))
LASTING = (
    "*this->a += m;", "this->a[1] = n;", "@i = sum(*this->a);", "this->a = (int *)alloca(16);", "@j = sum(this->b[1]);",
    "this->b = (char *)copyin(arg1, 4);", "copyinto(arg1, 3, this->b);", "bcopy(this->b, this->a + 1, 3);",
    'printf("%d,%d", this->a[1], this->b[2]);', 'printf("%s|", strtok(NULL, " "));', '@k[strtok(NULL, " ")] = count();',
    f'this->w = strtok("{TEXT}", " ");', 'this->w = strtok(NULL, " ");', "@l[this->w] = count();",
    f'@t[strtok("{TEXT}", "7 ")] = sum(n);', f'path = strtok(strjoin(copyinstr(arg1), " {TEXT}"), " ");',
    'if (n % 2) { @m[strtok(NULL, " ")] = sum(m); }', 'n += strlen(strtok(NULL, " "));', 'printf("%s|", this->w);',
    '@n[strtok(NULL, " "), copyinstr(arg1)] = count();', "@o = sum(strlen(copyinstr(arg1)));",
)  # fmt: skip
"""The same for what clauses leave to each other besides variables: scratch memory, and the tokens of a text. No clause
has so many that the text ends."""

PREDICATES = ("", " && n % 2", " && strlen(copyinstr(arg1)) % 2", " && self->s < 9", " && !this->t")


@pytest.mark.long
@long_run(12)
@given(st.lists(st.tuples(st.sampled_from(PREDICATES), st.lists(st.sampled_from(EFFECTS), min_size=1, max_size=7)),
                min_size=1, max_size=4))  # fmt: skip
def test_random_clauses_do_the_same_with_and_without_the_pages(tmp_path_factory, clauses):
    """Or a fault says that a clause could not go on; then it has done less, never more."""
    do_the_same(tmp_path_factory.mktemp("pages"), clauses)


@pytest.mark.long
@long_run(12)
@given(st.lists(st.tuples(st.sampled_from(PREDICATES[:3]),
                          st.lists(st.sampled_from(EFFECTS[-4:] + LASTING), min_size=1, max_size=7)),
                min_size=1, max_size=4))  # fmt: skip
def test_tokens_and_scratch_memory_reach_the_next_clause_with_and_without_the_pages(tmp_path_factory, clauses):
    first = ("", ("this->a = (int *)alloca(16);", "this->b = (char *)alloca(8);", f'this->w = strtok("{TEXT}", " ");'))
    do_the_same(tmp_path_factory.mktemp("pages"), [first, *clauses])


def do_the_same(directory, clauses):
    probe = "syscall::openat:entry /pid == $target && arg2 == 256"
    program = "int n, m, a[int]; self int s; this int i, t, u; string path; this string p;\n"
    program += "\n".join(f"{probe}{predicate}/ {{ {' '.join(body)} }}" for predicate, body in clauses)
    body = "for number in range(31): call(OPENAT, -100, page(number), 256)\n"
    texts = ["/never/" + "x" * (number % 7) for number in range(31)]
    # Python itself opens nothing with these flags (O_NOCTTY).
    there, absent = (run(directory, program, body, texts, touched) for touched in (True, False))
    assert there.stderr == ""
    if absent.stderr:
        assert "invalid address" in absent.stderr
    else:
        assert absent.stdout == there.stdout
