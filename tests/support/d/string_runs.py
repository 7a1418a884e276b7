"""Programs over strings, fired with variables set from outside, and the strings to set them to."""

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

SIZES = (1, 7, 8, 9, 64, 255, 4096)
"""Values of strsize."""

often = settings(
    max_examples=30, deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
)  # fmt: skip


def fire(run, **variables):
    """The values of each record of one firing of BEGIN with these global variables: bytes, or signed numbers."""
    ((key, data),) = run.tracing.read_map("globals")
    content = bytearray(len(data))
    places = {v.name: where for v, (name, where) in run.compilation.shared.variables.items() if name == "globals"}
    for name, value in variables.items():
        part = value if isinstance(value, bytes) else value.to_bytes(8, "little", signed=True)
        content[places[name] : places[name] + len(part)] = part
    run.tracing.write_map("globals", key, bytes(content))
    run.begin()
    return run.values()


def strings(size, alphabet):
    """Short ones, and ones about as long as strings can be."""
    characters = st.sampled_from(alphabet)
    lengths = st.one_of(st.integers(0, min(size, 20)), st.integers(max(size - 9, 0), size))
    return lengths.flatmap(lambda n: st.lists(characters, min_size=min(n, 40), max_size=min(n, 40)).map(
        lambda part: (bytes(part) * (n // max(len(part), 1) + 1))[:n]
    ))  # fmt: skip


def characters(value):
    """A value's characters: those of a whole slot, or of a string that travelled without a NUL."""
    found, _, rest = value.partition(b"\0")
    assert not any(rest), f"left behind the NUL: {value!r}"
    return found
