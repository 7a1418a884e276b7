"""The manual of tracing itself: the command line without a command's name."""

from __future__ import annotations

from sonde.cli.manual.entries import DIRECTORY, FILE, PROCESS, Command, Example, Option, Section

_PROBES = Section(
    "What to trace",
    (
        Option(("-n",), "DESCRIPTION", "probes by [[[provider:]module:]function:]name, a /predicate/ and a { body }"),
        Option(("-f",), "DESCRIPTION", "the same by [[provider:]module:]function"),
        Option(("-m",), "DESCRIPTION", "the same by [provider:]module"),
        Option(("-P",), "PROVIDER", "the same by provider"),
        Option(("-i",), "ID", "the same by the number that -l shows"),
        Option(("-s",), "FILE", "a program from a file", (FILE,)),
        Option(("-l",), "[PATTERN ...]", "list probes instead, those of programs or patterns; with -v their arguments"),
    ),
)

_PROCESSES = Section(
    "Whom to trace",
    (
        Option(("-c",), "COMMAND", "start it and trace until it ends; its process is $target", ("command",)),
        Option(("-p",), "PID", "trace until that process ends; it is $target", (PROCESS,)),
        Option(
            ("--engine",), "NAME",
            "where programs run: in the kernel; in sonde itself, embedded, without privilege, for -c and -p; or auto",
            ("kernel", "embedded", "auto"),
        ),
    ),
)  # fmt: skip

_OUTPUT = Section(
    "What comes out",
    (
        Option(("-q",), "", "only what the program prints"),
        Option(("-F",), "", "indent by function entry and return"),
        Option(("-o",), "FILE", "append the output to it; packets replace one named *.pcapng", (FILE,)),
        Option(("--raw",), "FILE", "write the records to it as well, for `sonde raw FILE`", (FILE,)),
        Option(
            ("--flame",), "FILE", "a flame graph, .html or .svg, of aggregations keyed by stack() or ustack()", (FILE,)
        ),
        Option(("--flame-diff",), "FILE", "compare the flame graph with an earlier profile, or with @name", (FILE,)),
        Option(("--heatmap",), "FILE", "a quantize(), lquantize() or llquantize() over time, .html or .svg", (FILE,)),
        Option(("--folded",), "FILE", "folded stacks, for flamegraph.pl", (FILE,)),
        Option(("--speedscope",), "FILE", "a profile for speedscope", (FILE,)),
        Option(("--pprof",), "FILE", "a profile for pprof", (FILE,)),
    ),
)

_SETTINGS = Section(
    "How",
    (
        Option(("-x",), "NAME[=VALUE]", "set an option, as `#pragma D option` does", ("setting",)),
        Option(("-b",), "SIZE", "the buffer's size, -x bufsize"),
        Option(("-w",), "", "allow destructive actions"),
        Option(("-Z",), "", "allow descriptions that match no probe"),
        Option(("-e",), "", "compile, then exit"),
        Option(("--dry-run",), "", "compile everything, load nothing"),
        Option(("-k", "--btf"), "PATH", "compile for the kernel with this BTF, not for this one", (FILE,)),
        Option(("--save",), "FILE", "write what was compiled to a spec file", (FILE,)),
        Option(("--spec",), "FILE", "run a spec file", (FILE,)),
        Option(("--object",), "FILE", "run the programs of a BPF object that gcc or clang made", (FILE,)),
        Option(("--dump",), "", "with --object: its variables and maps at the end"),
        Option(("--map",), "NAME=NUMBER", "with --object: so many elements of that map"),
        Option(("--program",), "NAME=on|off", "with --object: load the programs of that name, which may be a pattern"),
        Option(("--attach",), "PROGRAM=PLACE", "with --object: attach a program there, not where its section says"),
        Option(("--record",), "MAP=STRUCTURE", "with --object: what programs write to that ring or array of events"),
    ),
)

_LANGUAGE = Section(
    "The program's text",
    (
        Option(("-C",), "", "preprocess it with cpp"),
        Option(("-D",), "NAME[=VALUE]", "define a name for cpp, or a variable of an --object"),
        Option(("-U",), "NAME", "undefine a name for cpp"),
        Option(("-I",), "DIRECTORY", "where cpp looks for headers", (DIRECTORY,)),
        Option(("-H",), "", "show which headers cpp includes"),
        Option(("-X",), "a|c|s|t", "how closely cpp follows the standard", ("a", "c", "s", "t")),
        Option(("-L",), "DIRECTORY", "where there are more libraries of D", (DIRECTORY,)),
        Option(("-h",), "", "write a header for a program with probes of its own, from their definition"),
        Option(("-G",), "", "write an object to link with such a program"),
    ),
)

_SHOWN = Section(
    "What it becomes",
    (
        Option(("-v",), "", "a report on stability; more with -l and -V"),
        Option(("-S",), "", "show the intermediate form; with -v also eBPF"),
        Option(("--disasm",), "", "show eBPF below the lines of D it came from"),
        Option(("-V",), "", "the version of the language"),
        Option(("--version",), "", "sonde's version"),
        Option(("--help",), "", "this; `sonde COMMAND --help` for a command"),
    ),
)

_DTRACE = Section(
    "For scripts of dtrace(1)",
    (
        Option(("-B",), "", "accepted"),
        Option(("-64",), "", "accepted"),
        Option(("-32",), "", "refused: there are no 32-bit kernels"),
        Option(("-A",), "", "refused: anonymous tracing"),
        Option(("-a",), "", "refused: anonymous tracing"),
    ),
)

TRACING = Command(
    "",
    "trace the system with programs in the language D",
    (
        "[OPTIONS] -n 'PROBES /PREDICATE/ { STATEMENTS }' [ARGUMENTS]",
        "[OPTIONS] -s SCRIPT.d [ARGUMENTS]",
        "-l [PATTERN ...]",
        "COMMAND ...",
    ),
    (
        "A word where no option gives a program is one: a script's file, or a program as behind -n. Further words are "
        "$1, $2 and so on; as strings $$1, $$2.",
        "Tracing ends when the program calls exit(), when what -c and -p name has ended, or at ^C. The exit status is "
        "the argument of exit(), or with -xexit=command the status of -c's command; 1 after an error, 2 after a wrong "
        "command line or where this user may not trace.",
    ),
    (_PROBES, _PROCESSES, _OUTPUT, _SETTINGS, _LANGUAGE, _SHOWN, _DTRACE),
    (
        Example("sonde -l 'syscall::open*'", "which probes are there?"),
        Example("sonde -n 'syscall:::entry { @[execname] = count(); }'", "who makes system calls, until ^C"),
        Example("sonde opens.d -c 'man -w ls'", "a script, for a command"),
    ),
)
