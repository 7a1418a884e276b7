"""The same programs in D and in Python, and a command whose calls they count.

dd's own calls of read and write are those of 1,000 bytes and, at last, of none: what programs record of them is the
same each time. Each pair has a name, the text in D, and the functions in Python.
"""

import builtins
import errno
import os
import signal

import sonde
from sonde import (
    avg,
    basename,
    cast,
    copyinstr,
    count,
    dirname,
    exit,
    htons,
    i8,
    index,
    json,
    llquantize,
    lltostr,
    lquantize,
    max,
    min,
    normalize,
    ntohl,
    offsetof,
    printa,
    printf,
    probe,
    quantize,
    rindex,
    sizeof,
    stddev,
    stringof,
    strjoin,
    strlen,
    strtok,
    strtoll,
    substr,
    sum,
    thread,
    toupper,
    trace,
    trunc,
    u8,
    u16,
    u32,
    ustack,
)

COMMAND = ["dd", "if=/dev/zero", "of=/dev/null", "bs=1000", "count=101", "status=none"]

PAIRS = {}


def pair(text):
    """Keep the functions that a maker gives beside the text in D."""

    def keep(make):
        made = make()
        PAIRS[make.__name__] = (text, made if isinstance(made, tuple) else (made,))
        return make

    return keep


@pair('syscall::read:entry /execname == "dd"/ { @calls = count(); }')
def counted():
    calls = count()

    @probe("syscall::read:entry")
    def entered(p):
        if p.execname == "dd":
            calls.add()

    return entered


@pair('syscall::read:return /execname == "dd" && arg0 > 0/ { @sizes[probefunc] = quantize(arg0); }')
def distribution():
    sizes = quantize("bytes read at once")

    @probe("syscall::read:return")
    def left(p):
        if p.execname == "dd" and p.arg0 > 0:
            sizes[p.probefunc].add(p.arg0)

    return left


@pair("""
syscall::read:entry /execname == "dd"/ { self->size = args[2]; }
syscall::read:return /self->size/ { @asked[execname] = sum(self->size); @got[execname] = sum(arg0); self->size = 0; }
""")
def thread_variables():
    asked, got = sum(), sum()

    @probe("syscall::read:entry")
    def entered(p):
        if p.execname == "dd":
            thread.size = p.args[2]

    @probe("syscall::read:return")
    def left(p):
        if thread.size:
            asked[p.execname].add(thread.size)
            got[p.execname].add(p.arg0)
            thread.size = 0

    return entered, left


@pair("""
int64_t start[int64_t];
syscall::write:entry /execname == "dd"/ { start[tid] = arg2 + 1; }
syscall::write:return /start[tid]/ { @sums[probefunc, (int64_t)(arg0 == start[tid] - 1)] = count(); start[tid] = 0; }
""")
def arrays():
    start, sums = {}, count()

    @probe("syscall::write:entry")
    def entered(p):
        if p.execname == "dd":
            start[p.tid] = p.arg2 + 1

    @probe("syscall::write:return")
    def left(p):
        if start[p.tid]:
            sums[p.probefunc, p.arg0 == start[p.tid] - 1].add()
            del start[p.tid]

    return entered, left


total = 0
longest = 5


@pair("""
int64_t total, longest;
BEGIN { longest = 5; }
syscall::write:return /execname == "dd"/ {
    total += arg0;
    if (arg0 > longest) { longest = arg0; }
}
END { printf("%d %d\\n", total, longest); }
""")
def global_variables():
    @probe("syscall::write:return")
    def left(p):
        global total, longest
        if p.execname == "dd":
            total += p.arg0
            if p.arg0 > longest:
                longest = p.arg0

    @probe("END")
    def ended():
        print(total, longest)

    return left, ended


@pair("""
syscall::read:entry /execname == "dd"/ { @low = min(arg2); @high = max(arg2); @mean = avg(arg2); @dev = stddev(arg2); }
""")
def scalars():
    low, high, mean, dev = min(), max(), avg(), stddev()

    @probe("syscall::read:entry")
    def entered(p):
        if p.execname == "dd":
            low.add(p.arg2)
            high.add(p.arg2)
            mean.add(p.arg2)
            dev.add(p.arg2)

    return entered


