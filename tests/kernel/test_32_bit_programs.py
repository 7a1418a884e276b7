"""32-bit programs: what is known of their functions is right, what is not is refused, never garbage."""

import subprocess

import pytest
from support.command.command import sonde, unwrapped
from support.machine import packages

PROGRAM = """
        .text
        .globl _start, work
        .type work, @function
work:   .cfi_startproc
        movl $-7, %eax
        ret
        .cfi_endproc
        .size work, . - work
_start: pushl $22
        pushl $-11
        call work
        addl $8, %esp
        movl $1, %eax
        xorl %ebx, %ebx
        int $0x80
        .section .note.GNU-stack, "", @progbits
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    packages.require("gcc")
    directory = tmp_path_factory.mktemp("i386")
    (directory / "work.s").write_text(PROGRAM)
    subprocess.run(["as", "--32", "work.s", "-o", "work.o"], cwd=directory, check=True)
    subprocess.run(["ld", "-m", "elf_i386", "work.o", "-o", "work"], cwd=directory, check=True)
    if subprocess.run([directory / "work"], check=False).returncode:
        pytest.skip("the kernel runs no 32-bit programs")
    return str(directory / "work")


@pytest.mark.long
@pytest.mark.parametrize("argument", ["arg0", "arg5", "arg6", "arg9"])
@pytest.mark.parametrize("place", ["entry", "0"])
def test_arguments_that_nothing_tells_are_refused(program, argument, place):
    done = sonde("-qn", f"pid$target:a.out:work:{place} {{ trace({argument}); }}", "-c", program, status=1)
    assert f"{argument} of pid" in unwrapped(done.stderr)
    assert "where 32-bit programs pass arguments is not known" in unwrapped(done.stderr)


@pytest.mark.long
def test_what_the_message_says_leads_to_arguments(program):
    words = "*(int *)copyin(uregs[R_SP] + {}, 4)"
    text = f'pid$target:a.out:work:entry {{ printf("%d %d", {words.format(4)}, {words.format(8)}); }}'
    assert sonde("-qn", text, "-c", program).stdout.strip() == "-11 22"


def test_results_have_the_32_bits_that_there_are(program):
    text = 'pid$target:a.out:work:return { printf("%d %x", (int)arg1, arg1); }'
    assert sonde("-qn", text, "-c", program).stdout.strip() == "-7 fffffff9"


@pytest.mark.long
def test_calls_of_the_32_bit_table_are_recorded_and_replayed(program, tmp_path):
    """By a pattern, too, which means those that the recording holds."""
    path = str(tmp_path / "it.rec")
    text = "syscall:ia32::entry /pid == $target/ { @[probefunc] = count(); }"
    live = sonde("-q", "--record", path, "-n", text, "-c", program).stdout
    assert live.split() == ["exit", "1"]
    assert sonde("-q", "--replay", path, "-n", text).stdout == live
    listed = sonde("--replay", path, "-ln", "syscall:::").stdout
    assert " ia32 " in listed
    assert " vmlinux " not in listed
