"""Folded stacks, speedscope and pprof: what is written is read again, and what is no profile is refused."""

import gzip
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonde.formats import folded, pprof, speedscope
from sonde.formats.profile import INLINED, KERNEL, PYTHON, USER, Profile, ProfileError, ProfileFrame
from sonde.formats.protobuf import WireError, fields, integer, packed, piece, varint
from sonde.pictures.flame import flame_data
from sonde.pictures.saved import read_profile
from sonde.pictures.tree import tree_of

CPP = "std::vector<int, std::allocator<int> >::push_back(int const&)"
FRAMES = (
    ProfileFrame("main", "a.out"), ProfileFrame(CPP, "libx.so.1"), ProfileFrame("vfs_read", "vmlinux", KERNEL),
    ProfileFrame("ext4_file_read_iter", "ext4", KERNEL), ProfileFrame("swap", "a.out", INLINED),
)  # fmt: skip
PROFILE = Profile("@", "count", "count", FRAMES, {(0,): 3, (0, 1): 5, (0, 1, 2, 3): 7, (0, 4): 11}, 10**18, 5 * 10**9)

NAMES = st.text(st.characters(blacklist_categories=("Cs", "Cc", "Zl", "Zp"), blacklist_characters=";`"), min_size=1)
MODULES = st.text("abcxyz.-_0", min_size=1)


@st.composite
def profiles(draw):
    frames = draw(
        st.lists(st.builds(ProfileFrame, NAMES.map(str.strip).filter(bool), MODULES,
                           st.sampled_from((USER, KERNEL, INLINED, PYTHON))),
                 min_size=1, max_size=8, unique=True)
    )  # fmt: skip
    stack = st.lists(st.integers(0, len(frames) - 1), min_size=1, max_size=6).map(tuple)
    stacks = draw(st.dictionaries(stack, st.integers(1, 2**62), min_size=1, max_size=8))
    return Profile("@", "count", "count", tuple(frames), stacks)


def by_frames(profile):
    return {tuple(profile.frames[frame] for frame in stack): value for stack, value in profile.stacks.items()}


def test_folded_stacks_are_lines():
    assert folded.write(PROFILE).splitlines() == [
        "a.out`main;a.out`swap_[i] 11",
        f"a.out`main;libx.so.1`{CPP};vmlinux`vfs_read_[k];ext4`ext4_file_read_iter_[k] 7",
        f"a.out`main;libx.so.1`{CPP} 5",
        "a.out`main 3",
    ]


OF_PYTHON = Profile(
    "@", "count", "count",
    (ProfileFrame("package.Class.method", "file.py", PYTHON), ProfileFrame("[functions are missing]", "", PYTHON)),
    {(0,): 3, (0, 1): 5},
)  # fmt: skip


def test_functions_of_python_have_a_mark():
    assert folded.write(OF_PYTHON).splitlines() == [
        "file.py`package.Class.method_[p];[functions are missing]_[p] 5",
        "file.py`package.Class.method_[p] 3",
    ]
    for form in (folded, pprof):
        assert by_frames(form.read(form.write(OF_PYTHON))) == by_frames(OF_PYTHON)


@settings(max_examples=30)
@given(profiles())
def test_folded_stacks_are_read_as_written(profile):
    assert by_frames(folded.read(folded.write(profile))) == by_frames(profile)


@settings(max_examples=30)
@given(profiles())
def test_pprof_is_read_as_written(profile):
    assert by_frames(pprof.read(pprof.write(profile))) == by_frames(profile)


def test_pprof_says_when_and_of_what():
    found = pprof.read(pprof.write(PROFILE), "@")
    assert by_frames(found) == by_frames(PROFILE)
    assert (found.value, found.unit, found.time, found.duration) == ("count", "count", 10**18, 5 * 10**9)


def test_equal_profiles_are_equal_bytes():
    assert pprof.write(PROFILE) == pprof.write(PROFILE)


def test_speedscope_is_read_as_written():
    assert by_frames(speedscope.read(speedscope.write([PROFILE], "n", "e"))) == by_frames(PROFILE)


def test_speedscope_has_what_its_schema_requires():
    content = json.loads(speedscope.write([PROFILE, PROFILE._replace(title="@b", unit="nanoseconds")], "n", "e"))
    assert content["$schema"].startswith("https://www.speedscope.app/")
    assert len(content["shared"]["frames"]) == len(FRAMES)
    first, second = content["profiles"]
    assert (first["type"], first["unit"], second["unit"], second["name"]) == ("sampled", "none", "nanoseconds", "@b")
    assert first["endValue"] == sum(first["weights"]) == PROFILE.total
    assert len(first["samples"]) == len(first["weights"])


