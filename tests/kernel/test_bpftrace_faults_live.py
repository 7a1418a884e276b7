"""Mistakes of running programs of bpftrace's language: each is told with its place, and the program goes on."""

import pytest
from support.command.command import sonde

ENGINES = ("kernel", "embedded")

DIVIDED = "Divide or modulo by 0 detected. This can lead to unexpected results. 1 is being used as the result."


@pytest.mark.parametrize("engine", ENGINES)
def test_programs_go_on_behind_mistakes(engine, tmp_path):
    text = [
        "begin {",
        "  @none = 0; $x = (17 / @none, -5 % @none);",
        "  for ($i : 0..3) { @sum += 6 / $i; }",
        "  $read = *(uint64*)17;",
        '  printf("%s %d <%s> <%s>\\n", $x.0 + $x.1 == 2 ? "on" : "?", $read, str(3), @unset[1]);',
        '  if ($read == 5) { @unset[1] = "text"; }',
        "}",
    ]
    script = tmp_path / "mistakes.bt"
    script.write_text("\n".join(text))
    done = sonde("bt", "--engine", engine, str(script), "-c", "true")
    printed, _, maps = done.stdout.partition("\n\n\n")
    assert printed == "on 0 <> <>"
    assert maps.splitlines() == ["@none: 0", f"@sum: {1 + 6 + 3}"]
    told = [line for line in done.stderr.splitlines() if "WARNING" in line and "signed operands" not in line]
    assert told == [
        *(f"{script}:{line}:{start}-{end}: WARNING: {DIVIDED}" for line, start, end in
          ((2, 20, 30), (2, 32, 42), (3, 29, 35))),
        f"{script}:4:11-23: WARNING: memory at 0x11 cannot be read. 0 is being used as the result.",
        f"{script}:5:69-75: WARNING: memory at 0x3 cannot be read. 0 is being used as the result.",
    ]  # fmt: skip
    assert done.stderr.splitlines()[-1].strip("~ ") == ""


@pytest.mark.parametrize("engine", ENGINES)
def test_each_probe_of_a_clause_has_its_text(engine):
    program = """
        tracepoint:syscalls:sys_enter_clos*, tracepoint:syscalls:sys_exit_close /comm == "cat"/ {
            @[probe] = count(); @in[(probe, 1)] = count();
            if (probe == "tracepoint:syscalls:sys_exit_close") { @exits++; }
        }
    """
    done = sonde("bt", "--engine", engine, "-e", program, "-c", "cat /dev/null")
    found = dict(line.split(": ") for line in done.stdout.splitlines() if line)
    name = "tracepoint:syscalls:sys_exit_close"
    assert int(found["@exits"]) >= 3
    assert found["@exits"] == found[f"@[{name}]"] == found[f"@in[{name}, 1]"]
    assert found["@[tracepoint:syscalls:sys_enter_close]"] == found["@exits"]
