"""The library from outside: what it costs to import, and its types."""

import pkgutil
import subprocess
import sys
import textwrap

import pytest

import sonde

PROGRAM = """
    import asyncio
    import sonde

    def shortest() -> int:
        with sonde.trace("BEGIN { trace(1); exit(0); }", command=["true"], duration=1.5) as run:
            for event in run:
                match event:
                    case sonde.Record():
                        value: int = event["1"] + event[0] + event.time + event.cpu
                        print(event.probe.function.upper(), value, len(event))
                    case sonde.Loss(kind, lost, cpu, text):
                        print(kind.upper(), lost + 1, cpu, text)
                    case sonde.Aggregation(names, rows):
                        print(names[0].upper(), [key[0] for key in rows])
                    case sonde.Exit(end):
                        return end
        status: int | None = run.exit_status
        return status or 0

    async def in_a_task(script: sonde.Script) -> list[sonde.Event]:
        with script.run(engine="embedded", output="text") as run:
            return [event async for event in run]

    def counted(run: sonde.Run) -> float:
        value = run.aggregations["calls"]["read"]
        if isinstance(value, sonde.Quantize):
            bucket: sonde.Bucket = value.buckets[0]
            return value.percentile(99) + bucket.count + value.merge(value).total
        assert isinstance(value, sonde.Average)
        return float(value) + value.count

    script: sonde.Script = sonde.compile("BEGIN { exit($1); }", arguments=[3], options={"quiet": True, "bufsize": "4m"})
    try:
        events: list[sonde.Event] = asyncio.run(in_a_task(sonde.load("x.d")))
    except sonde.CompileError as error:
        print(error.line + 1, error.tag.upper(), error.source_line)
    except (sonde.NotPermittedError, sonde.Error) as error:
        print(error.text, error.remedy)
    found: tuple[sonde.ListedProbe, ...] = sonde.probes("syscall:::")
    types: tuple[str, ...] = tuple(argument.type for probe in found for argument in probe.arguments)
    states: dict[str, str] = {name: each.state for name, each in sonde.capabilities().items()}
    where: list[tuple[str, int]] = [(each.name, each.address) for each in sonde.variables("/bin/true", "main")]
    again: list[sonde.Event] = list(sonde.read("run.raw"))
    with open("run.txt", "w") as file:
        shown: sonde.Shown = sonde.show("run.raw", file, options={"quiet": True}, performs=False)
        print(shown.exit_status + shown.records, shown.damage.upper())
    able: dict[str, bool] = {name: bool(each) for name, each in sonde.abilities(sonde.capabilities()).items()}
    live: list[int] = [low for at in sonde.points("/bin/true", "x.c@3") for v in at.variables for low, _ in v.live]
    layouts: list[str] = [f"{each.size + 1} {each.declaration}" for each in sonde.structures("/bin/true", "main")]
    declared: tuple[str, ...] = sonde.declarations("kernel", "vfs_read", ["count"])
    returns: str = sonde.kernel_function("vfs_read").returns
    proofs: list[tuple[str, int, str]] = [(each.kind, each.steps, each.listing) for each in script.verify(listing=True)]
    built: tuple[str, bytes] = sonde.provider_header("provider p { probe a(); };"), sonde.provider_object("")
"""

PROBES = """
    import sonde
    from sonde import Firing, cast, copyinstr, count, exit, kernel, lquantize, probe, quantize, thread, u32

    reads, linear, calls = quantize("bytes by process"), lquantize(base=0, limit=10), count()
    starts: dict[int, int] = {}

    @probe("syscall::read:entry")
    def entered(p: Firing) -> None:
        thread.size = p.args[2]
        starts[p.tid] = u32(p.arg0) + cast("struct file *", p.arg1).f_pos

    @probe("syscall::read:return", "syscall::write:return")
    def left(p: Firing) -> None:
        if p.arg0 > 0 and thread.size:
            reads[p.execname, "x"].add(p.arg0)
            linear.add(p.arg0, weight=2)
            calls.add()
            print(copyinstr(p.arg0), kernel.jiffies, starts[p.tid])
            del starts[p.tid], thread.size
        exit(0)

    script: sonde.Script = sonde.compile([entered, left])
    title: str = reads.title
    with sonde.run(entered, left, command=["ls", "-l"], engine="embedded") as run:
        events: list[sonde.Event] = [*run]
    with sonde.trace(left) as other:
        status: int = other.wait()
"""


def run(code, *words):
    done = subprocess.run([sys.executable, *words, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout


def test_an_import_imports_the_finder_of_modules_alone():
    before = "import sys; before = set(sys.modules); import sonde; print(*sorted(set(sys.modules) - before))"
    own = [name for name in run(before).split() if name.partition(".")[0] == "sonde"]
    assert own == ["sonde", "sonde.lazy"]


def test_every_name_is_there_when_it_is_used():
    assert sorted(set(sonde.__all__) - {name for name in sonde.__all__ if getattr(sonde, name) is not None}) == []
    assert set(sonde.__all__) <= set(dir(sonde))
    with pytest.raises(AttributeError, match="nothing_such"):
        _ = sonde.nothing_such


def test_no_name_of_the_library_is_a_packages():
    """A module that is imported becomes an attribute of its package, and would hide the name."""
    modules = {each.name for each in pkgutil.iter_modules(sonde.__path__)}
    assert not modules & set(sonde.__all__)


@pytest.mark.long
@pytest.mark.parametrize("program", [PROGRAM, PROBES], ids=["library", "probes"])
def test_a_users_program_passes_mypy(program, tmp_path):
    pytest.importorskip("mypy")
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(program))
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir", str(tmp_path), str(path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")