@pair("""
syscall::write:return /execname == "dd"/ {
    @linear = lquantize(arg0, 0, 2000, 100);
    @magnitudes = llquantize(arg0, 10, 0, 6, 20);
    @weighted = quantize(arg0, 3);
}
""")
def quantizing():
    linear = lquantize(base=0, limit=2000, step=100)
    magnitudes = llquantize(factor=10, low=0, high=6, steps=20)
    weighted = quantize()

    @probe("syscall::write:return")
    def left(p):
        if p.execname == "dd":
            linear.add(p.arg0)
            magnitudes.add(p.arg0)
            weighted.add(p.arg0, 3)

    return left


@pair("""
syscall::write:entry /execname == "dd"/ {
    printf("%s %d %x %5d|%-8s|\\n", execname, arg2, arg2, arg0, probefunc);
}
""")
def formats():
    @probe("syscall::write:entry")
    def entered(p):
        if p.execname == "dd":
            print(f"{p.execname} {p.arg2} {p.arg2:x} {p.arg0:5}|{p.probefunc:8}|")

    return entered


@pair('syscall::write:entry /execname == "dd"/ { trace(arg2); trace(execname); }')
def traced():
    @probe("syscall::write:entry")
    def entered(p):
        if p.execname == "dd":
            trace(p.arg2)
            trace(p.execname)

    return entered


@pair("""
syscall::openat:entry /execname == "dd"/ {
    @names[basename(copyinstr(arg1)), dirname(copyinstr(arg1))] = count();
}
""")
def paths():
    names = count()

    @probe("syscall::openat:entry")
    def entered(p):
        if p.execname == "dd":
            names[basename(copyinstr(p.arg1)), dirname(copyinstr(p.arg1))].add()

    return entered


@pair("""
syscall::write:return /execname == "dd"/ {
    @kinds[arg0 < 0 ? "failed" : arg0 == 0 ? "nothing" : arg0 < 1000 ? "some" : "all"] = count();
}
""")
def conditional_expressions():
    kinds = count()

    @probe("syscall::write:return")
    def left(p):
        if p.execname == "dd":
            kinds["failed" if p.arg0 < 0 else "nothing" if p.arg0 == 0 else "some" if p.arg0 < 1000 else "all"].add()

    return left


@pair("""
syscall::read:return /execname == "dd"/ {
    if (arg0 < 0) { @a = count(); } else if (arg0 == 0) { @b = count(); } else { @c = sum(arg0); }
}
""")
def branches():
    a, b, c = count(), count(), sum()

    @probe("syscall::read:return")
    def left(p):
        if p.execname == "dd":
            if p.arg0 < 0:
                a.add()
            elif p.arg0 == 0:
                b.add()
            else:
                c.add(p.arg0)

    return left


@pair("""
this int64_t bits; this int64_t i;
syscall::write:return /execname == "dd"/ {
    this->bits = 0;
    for (this->i = 0; this->i < 12; this->i++) {
        this->bits += (arg0 >> this->i) & 1;
    }
    @bits[this->bits] = count();
}
""")
def loop():
    found = count()

    @probe("syscall::write:return")
    def left(p):
        if p.execname == "dd":
            bits = 0
            for i in range(12):
                bits += (p.arg0 >> i) & 1
            found[bits].add()

    return left


@pair("""
this int64_t steps; this int64_t n;
syscall::write:return /execname == "dd"/ {
    this->steps = 0;
    this->n = arg0;
    while (this->n > 1) {
        this->n = this->n >> 1;
        this->steps++;
    }
    @logs[this->steps] = count();
}
""")
def while_loop():
    logs = count()

    @probe("syscall::write:return")
    def left(p):
        if p.execname == "dd":
            steps = 0
            n = p.arg0
            while n > 1:
                n = n >> 1
                steps += 1
            logs[steps].add()

    return left


