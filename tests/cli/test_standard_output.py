"""`-` is the standard output wherever a file to write is named, or is refused: no file has that name."""

import subprocess

import pytest
from support.command.running import SONDE, environment, run
from support.machine.access import needs

from sonde.cli.manual.commands import ALL

STACKS = "syscall::openat:entry /pid == $target/ { @[stack()] = count(); @b = quantize(arg2); }"

CASES = {
    "-o": (["-qn", 'BEGIN { printf("printed"); exit(0); }'], b"printed\n"),
    "--flame": (["-qn", STACKS, "-c", "true"], b"<!DOCTYPE html>"),
    "--heatmap": (["-qn", STACKS, "-c", "true"], b"<!DOCTYPE html>"),
    "--folded": (["-qn", STACKS, "-c", "ls /nowhere"], b"vmlinux`"),
    "--speedscope": (["-qn", STACKS, "-c", "true"], b'{"$schema"'),
    "--pprof": (["-qn", STACKS, "-c", "true"], b"\x1f\x8b"),
    "--save": (["-qn", "BEGIN"], b"{"),
    "--record": (["-qn", "BEGIN { exit(0); }"], b"SONDEREC"),
    "--raw": (["-qo", "text", "-n", 'BEGIN { printf("printed"); exit(0); }'], b"SONDERAW"),
}
READ = {"-s", "-k", "--btf", "--spec", "--object", "--packets", "--replay", "--flame-diff"}
"""Options with files that are read."""


def files_written(command):
    return {
        name
        for section in command.sections
        for option in section.options
        if option.choices == ("file",)
        for name in option.names
    } - READ


def test_every_option_with_an_output_is_tried():
    assert files_written(next(each for each in ALL if not each.name)) == set(CASES)


def output_of(option, where):
    words, _ = CASES[option]
    return subprocess.run(
        [SONDE, *words, option, "-"], capture_output=True, cwd=where, env=environment(), check=True
    ).stdout


@pytest.mark.share(1)
@needs("CAP_BPF", "CAP_PERFMON")
@pytest.mark.parametrize("option", CASES)
def test_a_dash_is_the_standard_output(option, tmp_path):
    output = output_of(option, tmp_path)
    assert CASES[option][1] in output
    assert [path.name for path in tmp_path.iterdir()] == (["text"] if option == "--raw" else [])


@needs("CAP_BPF", "CAP_PERFMON")
def test_a_file_that_is_the_standard_output_keeps_what_it_had(tmp_path):
    """It is not begun anew, and its mode stays as it is."""
    path = tmp_path / "all"
    path.write_text("before\n")
    mode = path.stat().st_mode
    with path.open("ab") as file:
        words = [SONDE, *CASES["--folded"][0], "--folded", "-"]
        subprocess.run(words, stdout=file, env=environment(), check=True)
    assert path.read_text().startswith("before\n")
    assert "vmlinux`" in path.read_text()
    assert path.stat().st_mode == mode


@needs("CAP_BPF", "CAP_PERFMON")
def test_what_is_piped_has_nothing_but_the_stacks():
    output = run(*CASES["--folded"][0], "--folded", "-").stdout
    assert all(line.rpartition(" ")[2].isdigit() for line in output.splitlines() if "`" in line)
    assert "+0x" not in output, "stacks as they are printed have offsets"


@needs("CAP_BPF", "CAP_PERFMON")
def test_a_program_prints_drawn_stacks_where_it_says_so(tmp_path):
    folded = str(tmp_path / "stacks")
    words = ["-c", "ls /nowhere", "--folded", folded]
    drawn = run("-qn", STACKS.replace("@b = quantize(arg2);", ""), *words).stdout
    assert drawn.strip() == ""
    assert "+0x" in run("-qn", STACKS + ' END { printa("%k %@d\\n", @); }', *words).stdout


@pytest.mark.share(2)
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--raw", "-", "-n", "BEGIN"], "give what is printed a file with -o"),
        (["--folded", "-", "--pprof", "-", "-n", STACKS], "two outputs would be written to the standard output"),
        (["--folded", "-", "-n", "BEGIN { @a[stack()] = count(); @b[stack()] = count(); }"], "--folded @NAME:-"),
    ],
)
@needs("CAP_BPF", "CAP_PERFMON")
def test_what_cannot_share_it_is_refused(words, says, tmp_path):
    done = run("-q", *words)
    assert (done.returncode, done.stdout) == (1, "")
    assert says in done.stderr


def test_a_perf_data_file_is_no_stream():
    done = run("record", "-o", "-", "-n", "BEGIN")
    assert done.returncode == 1
    assert "cannot go through a pipe" in done.stderr
