"""One program before the kernel's verifier and the embedded engine's."""

import re

from sonde.runtime.verifier.rules import USUAL
from sonde.runtime.verifier.verify import Refusal, verify
from support.bpf.kernel_machine import RefusedError, loaded, log_of
from support.bpf.refusal_classes import SAFETY, classify, kind_of

BOTH_ACCEPT, BOTH_REFUSE, OVER_REFUSAL, WRONG, FORM_ONLY = (
    "both accept", "both refuse", "only the engine refuses", "only the kernel refuses, for safety",
    "only the kernel refuses, not for safety",
)  # fmt: skip


def kernel_log(sample):
    """None if the kernel takes the program, else why not."""
    try:
        with loaded(sample):
            return None
    except RefusedError:
        return log_of(sample) or ""


def refusal(program, maps, rules=USUAL):
    """The engine's refusal, or None."""
    try:
        verify(program, maps, rules=rules)
    except Refusal as found:
        return found
    return None


def compare(sample, rules=USUAL):
    """One of the verdicts, and the kind of the refusal where only one refuses."""
    return compare_by(sample, (rules,))[0]


def compare_by(sample, every_rules):
    """The same by each of the rules."""
    log = kernel_log(sample)
    known = {spec.name: spec for spec in sample.maps}
    return [judge(log, refusal(sample.spec(), known, rules)) for rules in every_rules]


def judge(log, refused):
    """The verdict, from the kernel's log (None: accepted) and the engine's refusal (None: accepted)."""
    if log is None:
        return (
            (BOTH_ACCEPT, "")
            if refused is None
            else (OVER_REFUSAL, re.sub(r"-?\b(0x)?[0-9a-f]*\d[0-9a-f]*\b", "N", str(refused)))
        )
    if refused is not None:
        return BOTH_REFUSE, ""
    return (WRONG if classify(log) in SAFETY else FORM_ONLY), f"{classify(log)}: {kind_of(log)}"
