"""The manual of every command."""

from __future__ import annotations

from sonde.cli.manual.entries import DIRECTORY, FILE, Command, Example, ManualOption, ManualSection
from sonde.cli.manual.tracing import TRACING

_RECORDED = (
    ManualOption(("-q",), "", "only what the program printed"),
    ManualOption(("-F",), "", "indent by function entry and return"),
    ManualOption(("-o",), "FILE", "append the output to it; packets replace one named *.pcapng", (FILE,)),
    ManualOption(("-x",), "NAME[=VALUE]", "set an option of those that matter when records are shown", ("setting",)),
    ManualOption(("--act",), "", "with -w: do what the program did, system() and freopen(), instead of telling it"),
    ManualOption(("-w",), "", "allow that"),
)

_BUFFERING = ("none", "line", "full")
_STAGES = ("ast", "codegen", "dis", "all")
_MODES = ("test", "bench", "format")

DOCTOR = Command(
    "doctor",
    "what this kernel and this user can do",
    ("[-v]",),
    (
        "First what works, then what does not and what would help; with -v every feature. The exit status is 0 if "
        "programs can run in the kernel, else 1.",
    ),
    (
        ManualSection(
            "Options", (ManualOption(("-v",), "", "every feature and setting, also what is as it should be"),)
        ),
    ),
)

RAW = Command(
    "raw",
    "show a file of --raw",
    ("FILE [OPTIONS]",),
    ("What was recorded is printed as it was then. The exit status is the argument of exit().",),
    (ManualSection("Options", _RECORDED),),
    (Example("sonde raw calls.raw", "what `sonde --raw calls.raw ...` has recorded"),),
    (FILE,),
)

RECORD = Command(
    "record",
    "trace, and write a perf.data file as well",
    (
        "[OPTIONS] -n PROGRAM [-g] [-o FILE] [-- COMMAND ...]",
        "[OPTIONS] -s SCRIPT.d [-g] [-o FILE] [-- COMMAND ...]",
        "[OPTIONS] --object FILE [-g] [-o FILE] [-- COMMAND ...]",
    ),
    (
        "The samples that sample() lets through, or the results of an object's programs, what processes map, execute "
        "and start, and what the program records go to a file that perf and `sonde read` show. All options of tracing "
        "are there, but -o names that file.",
    ),
    (
        ManualSection(
            "Options",
            (
                ManualOption(("-g",), "", "samples with their callers"),
                ManualOption(("-o",), "FILE", "the file, perf.data without it", (FILE,)),
                ManualOption(("--",), "COMMAND ...", "start it, as -c does, and record until it ends"),
            ),
        ),
    ),
    (
        Example(
            "sonde record -g -n 'profile-997 /arg0/ { sample(); }' -- make", "what a build does in the kernel, for perf"
        ),
    ),
    (FILE,),
)

EXPORT = Command(
    "export",
    "trace, and serve what is counted as metrics for Prometheus",
    (
        "[OPTIONS] -s SCRIPT.d [--listen ADDRESS]",
        "[OPTIONS] -n PROGRAM [--listen ADDRESS]",
        "[OPTIONS] FILE.bt|-e PROGRAM [--listen ADDRESS]",
        "[OPTIONS] bt ... [--listen ADDRESS]",
    ),
    (
        "Each aggregation is a metric, with a label for each part of its key: count() and sum() are counters, avg() a "
        "summary, min(), max() and stddev() gauges, quantize() and its like histograms. Maps of numbers of bpftrace's "
        "language are gauges. All options of tracing are there, or those of `bt`. Until ^C or exit() the metrics are "
        "at http://ADDRESS/metrics.",
    ),
    (
        ManualSection(
            "Options",
            (
                ManualOption(("--listen",), "ADDRESS", "HOST:PORT or PORT, 127.0.0.1:9435 without it"),
                ManualOption(("--label-sets",), "NUMBER", "of keys that a metric has at most, 1000 without it"),
                ManualOption(("--prefix",), "WORD", "how names of metrics begin, sonde without it"),
                ManualOption(("--gauge",), "NAME", "an aggregation with sum() that may fall"),
            ),
        ),
    ),
    (Example("sonde export -n 'syscall:::entry { @calls[execname] = count(); }'", "sonde_calls_total{execname=...}"),),
    (FILE,),
)

