"""The options of -x: a record of each, and what their texts mean.

Whatever is true of an option is here: how its value is written and bounded, what it is if nobody sets it, until when it
may be set, which part of sonde acts on it, and what the reference says (`tools/options.py` writes that section).
"""

from __future__ import annotations

from collections.abc import Callable

from sonde.model.units import DAY, GIB, HOUR, KIB, MIB, MICROSECOND, MILLISECOND, MINUTE, SECOND, TIB, whole_words
from sonde.typed import NamedTuple

Value = int | bool | str

SIZE, COUNT, RATE, SWITCH, TEXT = "size", "count", "rate", "switch", "text"
"""Kinds of values: bytes, a number, nanoseconds, bool, characters."""

COMPILING, STARTING, TRACING = "compiling", "starting", "tracing"
"""Until when an option may be set; a program may set by pragma what is settled when tracing starts, and by setopt()
what may change while it goes on."""

LANGUAGE, CODE, ENGINE, PROCESSES, CONSUMER, REPORT, COMMAND = (
    "language", "code", "engine", "processes", "consumer", "report", "command"
)  # fmt: skip
"""Parts of sonde that act on options: the front end, the code generator, the engine and its symbols, the processes of
-c and -p, whatever reads rings, the output, the command line."""

OF_BUFFERS = "there is one ring that is read while it is written; a record that finds it full is lost and counted"
OF_ARRAYS = "elements of arrays are freed at once"
OF_MEMORY = "no memory is locked"
OF_ANONYMOUS = "there is no anonymous tracing"
OF_JAVA = "`jstack()` is `ustack()`, whose options count"
OF_COMPILER = "they steer DTrace's own compiler; `-S` and `--disasm` show code"
OF_PLACES = "they say where parts of DTrace are"
OF_NAMES = "a name that cannot be resolved is always an error"
"""Why nothing acts on an option."""

BAD_VALUE = "Invalid value for specified option"
NO_VERSION = "Version is not properly formatted or is too large"
BAD_VERSION = "Requested version is not supported by compiler"
TOO_FEW_REGISTERS = "Insufficient registers to generate code"

NEWEST_VERSION = (2, 1)
"""The version that programs have unless they ask for an earlier one: with branches and loops."""

_REGISTERS = 8
"""Registers the code generator needs; iregs can ask for no other number."""

_TRUE = ("yes", "enable", "enabled", "true", "on", "set")
_FALSE = ("no", "disable", "disabled", "false", "off", "unset")
_UNITS = {"k": KIB, "m": MIB, "g": GIB, "t": TIB}
_TIMES = {
    "ns": 1, "nsec": 1, "us": MICROSECOND, "usec": MICROSECOND, "ms": MILLISECOND, "msec": MILLISECOND,
    "s": SECOND, "sec": SECOND, "m": MINUTE, "min": MINUTE, "h": HOUR, "hour": HOUR, "d": DAY, "day": DAY,
}  # fmt: skip


def _rounded(value: Value) -> Value:
    """In whole words."""
    return whole_words(int(value))


def _enough(value: Value) -> Value:
    if int(value) < _REGISTERS:
        raise ValueError(TOO_FEW_REGISTERS)
    return value


def _version(value: Value) -> Value:
    parts = str(value).split(".")
    if len(parts) > 3 or not all(part.isascii() and part.isdigit() for part in parts):
        raise ValueError(NO_VERSION)
    if tuple(map(int, parts)) > NEWEST_VERSION:
        raise ValueError(BAD_VERSION)
    return value


def _limit(value: Value) -> Value:
    if value != "unlimited":
        _size(str(value))
    return value