@pair("""
this int64_t found; this int64_t i;
syscall::write:return /execname == "dd"/ {
    this->found = -1;
    for (this->i = 2; this->i < 40; this->i += 3) {
        if (this->i == 8) { continue; }
        if (this->i * this->i > arg0) { this->found = this->i; break; }
    }
    @roots[this->found] = count();
}
""")
def left_loop():
    roots = count()

    @probe("syscall::write:return")
    def left(p):
        if p.execname == "dd":
            found = -1
            for i in range(2, 40, 3):
                if i == 8:
                    continue
                if i * i > p.arg0:
                    found = i
                    break
            roots[found].add()

    return left


@pair("""
syscall::write:entry /execname == "dd"/ {
    this->a = (uint8_t)(arg2 * 3);
    this->b = (uint16_t)(arg2 << 7);
    this->c = (uint32_t)(arg2 * -1);
    this->d = (int8_t)arg2;
    @cut[(int64_t)this->a, (int64_t)this->b, (int64_t)this->c, (int64_t)this->d] = count();
}
""")
def narrow_types():
    cut = count()

    @probe("syscall::write:entry")
    def entered(p):
        if p.execname == "dd":
            a = u8(p.arg2 * 3)
            b = u16(p.arg2 << 7)
            c = u32(p.arg2 * -1)
            d = i8(p.arg2)
            cut[a, b, c, d].add()

    return entered


@pair("""
syscall::write:entry /execname == "dd"/ {
    @mixed[(arg2 ^ 0x5a) | 1, (arg2 & 0xff) << 3, ~arg2, -arg2, !arg2] = count();
}
""")
def bits():
    mixed = count()

    @probe("syscall::write:entry")
    def entered(p):
        if p.execname == "dd":
            mixed[(p.arg2 ^ 0x5A) | 1, (p.arg2 & 0xFF) << 3, ~p.arg2, -p.arg2, not p.arg2].add()

    return entered


@pair("""
syscall::write:entry /execname == "dd"/ {
    @texts[strjoin(execname, ":"), strlen(probefunc), index(probefunc, "i"), rindex(probefunc, "t")] = count();
    @parts[substr(probefunc, 1, 3), strtok("a,b", ","), toupper(execname)] = count();
}
""")
def texts():
    found, parts = count(), count()

    @probe("syscall::write:entry")
    def entered(p):
        if p.execname == "dd":
            found[
                strjoin(p.execname, ":"), strlen(p.probefunc), index(p.probefunc, "i"), rindex(p.probefunc, "t")
            ].add()
            parts[substr(p.probefunc, 1, 3), strtok("a,b", ","), toupper(p.execname)].add()

    return entered


@pair("""
syscall::write:entry /execname == "dd"/ {
    @numbers[htons(arg2), ntohl(arg2), strtoll("-17"), lltostr(arg2), json("{\\"a\\": \\"b\\"}", "a")] = count();
}
""")
def conversions():
    numbers = count()

    @probe("syscall::write:entry")
    def entered(p):
        if p.execname == "dd":
            numbers[htons(p.arg2), ntohl(p.arg2), strtoll("-17"), lltostr(p.arg2), json('{"a": "b"}', "a")].add()

    return entered


@pair("""
syscall::write:entry /execname == "dd"/ {
    this->task = curthread;
    @tasks[stringof(this->task->comm), this->task->pid == tid, this->task->parent->pid == ppid] = count();
}
""")
def members():
    tasks = count()

    @probe("syscall::write:entry")
    def entered(p):
        if p.execname == "dd":
            task = p.curthread
            tasks[stringof(task.comm), task.pid == p.tid, task.parent.pid == p.ppid].add()

    return entered


