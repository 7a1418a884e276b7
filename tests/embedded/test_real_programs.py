"""Real programs say and end the same alone and traced: a share of what tools/real_programs.py does."""

import sys
from pathlib import Path

import pytest
from support.machine import packages

sys.path.append(str(Path(__file__).parents[2] / "tools"))

import real_programs


@pytest.mark.share(0, 2)
@pytest.mark.parametrize("name", real_programs.SHARE)
def test_a_program_is_the_same_when_traced(name, tmp_path):
    script = real_programs.Script(real_programs.SCRIPTS / f"{name}.sh")
    packages.require(*script.needs)
    tmp_path.chmod(0o755)
    results = list(real_programs.examine(real_programs.Bench(tmp_path), script, real_programs.SHARED_WAYS))
    assert len(results) >= len(real_programs.SHARED_WAYS)
    assert {way: wrong for way, wrong, _ in results if wrong} == {}


def test_each_script_says_what_it_runs():
    for path in real_programs.SCRIPTS.glob("*.sh"):
        assert path.read_text().startswith("# "), path
        assert path.stem == "prelude" or not real_programs.Script(path).user.strip("rotdinay "), path


def test_a_difference_is_found(tmp_path):
    """A program that asks whether it is traced."""
    script = tmp_path / "asks.sh"
    script.write_text(
        "# Says whether somebody traces it.\ngrep TracerPid /proc/self/status | tr '\\t1-9' ' x'\nexit 3\n"
    )
    before, real_programs.SCRIPTS = real_programs.SCRIPTS, tmp_path
    try:
        (tmp_path / "prelude.sh").write_text('. "$REAL/$1.sh"\n')
        (tmp_path / "bench").mkdir()
        results = real_programs.examine(
            real_programs.Bench(tmp_path / "bench"), real_programs.Script(script), ["count", "shell"]
        )
        found = {way: wrong for way, wrong, _ in results}
    finally:
        real_programs.SCRIPTS = before
    assert found["alone"] == []
    assert found["count"][0] == found["shell"][0] == "- TracerPid: 0"