class Option(NamedTuple):
    """One option. `settled`: until when it may be set; `reader`: the part that acts on it, None if nothing does, and
    `meaning` then says why; else it is the reference's text, in Markdown.

    `default` is the value where nobody has set it; None: something that `meaning` tells, or nothing. Numbers are from
    `least` to `most`; texts are one of `choices`, if there are any. `keep` turns a value into the one that is kept, and
    raises ValueError for one that cannot be. `is_late`: the option acts on compiled programs, though it is settled
    before. `is_outside`: a pragma comes too late. `is_bare`: it is switched on by its name alone, as in DTrace, and
    never off. `is_repeated`: all settings count. `is_permission`: only whoever runs a program can give it.
    `place_first`: DTrace looks at the place of a pragma before it looks at the value.
    """

    name: str
    kind: str
    settled: str
    reader: str | None
    default: Value | None
    meaning: str
    least: int = 0
    most: int = 1 << 62
    choices: tuple[str, ...] = ()
    keep: Callable[[Value], Value] | None = None
    is_late: bool = False
    is_outside: bool = False
    is_bare: bool = False
    is_repeated: bool = False
    is_permission: bool = False
    place_first: bool = False

    @property
    def is_bounded(self) -> bool:
        """Whether it has bounds of its own."""
        return (self.least, self.most) != (0, 1 << 62)