def test_a_name_that_would_end_a_frame_is_written_otherwise():
    profile = Profile("@", "count", "", (ProfileFrame("[u8; 4]\nmain 99", "rust"),), {(0,): 1})
    assert folded.write(profile) == "rust`[u8: 4]\\nmain 99 1\n"


def test_names_written_alike_are_added_up():
    profile = Profile("@", "count", "", (ProfileFrame("a;b", "m"), ProfileFrame("a:b", "m")), {(0,): 1, (1,): 2})
    assert folded.write(profile) == "m`a:b 3\n"


def test_a_stack_without_frames_is_told():
    profile = Profile("@", "count", "count", (ProfileFrame("main", "m"),), {(): 3, (0,): 2})
    text = folded.write(profile)
    assert text == "[no stack] 3\nm`main 2\n"
    assert by_frames(folded.read(text)) == by_frames(profile)


def test_the_format_of_a_file_is_seen_by_how_it_begins():
    for data in (pprof.write(PROFILE), gzip.decompress(pprof.write(PROFILE)), folded.write(PROFILE).encode(),
                 speedscope.write([PROFILE], "n", "e").encode()):  # fmt: skip
        found = read_profile(data, "old")
        assert (by_frames(found), found.title) == (by_frames(PROFILE), "old")
    with pytest.raises(ProfileError, match="there are no stacks in it"):
        read_profile(b"\n", "old")


def test_folded_stacks_of_others_are_read():
    text = "# a comment\n\nbash;main;[unknown];read_[k] 12\nbash;main 3.00\n"
    found = by_frames(folded.read(text))
    start = (ProfileFrame("bash"), ProfileFrame("main"))
    assert found == {(*start, ProfileFrame("[unknown]"), ProfileFrame("read", "", KERNEL)): 12, start: 3}


@pytest.mark.parametrize("line", ["no number here", "a" + " " * 200_000 + "b", "a " + "9" * 5000, "a ٣", "a -", "a;b"])
def test_a_line_without_a_number_is_named(line):
    with pytest.raises(ProfileError, match="line 2 has no number behind its stack"):
        folded.read(f"a;b 1\n{line}\n")


def test_what_an_earlier_profile_has_not_is_told():
    found = read_profile(b"a 5\nb -3\nc 0\n", "old.txt")
    assert found.notes == ("2 of old.txt left out, whose value is not above 0",)
    assert found.notes[0] in flame_data(PROFILE, tree_of(PROFILE, found), found)["subtitle"]


def test_lines_of_a_location_are_inlined_functions():
    """As Go's and other compilers' profiles have them: the innermost first, the function itself last."""
    strings = ["", "cpu", "ns", "inner", "outer"]
    functions = b"".join(piece(5, integer(1, number) + integer(2, number + 2)) for number in (1, 2))
    location = integer(1, 1) + piece(4, integer(1, 1)) + piece(4, integer(1, 2))
    # Not packed: both ways are allowed.
    sample = integer(1, 1) + packed(2, (5, 700))
    message = piece(1, integer(1, 1) + integer(2, 2)) + piece(2, sample) + piece(4, location) + functions
    message += b"".join(piece(6, text.encode()) for text in strings)
    found = pprof.read(message)
    assert by_frames(found) == {(ProfileFrame("outer", "", "key"), ProfileFrame("inner", "", INLINED)): 700}
    assert (found.value, found.unit) == ("cpu", "ns")


@pytest.mark.parametrize(
    "damage", [b"", b"\x1f\x8b", b"\x08", gzip.compress(b"\x0a\xff", mtime=0), gzip.compress(b"", mtime=0)]
)
def test_what_is_no_pprof_is_refused(damage):
    with pytest.raises(ProfileError):
        pprof.read(damage)


@given(st.data())
def test_damaged_pprof_is_refused_or_read(data):
    content = bytearray(gzip.decompress(pprof.write(PROFILE)))
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    try:
        pprof.read(bytes(content))
    except ProfileError:
        return


OUT_OF_RANGE = {"shared": {"frames": []}, "profiles": [{"type": "sampled", "samples": [[4]], "weights": [1]}]}


@pytest.mark.parametrize(
    "text", ["{", "{}", '{"shared":{"frames":[]},"profiles":[]}', "[1]", "[" * 100_000, json.dumps(OUT_OF_RANGE)]
)
def test_what_is_no_speedscope_is_refused(text):
    with pytest.raises(ProfileError):
        speedscope.read(text)


@given(st.integers(-(2**63), 2**63 - 1))
def test_numbers_are_complements_of_64_bits(number):
    ((field, value),) = fields(integer(3, number) or varint(3 << 3) + varint(0))
    assert (field, value) == (3, number & (1 << 64) - 1)


def test_a_number_that_does_not_end_is_told():
    with pytest.raises(WireError):
        list(fields(b"\x08" + b"\x80" * 20))
