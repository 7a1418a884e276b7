"""What the kernel has refused is told with the place in the program, and the language that it is in."""

import pytest

from sonde.library.errors import engine_error
from sonde.model.errors import EngineError


@pytest.mark.parametrize(
    ("place", "language"),
    [
        ("<command line>:1", "D"),
        ("/tmp/counts.d:3", "D"),
        ("probes.py:7", "Python"),
        ("<python-input-0>:2", "Python"),
        ("<ipython-input-3-0123>:2", "Python"),
    ],
)
def test_the_language_is_that_of_the_place(place, language):
    error = EngineError("the kernel refuses program p0", place=place)
    assert f"the {language} code it was made from is at {place}" in engine_error(error).remedy
