"""Scripts in files: what a file says does not permit what only whoever runs it can."""

import subprocess
import sys

import pytest
from support.machine.access import needs

import sonde
from sonde.model.specfile import KeptSetting, from_text, to_text

DESTRUCTIVE = 'BEGIN { system("echo done"); exit(0); }'
ENGINES = ["kernel", "embedded"]


def test_a_spec_file_cannot_permit_itself(tmp_path):
    path = str(tmp_path / "spec")
    sonde.compile(DESTRUCTIVE, options={"destructive": True}, engine="embedded").save(path)
    content = from_text((tmp_path / "spec").read_text())
    permitting = content._replace(options=(*content.options, KeptSetting("destructive", True)), destructive=False)
    (tmp_path / "spec").write_text(to_text(permitting))
    assert not sonde.load(path).options().on("destructive")
    (tmp_path / "spec").write_text(to_text(permitting._replace(destructive=True)))
    with pytest.raises(sonde.NotPermittedError), sonde.load(path).run():
        raise AssertionError("it began")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_script_may_permit_itself_as_for_the_command(engine):
    text = f"#pragma D option destructive\n#pragma D option quiet\n{DESTRUCTIVE}"
    with sonde.trace(text, engine=engine, command="true", output="text") as run:
        found = b"".join(event.text for event in run if isinstance(event, sonde.Text))
    assert found == b"done\n\n"


@pytest.mark.parametrize("engine", ENGINES)
def test_a_saved_script_runs_on_the_engine_that_it_is_for(engine, tmp_path):
    path = str(tmp_path / "spec")
    sonde.compile("BEGIN { exit(6); }", engine=engine).save(path)
    with sonde.load(path).run("true") as run:
        assert run.wait() == 6


def test_a_damaged_spec_file_is_an_error(tmp_path):
    path = tmp_path / "spec"
    sonde.compile("BEGIN { trace(execname); exit(0); }", engine="embedded").save(str(path))
    text = path.read_text().rstrip()
    for cut in range(0, len(text), max(len(text) // 40, 1)):
        path.write_text(text[:cut])
        with pytest.raises(sonde.Error), sonde.load(str(path)).run("true") as run:
            run.wait()


@needs("CAP_BPF", "CAP_PERFMON")
def test_samples_of_a_recording_are_counted(tmp_path):
    """They are no events, and their absence is told."""
    path = str(tmp_path / "perf.data")
    program = "profile-997 { sample(); @ = count(); } tick-200ms { exit(2); }"
    command = [sys.executable, "-m", "sonde", "record", "-o", path, "-q", "-n", program]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 2
    *_, message, ending = sonde.read(path)
    assert ending == sonde.Exit(2)
    assert int(message.text.partition(": ")[2].split()[0]) > 10
