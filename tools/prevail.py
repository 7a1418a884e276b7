"""Run PREVAIL's refusals through the embedded engine's verifier.

    python3 tools/prevail.py DIRECTORY [-v]

DIRECTORY is `test-data` of a checkout of https://github.com/vbpf/ebpf-verifier. A case that expects an error message
must be refused; what is accepted is listed, with the verdict of this machine's kernel where it can be asked. Status 1
if anything is accepted that the kernel refuses.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import sys
from collections import Counter
from pathlib import Path

from prevail_cases import Case, read_cases
from prevail_programs import InexpressibleError, Translated, translate

from sonde.runtime.verifier.verify import Refusal, verify

TESTS = Path(__file__).parent.parent / "tests"

NOT_ERRORS = (
    (r"Code becomes unreachable", "only says that code is dead, which is allowed"),
    (r"Possible division by zero", "expects division by zero to be an error; eBPF defines its result"),
)


def exemption(case: Case) -> str:
    """Why a case with messages is no refusal, or ""."""
    for pattern, reason in NOT_ERRORS:
        if all(re.search(pattern, message) for message in case.messages):
            return reason
    return ""


PATIENCE = 120
"""Seconds for one case: some loop for longer than any verifier follows them."""


class PatienceError(Exception):
    """A case took too long."""


def _give_up(*_signal: object) -> None:
    raise PatienceError


def verdict_of(translated: Translated) -> str:
    """`accepted`, `refused`, or `not decided` in time."""
    signal.signal(signal.SIGALRM, _give_up)
    signal.alarm(PATIENCE)
    try:
        verify(translated.program, {one.name: one for one in translated.maps})
    except Refusal:
        return "refused"
    except PatienceError:
        return f"not decided in {PATIENCE} s"
    finally:
        signal.alarm(0)
    return "accepted"


def kernel_verdict(translated: Translated) -> str:
    """`accepts`, `refuses: why`, or `?` where there is no asking it."""
    if os.geteuid():
        return "?"
    sys.path[:0] = [str(TESTS)]
    from support.bpf.bpf_programs import Sample
    from support.bpf.kernel_machine import log_of
    from support.bpf.refusal_classes import reason

    from sonde.bpf.instructions import decode

    program = translated.program
    log = log_of(Sample(program.kind, tuple(decode(program.code)), program.map_references, translated.maps, b""))
    return "accepts" if log is None else f"refuses: {reason(log)}"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("-v", action="store_true", dest="verbose", help="also list what cannot be expressed")
    given = parser.parse_args()
    found: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    wrong = 0
    for case in read_cases(given.directory):
        if not case.messages:
            continue
        found["cases with messages"] += 1
        reason = exemption(case)
        try:
            translated = translate(case)
        except InexpressibleError as error:
            reason = reason or str(error)
        if reason:
            reasons[reason] += 1
            if given.verbose:
                print(f"left out: {case.file}: {case.name}: {reason}")
            continue
        found["expressed"] += 1
        decision = verdict_of(translated)
        if decision != "accepted":
            found[decision] += 1
            if decision != "refused":
                print(f"{decision}: {case.file}: {case.name}")
            continue
        verdict = kernel_verdict(translated)
        wrong += verdict.startswith("refuses")
        found["accepted, as the kernel does" if verdict == "accepts" else "accepted"] += 1
        print(f"accepted: {case.file}: {case.name}: {case.messages[0]}; the kernel {verdict}")
    for what, number in found.items():
        print(f"{number:5} {what}")
    for why, number in reasons.most_common():
        print(f"{number:5} left out: {why}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