_ALL = (
    # Records and memory
    Option("bufsize", SIZE, STARTING, CODE, 4 * MIB,
           "the ring; the next power of two. Of rings for packets up to 16m for each CPU"),
    Option("rings", TEXT, STARTING, CODE, "one",
           "`cpu`: a ring for each CPU. Records are then not in order between CPUs", choices=("cpu", "one")),
    Option("output", TEXT, STARTING, CODE, "auto",
           "[how records come](#ways-of-records): `ringbuf`, `perf`, `perf-reserve`, or what the kernel has",
           choices=("ringbuf", "perf", "perf-reserve", "auto")),
    Option("strsize", SIZE, STARTING, CODE, 256, "most characters of a string", 2, 1 << 24),
    Option("aggsize", SIZE, STARTING, CODE, 4 * MIB, "memory of one aggregation with keys"),
    Option("dynvarsize", SIZE, STARTING, CODE, MIB, "memory of one associative array"),
    Option("scratchsize", SIZE, STARTING, CODE, 256,
           "[scratch memory](#scratch-memory) of each clause, rounded up to 8"),
    Option("nspec", COUNT, STARTING, CODE, 1, "speculations at a time", 0, 1024),
    Option("specsize", SIZE, STARTING, CODE, 4 * MIB, "most bytes of records in one speculation"),
    Option("pcapsize", SIZE, STARTING, CODE, 1514, "most bytes of a packet that `pcap()` records", 1, 65535),
    Option("maxloop", COUNT, STARTING, CODE, 1024,
           "most turns that all loops of a firing have together, see [there](#branches-and-loops)", 1, (1 << 23) - 1),
    # Stacks
    Option("stackframes", COUNT, STARTING, CODE, 20, "depth of `stack()`"),
    Option("ustackframes", COUNT, STARTING, CODE, 100, "depth of `ustack()`"),
    Option("maxframes", COUNT, STARTING, CODE, 127, "greatest depth that can be asked for"),
    Option("unwind", TEXT, STARTING, CODE, "auto",
           "how user stacks are walked: by [tables](#stacks-without-frame-pointers) where code has them, else by frame "
           "pointers (`dwarf` is the same); or `frames`: by these alone", choices=("auto", "dwarf", "frames")),
    Option("python", SWITCH, STARTING, CODE, True,
           "`ustack()` shows [functions of Python](#functions-of-python) in the place of its interpreter's"),
    # What fires
    Option("scope", TEXT, STARTING, CODE, None,
           "whose [events](#samples-of-perf-events) are counted: `processes`, those of `-c` and `-p` and what they "
           "start, or `system`", choices=("processes", "system")),
    Option("cpu", COUNT, STARTING, CODE, None, "only firings on this CPU"),
    Option("xdp", TEXT, STARTING, CODE, None,
           "`native`, `generic`: meet packets that arrive in XDP, in the driver or behind it",
           choices=("native", "generic")),
    Option("callchain", SWITCH, STARTING, CODE, False, "samples that are let through have their callers"),
    Option("samplesize", SIZE, STARTING, ENGINE, MIB,
           "the ring of samples that are let through, on each CPU; the next power of two", 1, GIB),
    # The session
    Option("destructive", SWITCH, STARTING, COMMAND, False, "as `-w`", is_late=True, is_permission=True),
    Option("maxsteps", COUNT, STARTING, COMMAND, 10_000_000,
           "most [steps](verifier.md#how-long-a-firing-takes) that a firing of programs of objects and spec files "
           "takes; 0: any number", is_late=True, is_permission=True),
    Option("engine", TEXT, COMPILING, ENGINE, "auto", "`kernel`, `embedded` or `auto`, as `--engine`",
           choices=("auto", "kernel", "embedded"), is_late=True, is_outside=True),
    Option("packets", TEXT, COMPILING, ENGINE, None,
           "a pcapng or pcap file whose packets the embedded engine gives to `packet` probes, as `--packets`",
           is_late=True, is_outside=True, is_permission=True),
    Option("replay", TEXT, COMPILING, ENGINE, None,
           "a [recording](recordings.md) that scripts are run on, also one of perf, tcpdump and others, as `--replay`",
           is_late=True, is_outside=True, is_permission=True),
    Option("record", TEXT, COMPILING, COMMAND, None,
           "the file that [firings are recorded](recordings.md) in, as `--record`",
           is_late=True, is_outside=True, is_permission=True),
    Option("recordreads", SWITCH, COMPILING, COMMAND, False,
           "record strings that arguments point to, and stacks, as well, as `--record-reads`",
           is_late=True, is_outside=True),
    Option("recordstacks", SIZE, COMPILING, COMMAND, None,
           "record so many bytes of the stack of a process, and its registers, for `ustack()`, as `--record-stacks`",
           64, 8192, is_late=True, is_outside=True),
    Option("anonymise", TEXT, COMPILING, COMMAND, None,
           "`names`, `paths` and `addresses` of recordings become pseudonyms, as `--anonymise`",
           is_late=True, is_outside=True),
    Option("seccomp", SWITCH, COMPILING, ENGINE, True,
           "`no`: the embedded engine puts [no filter](embedded.md#what-it-does-to-the-processes) on the command",
           is_late=True),
    Option("sampling", TEXT, COMPILING, ENGINE, "stopped",
           "where programs look at what clocks sample, the embedded engine has each thread "
           "[stop](embedded.md#samples) for that; `running`: the kernel takes the samples, and nothing is stopped",
           choices=("stopped", "running"), is_late=True),
    Option("follow", TEXT, COMPILING, PROCESSES, "command",
           "the embedded engine ends with the command, or, `all`, with the last that it has started",
           choices=("command", "all"), is_late=True),
    Option("exit", TEXT, COMPILING, COMMAND, "program",
           "sonde's exit status: `program`, that of `exit()`, or `command`, that of the command of `-c`",
           choices=("program", "command"), is_late=True),
    Option("evaltime", TEXT, COMPILING, PROCESSES, "postinit",
           "how far `-c` lets the command run first: fork, exec, preinit, postinit, main",
           choices=("fork", "exec", "preinit", "postinit", "main"), is_late=True),
    Option("switchrate", RATE, TRACING, CONSUMER, 0, "read the rings that often instead of at once"),
    Option("statusrate", RATE, STARTING, CONSUMER, SECOND,
           "look for losses that often; if it is set, for `exit()`, too", is_late=True),
    Option("heatrate", RATE, STARTING, COMMAND, 20 * MILLISECOND,
           "a [heat map](#heat-maps) has a column for so much time", is_late=True),
    # The output
    Option("format", TEXT, COMPILING, REPORT, "text",
           "`json`: a line of [JSON](data.md) for each event, as `-f json`; `arrow` and `parquet`: "
           "[tables](data.md#tables)", choices=("text", "json", "arrow", "parquet"), is_late=True),
    Option("parquet", TEXT, STARTING, REPORT, "file",
           "`parts`: a [folder](data.md#files-of-tables) of Parquet files, one a second, in place of one file",
           choices=("file", "parts"), is_late=True),
    Option("quiet", SWITCH, TRACING, REPORT, False, "as `-q`"),
    Option("flowindent", SWITCH, TRACING, REPORT, False, "as `-F`"),
    Option("aggrate", RATE, TRACING, REPORT, 0,
           "look at aggregations that often: `printa()` shows what was seen last. 0: whenever it prints"),
    Option("aggsortkey", SWITCH, TRACING, REPORT, False, "aggregations are sorted by their keys, not by value"),
    Option("aggsortrev", SWITCH, TRACING, REPORT, False, "aggregations are sorted the other way round"),
    Option("aggsortpos", COUNT, TRACING, REPORT, 0, "which of several aggregations counts first, from 0"),
    Option("aggsortkeypos", COUNT, TRACING, REPORT, 0, "which part of the key counts first, from 0"),
    Option("aggpercpu", SWITCH, COMPILING, REPORT, False, "also the value of each CPU", is_late=True, is_bare=True),
    Option("aggzoom", SWITCH, TRACING, REPORT, False,
           "bars of `quantize()` and its like are parts of the largest count, not of all"),
    Option("agghist", SWITCH, TRACING, REPORT, False,
           "other aggregations as bars: parts of the sum of all keys, with `aggzoom` of the largest"),
    Option("aggpack", SWITCH, TRACING, REPORT, False,
           "`quantize()` and its like in a line for each key, a sign for each bucket: blocks where the locale has "
           "UTF-8, else ` .:-=+*#@`. This and `agghist` are for single aggregations in the default layout, without "
           "stacks as keys"),
    Option("stackindent", COUNT, TRACING, REPORT, 14, "columns before a frame", 0, 1024),
    Option("printsize", SIZE, TRACING, REPORT, 8 * KIB, "most bytes of an object that `print()` shows", 1, 65536,
           keep=_rounded),
    Option("demangle", SWITCH, STARTING, REPORT, True,
           "names of C++ and Rust as in the source; `-xdemangle=no` shows the symbols themselves", is_late=True),
    Option("inlines", SWITCH, STARTING, REPORT, False,
           "in user stacks, also the functions that were inlined where a frame is; needs debug information",
           is_late=True),
    Option("noresolve", SWITCH, STARTING, REPORT, False,
           "addresses of processes as object and offset, `libc.so.6:0x9f350`", is_late=True),
    Option("rawbytes", SWITCH, TRACING, REPORT, False,
           "show all traced data as bytes, strings with all `strsize` and one; what `printf()` shows is "
           "[not escaped](#text-from-outside)"),
    Option("errtags", SWITCH, COMPILING, LANGUAGE, False, "[tags of errors](messages.md)", is_bare=True),
    Option("droptags", SWITCH, COMPILING, REPORT, False, "tags of losses", is_late=True),
    Option("verbose", SWITCH, COMPILING, COMMAND, False, "show eBPF in dtrace's form", is_bare=True),
    # The language
    Option("zdefs", SWITCH, COMPILING, LANGUAGE, False, "as `-Z`", is_bare=True),
    Option("defaultargs", SWITCH, COMPILING, LANGUAGE, False, "`$n` not given is 0 or \"\"", is_bare=True),
    Option("argref", SWITCH, COMPILING, LANGUAGE, False, "arguments need not be used", is_bare=True),
    Option("empty", SWITCH, COMPILING, LANGUAGE, False, "a program may be empty", is_bare=True),
    Option("pspec", SWITCH, COMPILING, LANGUAGE, False, "words outside clauses are always probes", is_bare=True),
    Option("amin", TEXT, COMPILING, LANGUAGE, None, "least stability allowed"),
    Option("tregs", COUNT, COMPILING, LANGUAGE, 10,
           "keys that an array may have without a declaration; one with a declaration, and an aggregation, have as "
           "many as they like"),
    Option("warn", SWITCH, COMPILING, COMMAND, True,
           "[warnings](#warnings) about programs that compile; off where the command is called `dtrace`"),
    Option("version", TEXT, COMPILING, LANGUAGE, ".".join(map(str, NEWEST_VERSION)),
           "language version asked for; 2.0 has no branches and loops", keep=_version),
    Option("nolibs", SWITCH, COMPILING, LANGUAGE, False, "no D libraries", is_bare=True),
    Option("libdir", TEXT, COMPILING, LANGUAGE, None, "as `-L`", is_repeated=True),
    Option("ctypes", TEXT, COMPILING, COMMAND, None, "a file to write C's types to, as CTF"),
    Option("dtypes", TEXT, COMPILING, COMMAND, None,
           "a file to write the types of D programs and libraries to, as CTF"),
    # The preprocessor
    Option("cpp", SWITCH, COMPILING, LANGUAGE, False, "as `-C`", is_outside=True, is_bare=True),
    Option("cpppath", TEXT, COMPILING, LANGUAGE, "cpp", "the preprocessor", is_outside=True),
    Option("cppargs", TEXT, COMPILING, LANGUAGE, None, "an argument for it", is_outside=True, is_repeated=True),
    Option("cpphdrs", SWITCH, COMPILING, LANGUAGE, False, "as `-H`", is_outside=True, is_bare=True),
    Option("define", TEXT, COMPILING, LANGUAGE, None, "as `-D`", is_outside=True, is_repeated=True),
    Option("undef", TEXT, COMPILING, LANGUAGE, None, "as `-U`", is_outside=True, is_repeated=True),
    Option("incdir", TEXT, COMPILING, LANGUAGE, None, "as `-I`", is_outside=True, is_repeated=True),
    Option("stdc", TEXT, COMPILING, LANGUAGE, None, "as `-X`", choices=("a", "c", "t", "s"), is_outside=True),
    # Those of DTrace that steer what does not exist here
    Option("bufpolicy", TEXT, STARTING, None, None, OF_BUFFERS, choices=("ring", "fill", "switch")),
    Option("bufresize", TEXT, STARTING, None, None, OF_BUFFERS, choices=("auto", "manual")),
    Option("quietresize", SWITCH, TRACING, None, None, OF_BUFFERS),
    Option("preallocate", SIZE, COMPILING, None, None, OF_BUFFERS),
    Option("cleanrate", RATE, STARTING, None, None, OF_ARRAYS),
    Option("lockmem", TEXT, STARTING, None, None, OF_MEMORY, keep=_limit, is_outside=True, place_first=True),
    Option("grabanon", SWITCH, STARTING, None, None, OF_ANONYMOUS),
    Option("jstackframes", COUNT, STARTING, None, None, OF_JAVA),
    Option("jstackstrsize", SIZE, STARTING, None, None, OF_JAVA),
    Option("iregs", COUNT, COMPILING, None, None, OF_COMPILER, 1, _REGISTERS, keep=_enough),
    Option("pgmax", COUNT, COMPILING, None, None, OF_COMPILER),
    Option("tree", COUNT, COMPILING, None, None, OF_COMPILER),
    Option("disasm", COUNT, COMPILING, None, None, OF_COMPILER),
    Option("bpflog", SWITCH, STARTING, None, None, OF_COMPILER, is_late=True),
    Option("bpflogsize", SIZE, STARTING, None, None, OF_COMPILER, is_late=True),
    Option("debug", SWITCH, COMPILING, None, None, OF_COMPILER, is_bare=True),
    Option("debugassert", TEXT, COMPILING, None, None, OF_COMPILER, choices=("mutexes",)),
    Option("core", SWITCH, COMPILING, None, None, OF_COMPILER, is_bare=True),
    Option("strip", SWITCH, COMPILING, None, None, OF_COMPILER, is_bare=True),
    Option("linkmode", TEXT, COMPILING, None, None, OF_COMPILER, choices=("kernel", "dynamic", "static")),
    Option("linktype", TEXT, COMPILING, None, None, OF_COMPILER, choices=("elf", "dof")),
    Option("linknommap", SWITCH, COMPILING, None, None, OF_COMPILER),
    Option("lazyload", SWITCH, COMPILING, None, None, OF_COMPILER),
    Option("late", TEXT, COMPILING, None, None, OF_COMPILER, choices=("static", "dynamic")),
    Option("sysslice", TEXT, COMPILING, None, None, OF_COMPILER),
    Option("useruid", COUNT, COMPILING, None, None, OF_COMPILER),
    Option("ctfpath", TEXT, COMPILING, None, None, OF_PLACES, is_outside=True),
    Option("modpath", TEXT, COMPILING, None, None, OF_PLACES, is_outside=True),
    Option("ldpath", TEXT, COMPILING, None, None, OF_PLACES, is_outside=True),
    Option("procfspath", TEXT, COMPILING, None, None, OF_PLACES, is_outside=True),
    Option("dofstashpath", TEXT, COMPILING, None, None, OF_PLACES),
    Option("syslibdir", TEXT, COMPILING, None, None, OF_PLACES),
    Option("kdefs", SWITCH, COMPILING, None, None, OF_NAMES, is_bare=True),
    Option("knodefs", SWITCH, COMPILING, None, None, OF_NAMES, is_bare=True),
    Option("udefs", SWITCH, COMPILING, None, None, OF_NAMES, is_bare=True),
    Option("unodefs", SWITCH, COMPILING, None, None, OF_NAMES, is_bare=True),
)  # fmt: skip

