"""`sonde verify`: programs before the embedded engine's verifier, as a command."""

from support.command.running import run

from sonde.bpf import programs
from sonde.bpf.assembler import assemble
from sonde.bpf.instructions import encode
from sonde.model.spec import ProgramSpec
from sonde.runtime.verifier.listing import listing
from sonde.runtime.verifier.merging import Merged
from sonde.runtime.verifier.verify import verify


def test_a_script_is_accepted(tmp_path):
    script = tmp_path / "counts.d"
    script.write_text("BEGIN { @[pid] = count(); }\n")
    done = run("verify", "--engine", "embedded", str(script))
    assert done.returncode == 0
    assert "program BEGIN (type " in done.stdout
    assert ": accepted, " in done.stdout


def test_the_listing_has_each_instruction_and_what_is_known_before_it():
    done = run("verify", "--engine", "embedded", "-v", "-n", "BEGIN { @ = count(); }")
    assert done.returncode == 0
    assert "r1 = ctx" in done.stdout
    assert "map_value" in done.stdout
    assert "exit" in done.stdout


def test_something_to_verify_is_needed():
    done = run("verify")
    assert done.returncode == 2
    assert "verify takes a D script" in done.stderr


def shown(text, lines=()):
    assembly = assemble(text)
    program = ProgramSpec(
        "test", programs.RAW_TRACEPOINT, 0, encode(assembly.code), assembly.map_references, (), lines=lines
    )  # fmt: skip
    merged = Merged()
    verify(program, {}, observe=merged.observe)
    return listing(program, merged)


def test_states_of_several_ways_are_merged():
    text = shown(
        """
        r2 = *(u64 *)(r1 +0)
        r0 = 3
        if r2 == 0x0 goto behind
        r0 = 5
    behind:
        r0 += 1
        exit
        """
    )
    before = text.partition("r0 += 1")[0].splitlines()
    assert "        r0 = scalar(umin=3,umax=5,bits=(0x1; 0x6))" in before


def test_what_no_way_leads_to_is_marked():
    text = shown("r0 = 0\nif r0 == 0x0 goto pc+1\nr0 = 1\nexit")
    assert "r0 = 1    (never reached)" in text


def test_lines_of_the_script_stand_above_their_instructions():
    text = shown("r0 = 0\nexit", ((0, "script.d:1"), (1, "script.d:2")))
    assert text.index("; script.d:1") < text.index("r0 = 0") < text.index("; script.d:2") < text.index("exit")
