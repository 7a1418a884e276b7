"""A case run and judged: what it gave against what its file expects."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from shutil import which

from sonde.frontends.d.report.messages import tells_of_mishap
from sonde.library.engines import engine_for
from sonde.library.errors import NotPermittedError
from sonde.library.inspection import capabilities
from sonde.library.testing.case import BOTH, EMBEDDED, KERNEL, CaseVerdict, Ran, ScriptCase
from sonde.library.testing.expressions import Evaluation, ExpressionError, parsed
from sonde.library.testing.matching import contains, difference, matches
from sonde.library.testing.patience import TooSlowError, bounded
from sonde.library.testing.placeholders import Line, lines_of, literal, plain_lines
from sonde.library.testing.reading import text_of_file
from sonde.library.testing.running import MOST, TEMPORARY, CaseRunError, run
from sonde.model.options import OptionTable
from sonde.visible import visible
from sonde.written_files import temporary_directory

_SONDE = "sonde: "
"""What its messages begin with."""

_MOST_LINES = 20
_LONGEST, _MOST_COMPARED = 200, 5000


def check(case: ScriptCase, allowed: Sequence[str] = (EMBEDDED, KERNEL)) -> CaseVerdict:
    """Run a case on those of its engines that are allowed. Errors of the case are failures."""
    begin = time.monotonic()
    engines = [each for each in case.engines if each in allowed]
    if not engines:
        return CaseVerdict(case, skipped=f"it is for the {case.engine} engine")
    refusal = _kernel_refusal() if KERNEL in engines else ""
    if refusal:
        engines.remove(KERNEL)
    skipped = missing(case) or (refusal if not engines else "")
    if skipped:
        return CaseVerdict(case, skipped=skipped)
    runs: list[Ran] = []
    failures: list[str] = []
    for engine in engines:
        found = _one(case, engine, runs)
        failures += [f"on the {engine} engine: {each}" for each in found] if case.engine == BOTH else found
    if len(runs) == 2 and not failures:
        failures += _unequal(case, *runs)
    return CaseVerdict(case, tuple(failures), "", refusal, tuple(runs), time.monotonic() - begin)


def missing(case: ScriptCase) -> str:
    """What a case needs and this machine has not, "" if it has all: a program, or a feature of `sonde doctor -v`."""
    features = None
    for name in case.needs:
        if which(name):
            continue
        if features is None:
            features = capabilities.capabilities()
        if name not in features:
            return f"needs {name}, which is not installed"
        if not features[name]:
            return f"needs {name}: {features[name].why}"
    return ""


def _kernel_refusal() -> str:
    """Why this user may not trace with the kernel, "" if that is permitted."""
    try:
        engine_for(KERNEL, OptionTable())
    except NotPermittedError as error:
        return error.text
    return ""


def _one(case: ScriptCase, engine: str, runs: list[Ran]) -> list[str]:
    """What is wrong with one run, which is added to the others."""
    try:
        with temporary_directory("sonde-test-") as temporary:
            ran = run(case, engine, temporary)
    except CaseRunError as error:
        return [str(error)]
    runs.append(ran)
    try:
        with bounded():
            return [*failures_of(case, ran)]
    except TooSlowError as error:
        return [f"what is expected cannot be compared: {error}"]


def failures_of(case: ScriptCase, ran: Ran) -> Iterator[str]:
    """What is wrong, each a text of one line or several."""
    if ran.is_late:
        yield "\n".join([f"it has not ended after {case.timeout:g} s", *_end_of("stderr", ran.errors)])
        return
    if ran.status != case.status:
        text = f"the exit status is {ran.status}, expected was {case.status}"
        yield "\n".join([text, *_end_of("stderr", ran.errors)])
    elif case.stderr is None and not case.stderr_contains:
        said = (each for each in ran.errors.split("\n") if each.startswith(_SONDE))
        mishaps = [each for each in said if tells_of_mishap(each.removeprefix(_SONDE), case.losses)]
        if mishaps:
            yield "\n".join(["sonde tells of a mishap, which no `stderr` expects", *_indented(mishaps)])
    yield from _of_text("output", expected_output(case), case.output_contains, case.output_lacks, ran.output, ran)
    yield from _of_text("command-output", case.command_output, (), (), ran.command_output, ran)
    yield from _of_text("stderr", case.stderr, case.stderr_contains, case.stderr_lacks, ran.errors, ran)
    yield from _of_aggregations(case, ran)


def expected_output(case: ScriptCase) -> str | None:
    """What the case or its file of output has, None if nothing is expected. Raises CaseFileError."""
    return text_of_file(output_path(case)) if case.output_file else case.output


def output_path(case: ScriptCase) -> str:
    """Where the file of output is."""
    return f"{case.directory}/{case.output_file}"


def _of_text(
    what: str, whole: str | None, parts: Sequence[str], absent: Sequence[str], shown: str, ran: Ran
) -> Iterator[str]:  # fmt: skip
    lines = plain_lines(shown)
    expected = _lines(whole, ran) if whole is not None else None
    behind = ran.behind.get(what, 0)
    if behind and (expected is not None or parts or absent):
        yield f"{what} is too long: {behind} lines more than the {len(lines)} that are looked at ({MOST >> 20} MiB)"
    if expected is not None and not matches(expected, lines):
        yield "\n".join([f"{what} differs (- expected, + shown)", *difference(expected, lines, behind)])
    for part in parts:
        if not contains(_lines(part, ran), lines):
            yield "\n".join([f"{what} does not contain {_quoted(part)}", *(_near(part, lines) or _end_of(what, shown))])
    for part in absent:
        if contains(_lines(part, ran), lines):
            yield "\n".join([f"{what} contains {_quoted(part)}", *_end_of(what, shown)])


def _lines(text: str, ran: Ran) -> list[Line]:
    return lines_of(text.replace(TEMPORARY, ran.temporary))


def _of_aggregations(case: ScriptCase, ran: Ran) -> Iterator[str]:
    for text in case.aggregations:
        evaluation = Evaluation(ran.aggregations or {})
        try:
            if not evaluation.holds(parsed(text.replace(TEMPORARY, ran.temporary))):
                yield "\n".join([f"aggregations: {visible(text)}", *_indented(evaluation.found)])
        except ExpressionError as error:
            yield "\n".join([f"aggregations: {visible(text)}", *_indented([str(error)])])


def _unequal(case: ScriptCase, one: Ran, other: Ran) -> Iterator[str]:
    """The outputs of both engines, unless the case says what may differ in them."""
    if expected_output(case) is not None:
        return
    lines, others = (plain_lines(each.output.replace(each.temporary, TEMPORARY)) for each in (one, other))
    if lines != others:
        heading = f"the engines differ (- {one.engine}, + {other.engine})"
        yield "\n".join([heading, *difference([literal(each) for each in lines], others)])


def _quoted(text: str) -> str:
    return f'"{visible(text.strip())}"'


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"  {visible(each)}" for each in lines]


def _near(part: str, lines: Sequence[str]) -> list[str]:
    """Lines that the part may have meant."""
    found = get_close_matches(part.strip()[:_LONGEST], [each[:_LONGEST] for each in lines[:_MOST_COMPARED]], 3, 0.7)
    return [f"  close to it: {visible(each)}" for each in found]


def _end_of(what: str, text: str) -> list[str]:
    """The last lines of a text."""
    lines = plain_lines(text)
    if not lines:
        return [f"  {what} is empty"]
    more = [f"  ... of {len(lines)} lines"] if len(lines) > _MOST_LINES else []
    return [*more, *(f"  {visible(each)}" for each in lines[-_MOST_LINES:])]