OPTIONS = {each.name: each for each in _ALL}
"""All by their names."""


def default_number(name: str) -> int:
    """A number, or a size in bytes or a time in ns, where nobody has set it."""
    return int(OPTIONS[name].default or 0)


def value_of(option: Option, text: str | None) -> Value:
    """What a text means; None stands for a switch without a value. Raises ValueError with DTrace's words."""
    if option.is_bare and text is not None:
        raise ValueError(BAD_VALUE)
    if option.kind == SWITCH:
        return _switch(text)
    if not text or text not in (option.choices or (text,)):
        raise ValueError(BAD_VALUE)
    value: Value = text if option.kind == TEXT else _number(option, text)
    return value if option.keep is None else option.keep(value)


def _number(option: Option, text: str) -> int:
    value = {SIZE: _size, RATE: _rate, COUNT: _count}[option.kind](text)
    if not option.least <= value <= option.most:
        raise ValueError(BAD_VALUE)
    return value


def _switch(text: str | None) -> bool:
    if text is None or text.lower() in _TRUE:
        return True
    if text == "" or text.lower() in _FALSE:
        return False
    if text.isdigit():
        return text != "0"
    raise ValueError(BAD_VALUE)


def _count(text: str) -> int:
    """A number as C writes it: hexadecimal behind 0x, octal behind 0."""
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isalnum()):
        raise ValueError(BAD_VALUE)
    base = 8 if len(digits) > 1 and digits.isdigit() and digits[0] == "0" else 0
    try:
        return int(text, base)
    except ValueError:
        raise ValueError(BAD_VALUE) from None


def _size(text: str) -> int:
    factor = _UNITS.get(text[-1:].lower(), 1)
    digits = text[:-1] if factor > 1 else text
    value = _count(digits) * factor
    if value < 0:
        raise ValueError(BAD_VALUE)
    return value


def _rate(text: str) -> int:
    """Nanoseconds; a number alone is in nanoseconds, `hz` is a frequency."""
    digits = text.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    unit = text[len(digits) :].lower()
    value = _count(digits)
    if value < 0 or (unit and unit != "hz" and unit not in _TIMES):
        raise ValueError(BAD_VALUE)
    if unit == "hz":
        return SECOND // value if value else 0
    return value * _TIMES.get(unit, 1)
