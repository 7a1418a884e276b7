"""D programs with everything the language has, made from the checker's own tables so that nothing is forgotten.

What the compiler does not know yet it says itself; that is left out.
"""

from sonde.codegen.basis.generation import Unsupported
from sonde.frontends.d.check import builtins, prototypes
from sonde.model.errors import NO_CODE, SourceError
from support.d.d_run import compilation

BY_TYPE = {
    "char *": "s",
    "char": "'e'",
    "uintptr_t": "arg1",
    "size_t": "4",
    "int": "1",
    "int32_t": "1",
    "int64_t": "7",
    "uint16_t": "3",
    "uint32_t": "3",
    "uint64_t": "3",
    "dev_t": "3",
    "pid_t": "pid",
    "void *": "alloca(16)",
    "uint32_t *": "(uint32_t *)alloca(4)",
    "struct path *": "&curthread->fs->pwd",
    "struct in6_addr *": "(struct in6_addr *)alloca(16)",
    "struct mutex *": "&curthread->signal->cred_guard_mutex",
    "rwlock_t *": "(rwlock_t *)curthread",
}
"""An argument for each type a prototype has."""

PACKETS = {name: [] for name in ("__packet_headers", "__packet_number", "__packet_tag", "__packet_text")}
"""What the translator of packets calls, at probes that have one."""

SPECIAL = {
    **PACKETS,
    # At a probe whose argument is a task.
    "__adopt": [],
    "inet_ntop": ["inet_ntop(2, alloca(16))"],
    # The embedded engine's own, and what is made of a library's definition.
    "__cpu_time": [],
    "__open_file": [],
    "getf": [],
    # Their arguments are of types that Linux does not have.
    "msgdsize": [],
    "msgsize": [],
    "json": ['json("[1]", "[0]")'],
    "link_ntop": ["link_ntop(1, alloca(16))"],
    "copyout": ["copyout(copyin(arg1, 4), arg1, 4)"],
    "copyoutstr": ['copyoutstr("every", arg1, 6)'],
    "jstack": ["jstack()"],
    "flagstr": ['flagstr("open", arg2)'],
    "memstr": ['memstr("data", arg1, arg2)', 'memstr("string", arg1)', 'memstr("data", arg1, 4, 2)'],
    "stack": ["stack()", "stack(3)"],
    "ustack": ["ustack()", "ustack(3, 64)"],
}
"""Calls whose arguments must suit each other."""

ACTIONS = {
    # There is no packet where these run.
    "capture": [],
    # What fires these is no perf event.
    "sample": [],
    # The embedded engine's own.
    "delay": [],
    "inject": [],
    "clear": ["clear(@agg)"],
    "commit": ["commit(speculation())"],
    "denormalize": ["denormalize(@agg)"],
    "discard": ["discard(speculation())"],
    "exit": [],
    "freopen": ['freopen("/dev/%s", "null")'],
    "normalize": ["normalize(@agg, 2)"],
    "pcap": ["pcap(alloca(64), 1)"],
    "print": ["print(arg0)", "print(*curthread)"],
    "printa": ["printa(@agg)", 'printa("%@d", @agg)'],
    "printf": ['printf("%s %d %p %x %c %Y", s, arg0, arg1, tid, 97, walltimestamp)'],
    "raise": ["raise(0)"],
    "setopt": ['setopt("quiet")', 'setopt("aggsortrev", "yes")'],
    "speculate": ["speculate(speculation())"],
    "stop": [],
    "system": ['system("true %s", execname)'],
    "trace": ["trace(s)", "trace(arg0)"],
    "tracemem": ["tracemem(copyin(arg1, 16), 16)", "tracemem(copyin(arg1, 16), 16, arg2)"],
    "trunc": ["trunc(@agg)", "trunc(@agg, 3)"],
}
"""Actions whose arguments the prototype does not tell."""

AGGREGATING = {
    "llquantize": "llquantize(arg2, 10, 0, 3, 10)",
    "lquantize": "lquantize(arg2, 0, 100, 10)",
    "count": "count()",
}

PROBE = "syscall::write:entry /pid == $pid && arg0 == 99/"
"""Fired by `os.write(99, ...)`, which fails but is entered."""


def calls(table, name):
    """Ways to call a function: with all arguments, and without those that may be left out."""
    if name in SPECIAL or name in ACTIONS:
        return SPECIAL.get(name, ACTIONS.get(name))
    _, _, listed = table[name][:-1].rpartition("(")
    words = [word for word in listed.split(", ") if word]
    required = [word for word in words if not word.startswith("[")]
    ways = [[BY_TYPE[word.strip("[]")] for word in some] for some in (words, required)]
    return list(dict.fromkeys(f"{name}({', '.join(way)})" for way in ways))


def subroutines():
    """A statement for each way to call each subroutine, and each function that gives a symbol or a stack."""
    found = []
    for table in (prototypes._SUBROUTINES, prototypes._SYMBOLS):
        for name in table:
            is_void = table[name].startswith("void(")
            found += [call if is_void else f"trace({call})" for call in calls(table, name)]
    return found


def actions():
    return [call for name in prototypes._ACTIONS for call in calls(prototypes._ACTIONS, name)]


def variables():
    names = sorted(builtins._BY_NAME)
    return [f"trace({name})" for name in names] + [
        "trace(curthread)", "trace(args[2])", "trace(uregs[0])",
        "trace(uregs[21])",
    ]  # fmt: skip


def aggregations():
    return [
        f"@{name}[execname, probefunc] = {AGGREGATING.get(name, f'{name}(arg2)')}" for name in prototypes.AGGREGATING
    ]


def supported(statements, before, **settings):
    """Those statements that the compiler compiles, each tried alone in a clause."""
    found = []
    for statement in statements:
        try:
            compilation(program([statement], before), **settings).spec()
        except SourceError as error:
            if isinstance(error, Unsupported) or error.kind == NO_CODE or "implemented" in error.text:
                continue
            raise
        found.append(statement)
    return found


def program(statements, before=""):
    lines = "".join(f"    {statement};\n" for statement in statements)
    return f"{before}{PROBE}\n{{\n{lines}}}\n"
