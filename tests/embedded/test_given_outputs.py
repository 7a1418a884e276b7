"""What a run writes goes to the file that it was given, whatever the caller does with his own meanwhile."""

import gc
import os
import sys

import pytest
from support.machine.access import open_descriptors

import sonde

TEXT = 'BEGIN { printf("traced\\n"); exit(0); }'


def run_with(output, **more):
    return sonde.trace(TEXT, "true", engine="embedded", options={"quiet": True}, output=output, **more)


def ended(run):
    with run:
        assert run.wait() == 0


def test_a_file_of_which_nobody_else_knows_stays_open(tmp_path):
    run = run_with(open(tmp_path / "first", "w"))  # noqa: SIM115
    gc.collect()
    with open(tmp_path / "other", "w"):
        ended(run)
    assert [(tmp_path / each).read_text() for each in ("first", "other")] == ["traced\n\n", ""]


@pytest.mark.share(1)
@pytest.mark.parametrize("as_number", [False, True])
def test_closing_it_does_not_lead_elsewhere(tmp_path, as_number):
    with open(tmp_path / "first", "w") as file:
        run = run_with(file.fileno() if as_number else file)
        number = file.fileno()
    other = os.open(tmp_path / "other", os.O_WRONLY | os.O_CREAT)
    if other != number:
        # The number is taken again.
        os.dup2(other, number)
        os.close(other)
    try:
        ended(run)
    finally:
        os.close(number)
    assert [(tmp_path / each).read_text() for each in ("first", "other")] == ["traced\n\n", ""]


def test_what_waits_in_the_file_comes_first(tmp_path):
    with open(tmp_path / "text", "w") as file:
        file.write("before\n")
        ended(run_with(file))
        file.write("after\n")
    assert (tmp_path / "text").read_text() == "before\ntraced\n\nafter\n"


def test_a_recording_is_shown_behind_it_too(tmp_path):
    files = sonde.Files(raw=str(tmp_path / "raw"))
    ended(run_with("text", files=files))
    with open(tmp_path / "text", "w") as file:
        file.write("before\n")
        sonde.show(str(tmp_path / "raw"), file, options={"quiet": True})
    assert (tmp_path / "text").read_text() == "before\ntraced\n\n"


def test_so_it_is_where_a_script_is_run(tmp_path):
    script = sonde.compile(TEXT, engine="embedded", options={"quiet": True})
    run = script.run("true", output=open(tmp_path / "first", "w"))  # noqa: SIM115
    gc.collect()
    with open(tmp_path / "other", "w"):
        ended(run)
    assert (tmp_path / "first").read_text() == "traced\n\n"


def test_no_descriptor_stays_behind(tmp_path):
    gc.collect()
    before = open_descriptors()
    with open(tmp_path / "text", "w") as file:
        ended(run_with(file))
        run_with(file)
    gc.collect()
    assert open_descriptors() == before


def test_what_is_closed_is_refused_at_once(tmp_path):
    with open(tmp_path / "text", "w") as file:
        number = file.fileno()
    with pytest.raises(ValueError, match="closed file"):
        run_with(file)
    with pytest.raises(ValueError, match=f"descriptor {number} is closed"):
        run_with(number)
    with pytest.raises(TypeError, match="an output is"):
        run_with(-1)


def test_the_standard_output_is_one(capfd):
    ended(run_with(sys.__stdout__))
    assert capfd.readouterr().out == "traced\n\n"
