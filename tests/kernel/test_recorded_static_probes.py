"""Static probes (USDT) in recordings of both engines: their sites differ in where arguments are, and another script
than the recorded one asks for other arguments."""

import pytest
from support.command.command import build, sonde
from support.symbols.static_programs import assembler

PROGRAM = (
    assembler("""
.text
.globl at
.type at, @function
at:
    probe prov, place, 0, "8@%rdi -4@%esi"
    ret
.size at, . - at
.globl elsewhere
.type elsewhere, @function
elsewhere:
    push %rdi
    mov %rsi, %rax
    probe prov, place, 0, "8@(%rsp) -4@%eax"
    pop %rdi
    ret
.size elsewhere, . - elsewhere
""")
    + """
static const char *words[] = {"one", "two", "three"};
void at(const char *, long), elsewhere(const char *, long);
__attribute__((noinline)) long both(long i) { at(words[i % 3], -i); elsewhere(words[i % 2], i); return i + 1; }
int main() { for (long i = 0; i < 17; i++) i = both(i) - 1; return 0; }
"""
)
ALL = """
    usdt$target:::place { printf("%s %d\\n", copyinstr(arg0), arg1); @[ustack(2), args[1]] = count(); }
    pid$target:a.out:both:entry { @v[args->i, ustack(2)] = count(); }"""
NONE = "usdt$target:::place, pid$target:a.out:both:entry { @ = count(); }"


@pytest.mark.long
@pytest.mark.parametrize("engine", ["kernel", "embedded"])
def test_a_replay_shows_what_was_shown_and_other_scripts_find_the_arguments(tmp_path, engine):
    program = build(tmp_path, "program", PROGRAM, "-g", "-fno-omit-frame-pointer")
    path, options = str(tmp_path / "it.rec"), ("-q", "--engine", engine)
    live = sonde(*options, "--record", path, "-n", ALL, "-c", program).stdout
    assert "three -2" in live
    assert sonde("-q", "--replay", path, "-n", ALL).stdout == live
    counted = sonde(*options, "--record", path, "--record-reads", "-n", NONE, "-c", program).stdout
    assert counted.split() == ["51"]
    # The program itself lies elsewhere in memory, and nothing shows that.
    assert sonde("-q", "--replay", path, "-n", ALL).stdout == live
    refused = sonde("-q", "--replay", path, "-n", "pid$target:a.out:main:entry {}", status=1).stderr
    assert "the recording does not hold it: it holds pid" in refused
