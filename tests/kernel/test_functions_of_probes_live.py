"""What functions give in a probe of the kernel is what Python gives itself."""

from support.python.functions_of_probes import ARGUMENTS, FUNCTIONS, expected, given


def test_functions_give_what_python_gives():
    some = ARGUMENTS[3:5]
    assert given(FUNCTIONS, some, "kernel") == expected(FUNCTIONS, some)
