"""Cells of the matrix language x way x output: what is run for each, in a process of its own, and its answer."""

import contextlib
import io
import json
import os
import re
import signal
import sys
import traceback
from pathlib import Path
from typing import NamedTuple

import sonde
from sonde.cli.main import main
from sonde.formats import pprof, speedscope
from support.command import sink_programs

COMMAND = "/bin/true"
ENGINES = ("kernel", "embedded")
WAYS = ("live kernel", "live embedded", "spec kernel", "spec embedded", "raw", "read", "replay")
"""How a program comes to its output: traced from its source or from a spec file; from a raw file; from what `sonde
record` has written; run again on a recording of its firings."""

FORMATS = {
    "text": [], "json": ["-f", "json"], "arrow": ["-f", "arrow", "-o", "it.arrow"], "parquet": ["-o", "it.parquet"],
}  # fmt: skip
PICTURES = {
    "flame": ["--flame", "it.html"], "folded": ["--folded", "it.folded"], "heatmap": ["--heatmap", "it.html"],
    "pprof": ["--pprof", "it.pprof"], "speedscope": ["--speedscope", "it.speedscope"],
}  # fmt: skip
FILES = {"raw file": ["--raw", "it.raw"], "packets": ["-o", "it.pcapng"]}
WORDS = FORMATS | PICTURES | FILES
OWN = ("export", "perf.data")
"""Outputs that are commands of their own."""
LIBRARY = ("events", "library text", "library arrow", "descriptor", "notebook")
OUTPUTS = (*WORDS, *OWN, *LIBRARY)

PORT = 19435
_FETCH = f"exec 3<>/dev/tcp/127.0.0.1/{PORT}; echo -e 'GET /metrics HTTP/1.0\\r\\n\\r' >&3; cat <&3 >it.metrics"
FETCH = f'/bin/bash -c "{_FETCH}"'


class Cell(NamedTuple):
    language: str
    way: str
    output: str

    @property
    def kind(self):
        return self.way.partition(" ")[0]

    @property
    def engine(self):
        return self.way.partition(" ")[2] or ("kernel" if self.way in ("raw", "read") else "embedded")

    def __str__(self):
        return "-".join(self).replace(" ", "_")


class Outcome(NamedTuple):
    status: int
    out: bytes
    err: str


def in_child(directory, work):
    """The status, output and messages of work in a process of its own, in a directory."""
    out, err = (os.memfd_create(name) for name in ("out", "err"))
    child = os.fork()
    if not child:
        _work_and_end(directory, work, out, err)
    _, status = os.waitpid(child, 0)
    found = []
    for each in (out, err):
        with open(each, "rb") as file:
            file.seek(0)
            found.append(file.read())
    return Outcome(os.waitstatus_to_exitcode(status), found[0], found[1].decode(errors="replace"))


def _work_and_end(directory, work, out, err):
    status = 70
    try:
        os.chdir(directory)
        os.dup2(out, 1)
        os.dup2(err, 2)
        files = [open(number, "wb", 0, closefd=False) for number in (1, 2)]  # noqa: SIM115 (the process ends)
        sys.stdout, sys.stderr = (io.TextIOWrapper(each, write_through=True) for each in files)
        try:
            status = work() or 0
        except sonde.Error as error:
            print(f"sonde: {error}", file=sys.stderr)
            status = 1
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


@contextlib.contextmanager
def _signals_as_they_are():
    """The command sets some for its process."""
    earlier = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGPIPE, signal.SIGTERM)}
    earlier[signal.SIGUSR1] = signal.getsignal(signal.SIGUSR1)
    try:
        yield
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)


