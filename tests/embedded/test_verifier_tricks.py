"""Programs that would trick a verifier are refused, each where it goes wrong."""

import pytest
from support.bpf.verified import outcome
from support.bpf.verifier_tricks import TRICKS


@pytest.mark.share(75)
@pytest.mark.parametrize(("kind", "text", "wanted"), TRICKS)
def test_a_trick_is_seen(kind, text, wanted):
    reason = outcome(text, kind)
    assert reason
    assert wanted in reason
