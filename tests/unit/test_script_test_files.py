"""Test files as they are read: cases, keys that hold for all, and one message for each mistake."""

import random
import re
from pathlib import Path

import pytest
from support.suite.example_counts import count_of

from sonde.library.testing import running
from sonde.library.testing.case import Ran, ScriptCase
from sonde.library.testing.checking import failures_of
from sonde.library.testing.keys import KEYS
from sonde.library.testing.reading import LARGEST, CaseFileError, find_files, read_cases
from sonde.library.testing.updating import quoted, update

pytestmark = pytest.mark.examples

ROOT = Path(__file__).parents[2]

WHOLE = r"""
# What holds for all
script = "calls.d"
engine = "both"
options = "-x aggsortkey -q"

[of-one-command]
command = "cat /etc/passwd"
arguments = [100, "two words"]
timeout = 2.5
status = 3
output = '''
pid {{pid}}
{{...}}
last'''
aggregations = ['@calls["cat", *] >= 1', "len(@) < 5"]

["of a program"]
script = "other.d"
engine = "embedded"
command = ["sh", "-c", "echo $HOME"]
environment = { LANG = "C" }
needs = "sh"
output-contains = "x"
"""


def written(tmp_path, text, name="calls.sonde.toml", script="calls.d"):
    (tmp_path / script).touch()
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def test_a_file_of_cases(tmp_path):
    path = written(tmp_path, WHOLE)
    one, other = read_cases(path)
    assert one == ScriptCase(
        path, "of-one-command", script="calls.d", engine="both", options=("-x", "aggsortkey", "-q"),
        command="cat /etc/passwd", arguments=("100", "two words"), timeout=2.5, status=3,
        output="pid {{pid}}\n{{...}}\nlast", aggregations=('@calls["cat", *] >= 1', "len(@) < 5"),
    )  # fmt: skip
    assert other == ScriptCase(
        path, "of a program", script="other.d", engine="embedded", options=("-x", "aggsortkey", "-q"),
        command="sh -c 'echo $HOME'", environment={"LANG": "C"}, needs=("sh",), output_contains=("x",),
    )  # fmt: skip


def test_a_file_without_tables_is_a_case_of_the_script_of_its_name(tmp_path):
    path = written(tmp_path, 'command = "true"')
    assert read_cases(path) == (ScriptCase(path, "", script="calls.d", command="true"),)