class Prepared:
    """Scripts by language and engine, and the files that ways read, made when they are first wanted."""

    def __init__(self, directory):
        self._directory = directory
        self._scripts = {}
        self._import_for_children()

    def _import_for_children(self):
        """What is imported here children need not import."""
        import pyarrow.parquet  # noqa: F401

        path = str(self._directory / "warm")
        with _signals_as_they_are():
            main(["sonde", "--engine", "embedded", "-qn", "BEGIN { @ = count(); exit(0); }", "-o", path, "-f", "json"])
            main(["sonde", "bt", "--engine", "embedded", "-q", "-e", "begin { @ = count(); exit(); }", "-o", path])

    def script(self, language, engine, **options):
        key = language, engine, *options.items()
        if key not in self._scripts:
            program = sink_programs.PROGRAMS[language]
            self._scripts[key] = sonde.compile(program, language, engine=engine, options=options)
        return self._scripts[key]

    def spec(self, language, engine, **options):
        path = self._directory / f"{language}.{engine}{''.join(options)}.spec"
        if not path.exists():
            self.script(language, engine, **options).save(str(path))
        return str(path)

    def raw(self, language):
        return self._run(language, "raw", lambda path: ["--raw", path, "--spec", self.spec(language, "kernel")])

    def perf(self, language):
        """What `sonde record` has written."""
        spec = self.spec(language, "kernel", output="perf")
        return self._run(language, "perf", lambda path: ["record", "-o", path, "--spec", spec])

    def recording(self, language):
        """Of firings."""
        return self._run(language, "rec", lambda path: ["--record", path, "--spec", self.spec(language, "embedded")])

    def _run(self, language, kind, words):
        path = self._directory / f"{language}.{kind}"
        if not path.exists():
            done = in_child(self._directory, lambda: main(["sonde", *words(str(path)), "-c", COMMAND]))
            assert done.status == 0, done
        return str(path)


# Cells


def has_way(cell):
    """Whether there is a command, or a call of the library, for a cell."""
    is_library = cell.output in LIBRARY
    if cell.output == "notebook":
        # Cells of notebooks are programs in a text.
        return cell.kind == "live" and cell.language != "python"
    if cell.kind in ("raw", "read"):
        return cell.output not in (*OWN, "library text", "library arrow")
    if cell.kind == "replay":
        # `sonde bt` has no --replay, and spec files are not replayed.
        return is_library or (cell.language == "d" and cell.output not in OWN)
    if cell.kind == "live" and cell.language == "python":
        # No command takes functions.
        return is_library
    # -f json of `sonde bt` is bpftrace's own, and `sonde record` has no bt.
    return not (cell.kind == "live" and cell.language == "bpftrace" and cell.output in ("json", "perf.data"))


def run(cell, made, directory):
    work = _library if cell.output in LIBRARY else _command
    return in_child(directory, lambda: work(cell, made))


def _command(cell, made):
    return main(["sonde", *_words(cell, made)])


def _words(cell, made):
    words, program = WORDS.get(cell.output, []), sink_programs.PROGRAMS[cell.language]
    first, command = [], ["-c", COMMAND]
    if cell.output == "export":
        first, words, command = ["export"], ["--listen", f"127.0.0.1:{PORT}"], ["-c", FETCH]
    elif cell.output == "perf.data":
        first, words = ["record"], ["-o", "it.perf"]
    match cell.kind, cell.language:
        case "live", "d":
            return [*first, *words, "--engine", cell.engine, *command, "-n", program]
        case "live", _:
            own = [] if first else words
            return [*first, *(words if first else ()), "bt", "-q", "--engine", cell.engine, *own, *command,
                    "-e", program]  # fmt: skip
        case "spec", _:
            wants_times = cell.output == "perf.data" and cell.engine == "kernel"
            options = {"output": "perf"} if wants_times else {}
            return [*first, *words, "--spec", made.spec(cell.language, cell.engine, **options), *command]
        case "replay", _:
            return [*words, "--replay", made.recording(cell.language), "-n", program]
    file = made.raw(cell.language) if cell.kind == "raw" else made.perf(cell.language)
    return [cell.kind, *words, file]


def _library(cell, made):
    if cell.kind in ("raw", "read"):
        path = made.raw(cell.language) if cell.kind == "raw" else made.perf(cell.language)
        if cell.output == "descriptor":
            return sonde.show(path, 1).exit_status
        for event in sonde.read(path):
            _print(event)
        return 0
    if cell.output == "notebook":
        return _notebook(cell)
    command = COMMAND
    if cell.kind == "spec":
        script = sonde.load(made.spec(cell.language, cell.engine))
    elif cell.kind == "live":
        script = made.script(cell.language, cell.engine)
    else:
        script, command = made.script(cell.language, "embedded", replay=made.recording(cell.language)), None
    output = {"events": None, "library text": "text", "library arrow": "arrow", "descriptor": 1}[cell.output]
    with script.run(command, engine=script.engine, output=output) as traced:
        for event in traced:
            _print(event)
    return 0


