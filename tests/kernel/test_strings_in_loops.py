"""Short strings are on the stack of a loop's body, which is a function of its own: they are what they are outside."""

import pytest
from support.command.command import sonde

TEXTS = {
    "lltostr(7)": "7", 'strstr("key=value", gt)': "ey=value", "gt": "e", '"k"': "k", "cleanpath(probeprov)": "dtrace",
    'substr("abcdef", 2)': "cdef",
}  # fmt: skip


@pytest.mark.share(1)
@pytest.mark.parametrize("first", TEXTS)
@pytest.mark.parametrize("second", TEXTS)
def test_strings_are_joined_within_loops(first, second):
    shown = f'printf("%s %s\\n", strjoin({first}, "-"), strjoin({second}, strjoin("+", {first})));'
    loop = f"for (this->i = 0; this->i < 3; this->i++) {{ {shown} }}"
    done = sonde("-qn", f'string gt; BEGIN {{ gt = "e"; {loop} exit(0); }}')
    line = f"{TEXTS[first]}- {TEXTS[second]}+{TEXTS[first]}"
    assert [each for each in done.stdout.split("\n") if each] == 3 * [line], done.stderr