def test_every_key_is_a_field_and_in_the_documents():
    page = (ROOT / "docs" / "testing.md").read_text()
    assert {key.field for key in KEYS.values()} == set(ScriptCase._fields) - {"path", "name"}
    for name in KEYS:
        assert re.search(rf"^\| `{name}` \|", page, re.M), name


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("command = ", "Invalid value (at end of document)"),
        ('[a]\ncomand = "x"', "a: there is no key comand\n  did you mean command?"),
        ("[a]\ncommand = 7", "a: command is a text or an array of words, not 7"),
        ('command = "echo \'x"', "command is words as a shell has them (no closing quotation)"),
        ('command = ""', "command is a command, not ''"),
        ('engine = "all"', 'engine is "embedded" or "kernel" or "both", not \'all\''),
        ("timeout = 0", "timeout is a number of seconds greater than 0, not 0"),
        ("timeout = inf", "timeout is a number of seconds"),
        ("timeout = true", "timeout is a number of seconds"),
        ("interrupt-after = 1e400", "interrupt-after is a number of seconds"),
        ("status = 256", "status is a number from 0 to 255, not 256"),
        ("output = 3", "output is a text, not 3"),
        ('output = "{{pids}}"', "{{pids}} is no placeholder"),
        ('stderr-contains = ["{{/(/}}"]', "missing )"),
        ('aggregations = "@a ="', "@a =: no assertion"),
        ('aggregations = "open(1)"', "no assertion: there are aggregations"),
        ('environment = { "A=B" = "x" }', "environment is a table whose names are those of variables"),
        ("environment = { A = 1 }", "environment is a table of names and texts"),
        ('command = "a\\u0000b"', "NUL"),
        ('options = ["\\u0000"]', "NUL"),
        ('needs = ["a", 7]', "needs is a text or an array of texts"),
        ('needs = [""]', "needs is a text that is not empty"),
        ('output = ""\noutput-file = "x"', "output and output-file are two ways"),
        ('script = "a.d"\nprogram = "BEGIN"', "script and program are several programs"),
        ('recording = "a.rec"\ncommand = "b"', "a recording is replayed without a command"),
        ('object = "a.o"\naggregations = "@ == 1"', "an object has no aggregations\n  its maps are shown"),
        ("a = 1", "there is no key a"),
        ('"\\u001b[2J" = 1', "there is no key \\x1b[2J"),
        ('["\\u001b[2J"]\nstatus = "x"', "\\x1b[2J: status is a number"),
        ("a = " + "[" * 5000 + "]" * 5000, "cannot be read as TOML"),
        ("a = " + "9" * 5000, "cannot be read as TOML"),
        ("a = 2000-99-99", "TOML"),
        (b"\xff\xfe", "it is not UTF-8 (byte 0)"),
        (b"#" * (LARGEST + 1), "larger than 1 MiB"),
    ],
)
def test_a_mistake_is_one_message(tmp_path, text, message):
    path = written(tmp_path, text)
    with pytest.raises(CaseFileError) as raised:
        read_cases(path)
    told = str(raised.value)
    assert told.startswith(f"{path}: ")
    assert message in told
    assert len(told.split("\n")) <= 2


def test_a_file_without_a_script(tmp_path):
    path = written(tmp_path, 'command = "true"', "other.sonde.toml")
    with pytest.raises(
        CaseFileError, match=r"nothing to run: neither script, program, object nor a file other\.d here"
    ):
        read_cases(path)


def test_another_name(tmp_path):
    with pytest.raises(CaseFileError, match=r"the names of test files end in \.sonde\.toml"):
        read_cases(written(tmp_path, "", "calls.toml"))


