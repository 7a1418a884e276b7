"""Files that make no sense are refused with a message, or have no such probe, where a description names them."""

import contextlib
import random

import pytest
from support.symbols.compiled_objects import compiled, needs_gcc

from sonde.model.errors import SourceError
from sonde.providers.pattern import Pattern
from sonde.providers.user_functions import UserFunctions

pytestmark = needs_gcc

DESCRIPTIONS = ("loop:", "*:entry", "program.c@40:", "loop:3", "main:return")


def damaged(data, chance):
    """A copy that is cut off or has bits turned over, most of them in the headers and tables that all else hangs on."""
    found = bytearray(data[: chance.randrange(len(data))] if chance.random() < 0.3 else data)
    for _ in range(chance.choice((1, 3, 20)) if found else 0):
        end = chance.choice((64, 1000, len(found)))
        at = chance.randrange(min(end, len(found)))
        if chance.random() < 0.3:
            at = len(found) - 1 - chance.randrange(min(2600, len(found)))
        found[at] ^= 1 << chance.randrange(8)
    return bytes(found)


@pytest.mark.share(30)
@pytest.mark.parametrize("seed", range(40))
def test_a_damaged_file(tmp_path, seed):
    chance = random.Random(seed)
    with open(compiled("-O2"), "rb") as file:
        data = file.read()
    path = tmp_path / "damaged"
    path.write_bytes(damaged(data, chance))
    for text in DESCRIPTIONS:
        pattern = Pattern("uprobe", str(path), *text.split(":"))
        functions = UserFunctions()
        with contextlib.suppress(SourceError):
            assert functions.match(pattern) or functions.mismatch(pattern)
