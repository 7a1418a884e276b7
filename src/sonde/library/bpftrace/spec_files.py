"""Compiled programs of bpftrace's language in spec files: written by --aot, and run."""

from __future__ import annotations

from collections.abc import Callable

from sonde.frontends.bpftrace.report.ending import ending_of
from sonde.frontends.bpftrace.report.text import BtReport
from sonde.library.bpftrace.programs import LANGUAGE, BtProgram
from sonde.library.errors import ScriptError
from sonde.library.foreground import Job, Outlet, require_allowed, run_here
from sonde.library.holding import Held
from sonde.library.outputs import OUTPUT, emptied
from sonde.library.settings import OptionTable
from sonde.library.spec_file import SpecFile, damaged, harm_of, options_of, save
from sonde.report.output import Showing
from sonde.session.participants import MakeReport


def save_program(path: str, program: BtProgram, options: OptionTable) -> None:
    """Write a spec file of a program that was compiled for other kernels, too. Raises ScriptError."""
    made = program.made
    parts = [(title, program.attached) for title, _ in made.matched()]
    save(path, made.spec, made.registry, parts, options.kept(), made.checked.is_destructive)


def run_compiled(
    path: str, content: SpecFile, options: OptionTable, held: Held, output: str | None, tell: Callable[[str], None],
    attached: Callable[[], None], is_json: bool, warns: bool,
) -> int:  # fmt: skip
    """Trace to the end; returns the argument of exit(). Raises Error."""
    if content.spec.language != LANGUAGE:
        hint = f"run it with sonde --spec {path}"
        raise ScriptError(f"{path} is no program of bpftrace's language: it was compiled of another", hint)
    job = job_of_file(content, options)
    require_allowed(job)
    with damaged(path):
        ending = ending_of(content.spec)._replace(is_json=is_json, warns=warns)

    def report_to(outlet: Outlet) -> MakeReport:
        return lambda spec, shown: BtReport(spec, shown, Showing(outlet.descriptor, outlet.names), ending)

    output = emptied(output, OUTPUT)
    with damaged(path):
        return run_here(job, held, tell, output=output, attached=attached, report_to=report_to).status


def job_of_file(content: SpecFile, options: OptionTable) -> Job:
    """What is to be traced."""
    reason = harm_of(content)
    return Job(content.spec, options, content.destructive or bool(reason), reason, program=LANGUAGE, is_foreign=True)


def restore_options(content: SpecFile, options: OptionTable) -> None:
    """Those that were compiled in."""
    options.restore(options_of(content))