@pair("""
syscall::write:entry /execname == "dd"/ {
    @casts[((struct task_struct *)curthread)->pid == tid, sizeof (int64_t), offsetof(struct path, dentry)] = count();
}
""")
def casts():
    found = count()

    @probe("syscall::write:entry")
    def entered(p):
        if p.execname == "dd":
            task = cast("struct task_struct *", p.curthread)
            found[task.pid == p.tid, sizeof("int64_t"), offsetof("struct path", "dentry")].add()

    return entered


@pair("""
syscall::read:entry, syscall::write:entry /execname == "dd"/ { @both[probefunc, arg0] = count(); }
""")
def several_probes():
    both = count()

    @probe("syscall::read:entry", "syscall::write:entry")
    def entered(p):
        if p.execname == "dd":
            both[p.probefunc, p.arg0].add()

    return entered


LIMIT = 500


@pair("""
syscall::write:return /execname == "dd" && arg0 > 500 && errno != 9/ { @flags[577 & 64, 9] = count(); }
""")
def constants():
    flags = count()

    @probe("syscall::write:return")
    def left(p):
        if p.execname == "dd" and p.arg0 > LIMIT and p.errno != errno.EBADF:
            flags[(os.O_WRONLY | os.O_CREAT | os.O_TRUNC) & os.O_CREAT, int(signal.SIGKILL)].add()

    return left


def half(n):
    return n >> 1


def clamped(n, low, high):
    if n < low:
        return low
    if n > high:
        return high
    return n


@pair("""
syscall::write:return /execname == "dd"/ {
    this->n = arg0 >> 1;
    if (this->n < 10) { this->r = (int64_t)10; }
    else if (this->n > 300) { this->r = (int64_t)300; }
    else { this->r = this->n; }
    @clamped[this->r] = count();
}
""")
def functions():
    found = count()

    @probe("syscall::write:return")
    def left(p):
        if p.execname == "dd":
            found[clamped(half(p.arg0), 10, 300)].add()

    return left


@pair("""
syscall::write:return /execname == "dd"/ { @first[execname] = count(); @second[probefunc] = sum(arg0); }
""")
def shared_functions():
    first, second = count(), sum()

    def tell(p, amount):
        first[p.execname].add()
        second[p.probefunc].add(amount)

    @probe("syscall::write:return")
    def left(p):
        if p.execname == "dd":
            tell(p, p.arg0)

    return left


@pair("""
syscall::write:entry /execname == "dd" && 100 < arg2 && arg2 <= 1000 && (arg0 == 1 || arg0 == 3)/ {
    @chains = count();
}
""")
def chains():
    found = count()

    @probe("syscall::write:entry")
    def entered(p):
        if p.execname == "dd" and 100 < p.arg2 <= 1000 and p.arg0 in (1, 3):
            found.add()

    return entered


@pair("""
syscall::write:entry /execname == "dd"/ { n++; @kept[n & 7] = count(); }
END { trunc(@kept, 3); normalize(@kept, 2); printa("%d %@d\\n", @kept); }
""")
def actions_on_aggregations():
    kept = count()

    @probe("syscall::write:entry")
    def entered(p):
        global written
        if p.execname == "dd":
            written += 1
            kept[written & 7].add()

    @probe("END")
    def ended():
        trunc(kept, 3)
        normalize(kept, 2)
        printa("%d %@d\n", kept)

    return entered, ended


written = 0


@pair("""
syscall::write:return /execname == "dd" && arg0 == 1000/ { m++; }
syscall::write:return /m == 7/ { printf("%d\\n", m); exit(3); }
""")
def exits():
    @probe("syscall::write:return")
    def left(p):
        global whole
        if p.execname == "dd" and p.arg0 == 1000:
            whole += 1

    @probe("syscall::write:return")
    def seventh():
        if whole == 7:
            print(whole)
            exit(3)

    return left, seventh


whole = 0


@pair("""
syscall::write:entry /execname == "dd" && strstr(probefunc, "ri") != NULL/ { @inside = count(); }
""")
def contained():
    inside = count()

    @probe("syscall::write:entry")
    def entered(p):
        if p.execname == "dd" and "ri" in p.probefunc:
            inside.add()

    return entered