READ = Command(
    "read",
    "show a file of `sonde record`",
    ("[FILE] [OPTIONS]",),
    ("What was printed, and the samples as lines between it; perf.data without a name.",),
    (ManualSection("Options", _RECORDED),),
    (),
    (FILE,),
)

VERIFY = Command(
    "verify",
    "prove that a program uses memory by the rules and ends, without loading it",
    ("FILE [OPTIONS]", "-n PROGRAM [OPTIONS]"),
    (
        "FILE is a D script or a BPF object. The embedded engine's verifier looks at each program that it becomes. The "
        "exit status is 0 if all are accepted, else 1.",
        "Proved is that a program uses memory, references and helpers as the rules demand, and that a firing ends "
        "within a number of steps, which is told; for programs of objects no more than -xmaxsteps, which also is asked "
        "before they are run. Not proved is how often events fire a program, nor how long helpers take.",
    ),
    (
        ManualSection(
            "Options",
            (
                ManualOption(("-v",), "", "each program with what is known before each instruction"),
                ManualOption(("-n",), "DESCRIPTION", "a program instead of a file; -s, -f, -m, -P and -i as well"),
                ManualOption(("-x",), "NAME[=VALUE]", "set an option", ("setting",)),
                ManualOption(("--engine",), "NAME", "compile for that engine", ("kernel", "embedded")),
                ManualOption(("--map", "--program", "--attach"), "CHOICE", "what is chosen of a BPF object"),
            ),
        ),
    ),
    (),
    (FILE,),
)

VARS = Command(
    "vars",
    "list the variables at a point of a program",
    (
        "[--struct] OBJECT FUNCTION|FILE@LINE [VARIABLE ...]",
        "[--struct] [-k VMLINUX] kernel FUNCTION|FILE@LINE [VARIABLE]",
    ),
    (
        "The parameters and variables of a function, or what can be named at a line of the source, with their types "
        "and where each is live. The program needs debug information (-g), and so does the "
        "kernel; without it `kernel FUNCTION` tells the parameters that BTF has.",
    ),
    (
        ManualSection(
            "Options",
            (
                ManualOption(("--struct",), "", "the C structure that the variables are fetched into for a BPF object"),
                ManualOption(("-k", "--btf"), "VMLINUX", "the kernel's file with debug information", (FILE,)),
            ),
        ),
    ),
    (Example("sonde vars ./server parse.c@120", "what locals-> has at that line"),),
    (FILE,),
)

TEST = Command(
    "test",
    "run scripts as tests, and compare what they give",
    ("[-k TEXT] [-v] [--engine NAME] [--update] [PATH ...]",),
    (
        "PATH is a test file, *.sonde.toml, or a directory of them, the current one without a name. Such a file names "
        "a script, a command, a recording or a file of packets, and what is expected: the output, the exit status, "
        "assertions over aggregations. Without root cases run on the embedded engine.",
        "A line tells of each case, for a failure with the difference below it. The exit status is 0 if no case has "
        "failed, 1 if one has or a file is wrong, 2 if there is no case or the command line is wrong.",
    ),
    (
        ManualSection(
            "Options",
            (
                ManualOption(("-k",), "TEXT", "only cases with that in their name or their file's; all of several"),
                ManualOption(("-v",), "", "also the command line and the time of cases that pass"),
                ManualOption(("--engine",), "NAME", "only on that engine", ("kernel", "embedded", "both")),
                ManualOption(("--update",), "", "write into the files what is shown where it differs from `output`"),
            ),
        ),
    ),
    (Example("sonde test -v examples/tests", "sonde's own scripts are correct"),),
    (DIRECTORY,),
)