def test_what_is_found(tmp_path):
    for name in ("b/two.sonde.toml", "a/one.sonde.toml", ".venv/x.sonde.toml", "a/.x.sonde.toml", "a/one.toml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    found = [str(Path(each).relative_to(tmp_path)) for each in find_files([str(tmp_path)])]
    assert found == ["a/one.sonde.toml", "b/two.sonde.toml"]
    assert list(find_files([str(tmp_path / "a" / "one.toml")])) == [str(tmp_path / "a" / "one.toml")]
    with pytest.raises(CaseFileError, match="there is no such file"):
        list(find_files(["/nowhere"]))


def test_damaged_files_are_cases_or_one_message(tmp_path):
    """Bytes, lines and values changed, doubled and dropped."""
    draw = random.Random(15)
    for number in range(count_of(400)):
        data = bytearray(WHOLE.encode())
        for _ in range(draw.randint(1, 6)):
            at, length = draw.randrange(len(data)), draw.randint(1, 30)
            data[at : at + draw.choice((0, 1, length))] = draw.choice(
                (bytes([draw.randrange(256)]), data[at : at + length] * 2, b"", b"{{", b"[[", b"'''", b'"', b"=", b"\n")
            )
        path = written(tmp_path, bytes(data))
        try:
            cases, told = read_cases(path), ""
        except CaseFileError as error:
            cases, told = (), str(error)
        assert bool(cases) != bool(told), number
        assert len(told.split("\n")) <= 2, data


def ran(output, temporary="/tmp/nowhere"):
    return Ran("embedded", "sonde", 0, output, "", "", temporary)


def renewed(tmp_path, text, output, name):
    path = written(tmp_path, text)
    (case,) = [each for each in read_cases(path) if each.name == name]
    assert update(case, ran(output))
    return Path(path).read_text()


def test_an_output_is_written_anew_where_it_stands(tmp_path):
    """Lines that fit keep their placeholders, and all else of the file is as it was."""
    made = renewed(tmp_path, WHOLE, "pid 17\nmore\nlast\none {{ more\n", "of-one-command")
    before, _, after = WHOLE.partition("pid {{pid}}\n{{...}}\nlast'''")
    assert made == before + "pid {{pid}}\n{{...}}\nlast\none {{/\\{\\{/}} more\n'''" + after


@pytest.mark.parametrize(
    "old",
    ['output = ""', "output = ''", 'output="a" # why', '"output" = """\na\n"""', "output = '''[b]\noutput = 3'''"],
)
@pytest.mark.parametrize("output", ["", "one\n", "a '''quoted''' \"text\"\\n\n", "\x1b[2Jred\u200b\n", "{{word}}\n"])
def test_every_output_can_be_written(tmp_path, old, output):
    text = f'[a]\noutput = "a"\n[b]\n{old}\nstatus = 3\n[c]\n{old}\n'
    path = written(tmp_path, text)
    case = read_cases(path)[1]
    update(case, ran(output))
    one, two, three = read_cases(path)
    assert (one.output, two.status, three.output) == ("a", 3, case.output)
    lines = output.replace("{{word}}", r"{{/\{\{/}}word}}")
    assert two.output == (case.output if lines.strip() == case.output.strip() else lines)
    assert not update(two, ran(output))


def test_an_output_of_all_cases_is_written_where_it_stands(tmp_path):
    text = 'output = "a"\n[one]\nstatus = 1\n'
    assert renewed(tmp_path, text, "b\n", "one") == "output = '''\nb\n'''\n[one]\nstatus = 1\n"


def test_a_file_of_output_is_written(tmp_path):
    (tmp_path / "calls.out").write_text("in $TMPDIR/a\nold\n")
    path = written(tmp_path, 'output-file = "calls.out"')
    assert update(read_cases(path)[0], ran("in /tmp/x/a\nnew\n", "/tmp/x"))
    assert (tmp_path / "calls.out").read_text() == "in $TMPDIR/a\nnew\n"


@pytest.mark.parametrize("text", ['a = { output = "x" }', 'a.output = "x"', '[a]\n"out\\u0070ut" = "x"'])
def test_an_output_in_a_form_that_is_not_found_is_told(tmp_path, text):
    path = written(tmp_path, text)
    with pytest.raises(CaseFileError, match="cannot be updated"):
        update(read_cases(path)[0], ran("b\n"))
    assert Path(path).read_text() == text


def test_bytes_that_are_no_text_are_not_written(tmp_path):
    with pytest.raises(CaseFileError, match="not UTF-8"):
        quoted("\udcff")


@pytest.mark.share(1)
@pytest.mark.parametrize("end", ["", "the end of it"])
def test_lines_behind_what_is_looked_at_are_counted(tmp_path, monkeypatch, end):
    """Also one without an end; what is expected of them cannot be told, so that is no pass."""
    monkeypatch.setattr(running, "MOST", 997)
    count = 1511 + bool(end)
    words = f"sh -c 'seq 1511; printf \\\"{end}\\\"'"
    text = f'program = \'BEGIN {{}}\'\ntimeout = 600\ncommand = "{words}"\n[a]\ncommand-output = "1\\n{{{{...}}}}"\n'
    (case,) = read_cases(written(tmp_path, text))
    done = running.run(case, "embedded", str(tmp_path))
    looked_at = len(done.command_output.splitlines())
    assert done.command_output == "".join(f"{number}\n" for number in range(1, looked_at + 1))
    assert len(done.command_output) < 997
    assert looked_at + done.behind["command-output"] == count
    (told,) = failures_of(case, done)
    assert told.startswith(f"command-output is too long: {count - looked_at} lines more than the {looked_at} ")