def _print(event):
    match event:
        case sonde.Text(text):
            os.write(1, text)
        case sonde.TableBatch(name, table):
            for each in table.to_pylist():
                print(name, _plain(each))
        case sonde.Message() | sonde.ProbeError() | sonde.Loss():
            print(event.text, file=sys.stderr)
        case sonde.Record():
            print(str(event.probe), dict(zip(event.names, event.values, strict=True)))
        case sonde.Aggregation():
            print(event)


def _plain(row):
    return {name: value for name, value in row.items() if name not in ("time", "cpu") and value is not None}


def _notebook(cell):
    from sonde.library.notebook.arguments import CellRequest
    from sonde.library.notebook.cell import begun
    from sonde.library.notebook.view import CellView

    request = CellRequest(cell.language, COMMAND, engine=cell.engine)
    trace = begun(request, sink_programs.PROGRAMS[cell.language])
    trace.wait()
    trace.require_well()
    text = CellView(trace).text()
    trace.close()
    print(*sorted(text.splitlines()[1:]), sep="\n")
    return 0


# Answers


def normal(text):
    """Text without what differs from run to run: addresses, places in programs, times, CPUs."""
    text = re.sub(r"([\w.]+`)?_exit\+\w+|0x[0-9a-f]{9,}", "FRAME", text)
    text = re.sub(r"BPF pc \d+", "BPF pc N", text)
    return re.sub(r"(time|cpu|address)('?: ?|=)\d+", r"\1\2N", text)


OTHERS = re.compile("mapping drops? ")
"""What is lost where the rest of the machine is busy."""


def messages(text):
    """The lines of messages, whoever they are from."""
    lines = [re.sub("^(sonde|WARNING): ", "", line) for line in normal(text).splitlines()]
    return sorted(line for line in lines if line.strip() and not OTHERS.search(line))


def value(cell, done, directory):
    """The output in a form that is the same for each way."""
    match cell.output:
        case "json":
            # Losses are told as they are found.
            found = (normal(str(_event(json.loads(line)))) for line in done.out.splitlines())
            return sorted(each for each in found if not OTHERS.search(each))
        case "arrow" | "parquet":
            return normal(str({path.name: _rows(path) for path in sorted(directory.glob("it.*"))}))
        case "folded":
            return normal((directory / "it.folded").read_text())
        case "pprof":
            return _stacks(pprof.read((directory / "it.pprof").read_bytes()))
        case "speedscope":
            return _stacks(speedscope.read((directory / "it.speedscope").read_text()))
        case "flame" | "heatmap":
            return [(each.name, sorted({*re.findall(r"@(\w+)", each.read_text())})) for each in _pictures(directory)]
        case "export":
            found = (directory / "it.metrics").read_text().partition("\r\n\r\n")[2]
            return sorted(each for each in found.splitlines() if "sonde_st" not in each and each[:1] != "#")
        case "library arrow":
            # Tables come as time passes.
            return sorted(each for each in normal(done.out.decode()).splitlines() if not OTHERS.search(each))
        case "raw file":
            return normal(in_child(directory, lambda: main(["sonde", "raw", "it.raw"])).out.decode())
        case "perf.data":
            return normal(in_child(directory, lambda: main(["sonde", "read", "it.perf"])).out.decode())
    return normal(done.out.decode(errors="replace"))


def _pictures(directory):
    return sorted(directory.glob("it*.html"))


def _event(found):
    return {name: part for name, part in found.items() if name not in ("time", "cpu")}


def _rows(path: Path):
    import pyarrow.ipc
    import pyarrow.parquet

    read = pyarrow.parquet.read_table if path.suffix == ".parquet" else _stream
    return sorted(str(_plain(row)) for row in read(path).to_pylist() if not OTHERS.search(row.get("text") or ""))


def _stream(path):
    import pyarrow.ipc

    return pyarrow.ipc.open_stream(path.read_bytes()).read_all()


def _stacks(profile):
    frames = [normal(frame.name) for frame in profile.frames]
    return sorted((tuple(frames[each] for each in stack), count) for stack, count in profile.stacks.items())
