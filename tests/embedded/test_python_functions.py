"""What functions give in a probe is what Python gives itself."""

import pytest
from python_functions import ARGUMENTS, FUNCTIONS

import sonde
from sonde import probe, thread

AT_ONCE = 8
"""Functions of one run."""


def asking(function, first, second):
    """Probe functions that print what a function gives."""

    @probe("BEGIN")
    def asked(p):
        thread.first = first
        thread.second = second
        print(function(thread.first, thread.second))

    return asked


@probe("BEGIN")
def done():
    exit(0)


@pytest.mark.parametrize("start", range(0, len(FUNCTIONS), AT_ONCE))
def test_functions_give_what_python_gives(start):
    some = FUNCTIONS[start : start + AT_ONCE]
    probes = [asking(function, *each) for function in some for each in ARGUMENTS]
    with sonde.run(*probes, done, engine="embedded", options={"strsize": 64}) as run:
        events = [*run]
    assert not [each for each in events if isinstance(each, (sonde.ProbeError, sonde.Loss))]
    found = iter([event[0] for event in events if isinstance(event, sonde.Record)])
    given = {function.__name__: [next(found) for _ in ARGUMENTS] for function in some}
    assert given == {function.__name__: [function(*each) for each in ARGUMENTS] for function in some}
    assert next(found, None) is None
