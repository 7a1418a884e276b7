"""The manual of tracing itself: the command line without a command's name."""

from __future__ import annotations

from sonde.cli.manual.entries import DIRECTORY, FILE, PROCESS, Command, Example, ManualOption, ManualSection

_PROBES = ManualSection(
    "What to trace",
    (
        ManualOption(
            ("-n",), "DESCRIPTION", "probes by [[[provider:]module:]function:]name, a /predicate/ and a { body }"
        ),
        ManualOption(
            ("-f",), "DESCRIPTION",
            "the same by [[provider:]module:]function; `-f json` prints lines of JSON (that function is :json), "
            "`-f arrow` a stream of tables",
        ),
        ManualOption(("-m",), "DESCRIPTION", "the same by [provider:]module"),
        ManualOption(("-P",), "PROVIDER", "the same by provider"),
        ManualOption(("-i",), "ID", "the same by the number that -l shows"),
        ManualOption(("-s",), "FILE", "a program from a file", (FILE,)),
        ManualOption(
            ("-l",), "[PATTERN ...]", "list probes instead, those of programs or patterns; with -v their arguments"
        ),
    ),
)  # fmt: skip

_PROCESSES = ManualSection(
    "Whom to trace",
    (
        ManualOption(("-c",), "COMMAND", "start it and trace until it ends; its process is $target", ("command",)),
        ManualOption(("-p",), "PID", "trace until that process ends; it is $target", (PROCESS,)),
        ManualOption(
            ("--engine",), "NAME",
            "where programs run: in the kernel; in sonde itself, embedded, without privilege, for -c and -p; or auto",
            ("kernel", "embedded", "auto"),
        ),
        ManualOption(("--packets",), "FILE", "fire packet probes for the packets of a pcapng or pcap file", (FILE,)),
        ManualOption(
            ("--replay",), "FILE",
            "run the script on a recording of --record, perf record, tcpdump or tshark, without privilege",
            (FILE,),
        ),
    ),
)  # fmt: skip

_OUTPUT = ManualSection(
    "What comes out",
    (
        ManualOption(("-q",), "", "only what the program prints"),
        ManualOption(("-F",), "", "indent by function entry and return"),
        ManualOption(
            ("-o",), "FILE",
            "append the output to it; packets replace one named *.pcapng, tables *.arrow and *.parquet", (FILE,),
        ),
        ManualOption(
            ("--record",), "FILE",
            "write what fires the script's probes to it as well, for --replay; with --object MAP=STRUCTURE: what "
            "programs write to that ring or array of events",
            (FILE,),
        ),
        ManualOption(("--record-reads",), "", "with --record: keep strings that arguments point to, and stacks, too"),
        ManualOption(("--record-stacks",), "SIZE", "with --record: keep so many bytes of stacks, for unwinding"),
        ManualOption(
            ("--anonymise",), "KINDS", "with --record: pseudonyms for names, paths, addresses",
            ("names", "paths", "addresses"),
        ),
        ManualOption(("--raw",), "FILE", "write the records to it as well, for `sonde raw FILE`", (FILE,)),
        ManualOption(
            ("--flame",), "FILE", "a flame graph, .html or .svg, of aggregations keyed by stack() or ustack()", (FILE,)
        ),
        ManualOption(
            ("--flame-diff",), "FILE", "compare the flame graph with an earlier profile, or with @name", (FILE,)
        ),
        ManualOption(
            ("--heatmap",), "FILE", "a quantize(), lquantize() or llquantize() over time, .html or .svg", (FILE,)
        ),
        ManualOption(("--folded",), "FILE", "folded stacks, for flamegraph.pl", (FILE,)),
        ManualOption(("--speedscope",), "FILE", "a profile for speedscope", (FILE,)),
        ManualOption(("--pprof",), "FILE", "a profile for pprof", (FILE,)),
    ),
)  # fmt: skip

_SETTINGS = ManualSection(
    "How",
    (
        ManualOption(("-x",), "NAME[=VALUE]", "set an option, as `#pragma D option` does", ("setting",)),
        ManualOption(("-b",), "SIZE", "the buffer's size, -x bufsize"),
        ManualOption(("-w",), "", "allow destructive actions"),
        ManualOption(("-Z",), "", "allow descriptions that match no probe"),
        ManualOption(("-e",), "", "compile, then exit"),
        ManualOption(("--dry-run",), "", "compile everything, load nothing"),
        ManualOption(
            ("-k", "--btf"),
            "PATH",
            "compile for the kernel with this BTF, not for this one; or this one's vmlinux",
            (FILE,),
        ),
        ManualOption(("--save",), "FILE", "write what was compiled to a spec file", (FILE,)),
        ManualOption(("--spec",), "FILE", "run a spec file", (FILE,)),
        ManualOption(("--object",), "FILE", "run the programs of a BPF object that gcc or clang made", (FILE,)),
        ManualOption(("--dump",), "", "with --object: its variables and maps at the end"),
        ManualOption(("--map",), "NAME=NUMBER", "with --object: so many elements of that map"),
        ManualOption(
            ("--program",), "NAME=on|off", "with --object: load the programs of that name, which may be a pattern"
        ),
        ManualOption(
            ("--attach",), "PROGRAM=PLACE", "with --object: attach a program there, not where its section says"
        ),
        ManualOption(("--device",), "DEVICE", "with --object: the device whose packets its programs get"),
    ),
)

_LANGUAGE = ManualSection(
    "The program's text",
    (
        ManualOption(("-C",), "", "preprocess it with cpp"),
        ManualOption(("-D",), "NAME[=VALUE]", "define a name for cpp, or a variable of an --object"),
        ManualOption(("-U",), "NAME", "undefine a name for cpp"),
        ManualOption(("-I",), "DIRECTORY", "where cpp looks for headers", (DIRECTORY,)),
        ManualOption(("-H",), "", "show which headers cpp includes"),
        ManualOption(("-X",), "a|c|s|t", "how closely cpp follows the standard", ("a", "c", "s", "t")),
        ManualOption(("-L",), "DIRECTORY", "where there are more libraries of D", (DIRECTORY,)),
        ManualOption(("-h",), "", "write a header for a program with probes of its own, from their definition"),
        ManualOption(("-G",), "", "write an object to link with such a program"),
    ),
)

_SHOWN = ManualSection(
    "What it becomes",
    (
        ManualOption(("-v",), "", "a report on stability; more with -l and -V"),
        ManualOption(("-S",), "", "show the intermediate form; with -v also eBPF"),
        ManualOption(("--disasm",), "", "show eBPF below the lines of D it came from"),
        ManualOption(("-V",), "", "the version of the language"),
        ManualOption(("--version",), "", "sonde's version"),
        ManualOption(("--help",), "", "this; `sonde COMMAND --help` for a command"),
    ),
)

_DTRACE = ManualSection(
    "For scripts of dtrace(1)",
    (
        ManualOption(("-B",), "", "accepted"),
        ManualOption(("-64",), "", "accepted"),
        ManualOption(("-32",), "", "refused: there are no 32-bit kernels"),
        ManualOption(("-A",), "", "refused: anonymous tracing"),
        ManualOption(("-a",), "", "refused: anonymous tracing"),
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