@pair("""
syscall::read:entry /execname == "dd"/ { self->names[probefunc] = arg2; }
syscall::read:return /self->names[probefunc] > 0/ { @by[execname] = sum(self->names["read"]); }
""")
def arrays_of_threads():
    by = sum()

    @probe("syscall::read:entry")
    def entered(p):
        if p.execname == "dd":
            thread.names[p.probefunc] = p.arg2

    @probe("syscall::read:return")
    def left(p):
        if thread.names[p.probefunc] > 0:
            by[p.execname].add(thread.names["read"])

    return entered, left


@pair("""
syscall::write:entry /execname == "dd"/ { this->copy = arg2; this->other = this->copy * 2 + arg0; }
syscall::write:entry /execname == "dd"/ { printf("%d %s\\n", arg2 - 1, "text"); }
""")
def locals_and_printf():
    @probe("syscall::write:entry")
    def entered(p):
        if p.execname == "dd":
            copy = p.arg2
            other = copy * 2 + p.arg0  # noqa: F841

    @probe("syscall::write:entry")
    def shown(p):
        if p.execname == "dd":
            printf("%d %s\n", p.arg2 - 1, "text")

    return entered, shown


@pair("""
syscall::write:entry /execname == "dd"/ { self->since = timestamp; }
syscall::write:return /self->since/ { @times = quantize((int64_t)(timestamp - self->since)); self->since = 0; }
""")
def latency():
    times = quantize()

    @probe("syscall::write:entry")
    def entered(p):
        if p.execname == "dd":
            thread.since = p.timestamp

    @probe("syscall::write:return")
    def left(p):
        if thread.since:
            times.add(p.timestamp - thread.since)
            thread.since = 0

    return entered, left


@pair('syscall::write:entry /execname == "dd"/ { @stacks[ustack(1), execname] = count(); }')
def stacks():
    found = count()

    @probe("syscall::write:entry")
    def entered(p):
        if p.execname == "dd":
            found[ustack(1), p.execname].add()

    return entered


@pair("""
syscall::write:entry /execname == "dd"/ { @named[strjoin(strjoin(probefunc, ":"), lltostr(arg2))] = count(); }
""")
def texts_of_values():
    named = count()

    @probe("syscall::write:entry")
    def entered(p):
        if p.execname == "dd":
            named[f"{p.probefunc}:{p.arg2}"].add()

    return entered


OF_KERNEL = ("members", "casts")
"""Pairs that look at the kernel's own structures."""

OF_TIMES = ("latency",)
"""Pairs of which only the number of values is the same each time."""


def length(script):
    """The instructions of a script's programs."""
    return builtins.sum(len(program.code) // 8 for program in script.spec.programs)


def lengths(name, engine):
    """Of the program in D, and of that in Python."""
    text, functions = PAIRS[name]
    in_d = sonde.compile(text, options={"quiet": True}, engine=engine)
    return length(in_d), length(sonde.compile(functions, engine=engine))


def results(name, program, engine):
    """What a run of the command gives: the values of its records and, for each aggregation, the values by their keys;
    how the run ended."""
    records = []
    with sonde.trace(program, command=COMMAND, engine=engine, options={"quiet": True}) as run:
        for event in run:
            assert not isinstance(event, (sonde.Loss, sonde.ProbeError)), event
            if isinstance(event, sonde.Record):
                records.append(event.values)
            if isinstance(event, sonde.Aggregation):
                records.append([(shown(key), values) for key, values in event.rows.items()])
    found = [each.snapshot() for each in run.aggregations.values()]
    if name in OF_TIMES:
        found = [{key: value.total for key, value in each.items()} for each in found]
        records = []
    tables = [[(shown(key), repr(value)) for key, value in each.items()] for each in found]
    return records, sorted(sorted(each) for each in tables), run.exit_status


def shown(key):
    """Stacks by their functions: addresses are others each time."""
    return tuple(tuple(frame.function for frame in each) if isinstance(each, sonde.Stack) else each for each in key)