BT = Command(
    "bt",
    "run a program of bpftrace's language",
    ("[OPTIONS] -e PROGRAM [PARAMETER ...] [-- PARAMETER ...]", "[OPTIONS] FILE [PARAMETER ...] [-- PARAMETER ...]"),
    (
        "The program is compiled by sonde and traces in the kernel or on the embedded engine. A script whose name ends "
        "in .bt needs no `bt` before it, and called bpftrace by a link sonde is this command. PARAMETERs are $1 and so "
        "on, and behind `--` those that begin with two dashes are options that the program reads with getopt().",
    ),
    (
        ManualSection(
            "Options",
            (
                ManualOption(("-e",), "PROGRAM", "the program"),
                ManualOption(("-c", "--cmd"), "COMMAND", "start it, and trace until it has ended"),
                ManualOption(
                    ("-l", "--list"), "[SEARCH]", "list probes, those of the program, or structures: 'struct NAME'"
                ),
                ManualOption(("-v", "--verbose"), "", "with -l: also arguments, and members of structures"),
                ManualOption(("-p", "--pid"), "PID", "trace until that process has ended"),
                ManualOption(
                    ("-o", "--output"),
                    "FILE",
                    "write it anew with the output; *.arrow and *.parquet are tables, *.parquet/ a folder of them",
                    (FILE,),
                ),
                ManualOption(("-k", "--warnings"), "", "tell where a map has not the element that is asked of it"),
                ManualOption(("-q", "--quiet"), "", "do not say how many probes are attached"),
                ManualOption(("-f",), "FORMAT", "of the output: text or json", ("text", "json")),
                ManualOption(("--probe-filter",), "REGEX", "only probes whose name has it; begin and end always"),
                ManualOption(("-B",), "MODE", "how the output is buffered: it is always written at once", _BUFFERING),
                ManualOption(("-I",), "FOLDER", "look for files that C definitions include there, too", (FILE,)),
                ManualOption(("--include",), "FILE", "a file of C definitions, before those of the program", (FILE,)),
                ManualOption(("--unsafe",), "", "allow system()"),
                ManualOption(("--no-warnings",), "", "no warnings about the program"),
                ManualOption(("--dry-run",), "", "attach the probes, and end before any fires"),
                ManualOption(("--test",), "", "run the test probes of the program, and tell which have failed"),
                ManualOption(("--bench",), "", "run its bench probes, and tell how long they take"),
                ManualOption(
                    ("-d", "--debug"), "STAGE", "show what the program becomes, too: ast, codegen, dis or all", _STAGES
                ),
                ManualOption(("--fmt",), "", "show the program in its usual layout, and do not run it"),
                ManualOption(("--mode",), "MODE", "test, bench or format: as --test, --bench and --fmt", _MODES),
                ManualOption(
                    ("--aot",), "FILE", "write what was compiled to a spec file, which `sonde bt FILE` runs", (FILE,)
                ),
                ManualOption(("--info",), "", "what the kernel and sonde have for programs"),
                ManualOption(("--engine",), "NAME", "the kernel or the embedded engine", ("kernel", "embedded")),
                ManualOption(("-V", "--version"), "", "the version of the language"),
                ManualOption(("-h", "--help"), "", "this"),
            ),
        ),
        ManualSection(
            "For command lines of bpftrace",
            (
                ManualOption(("--no-feature",), "FEATURE", "accepted"),
                ManualOption(("--usdt-file-activation",), "", "accepted"),
                ManualOption(("--dwarf-pid",), "PID", "accepted"),
                ManualOption(("--debuginfo",), "FILE", "refused: sonde looks for it itself"),
                ManualOption(("--traceable-functions",), "FILE", "refused: sonde asks the kernel"),
            ),
        ),
    ),
    (Example("sonde bt -e 'tracepoint:syscalls:sys_enter_openat { @[comm] = count(); }'", "who opens files"),),
    (FILE,),
    "USAGE:",
)

HELP = Command(
    "help",
    "show how a command is used",
    ("[COMMAND]",),
    ("`sonde COMMAND --help` is the same.",),
    operands=("doctor", "raw", "record", "read", "export", "verify", "vars", "test", "bt", "completion"),
)

COMPLETION = Command(
    "completion",
    "print what completes sonde's command line in bash",
    ("bash",),
    ("Put `source <(sonde completion bash)` into ~/.bashrc. In zsh run `bashcompinit` before that.",),
    operands=("bash",),
)

OTHERS = (DOCTOR, RAW, RECORD, READ, EXPORT, VERIFY, VARS, TEST, BT, HELP, COMPLETION)
ALL = (TRACING, *OTHERS)


def command(name: str) -> Command | None:
    """The one of that name, "" for tracing."""
    return next((each for each in ALL if each.name == name), None)
