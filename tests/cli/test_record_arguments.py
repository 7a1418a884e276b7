"""The command line of `sonde record`."""

import pytest

from sonde.cli.arguments import Setting, parse
from sonde.cli.messages import FatalError, UsageError
from sonde.cli.record import arguments_of

OUTPUT, SCOPE = Setting("record", "output", "perf"), Setting("record", "scope", "processes")


def test_what_stands_behind_two_dashes_is_the_command_word_for_word():
    found = arguments_of(["-n", "BEGIN", "--", "grep", "-n", "a b", "it's"])
    assert found.commands == ("grep -n 'a b' 'it'\"'\"'s'",)
    assert found.programs == parse(["-n", "BEGIN"]).programs
    assert found.operands == ()


def test_the_file_is_perf_data_or_that_of_option_o():
    assert arguments_of(["-n", "BEGIN"]).recording == "perf.data"
    found = arguments_of(["-n", "BEGIN", "-o", "other"])
    assert (found.recording, found.output) == ("other", None)


def test_callers_are_asked_for_with_g_which_no_other_command_has():
    assert Setting("-g", "callchain", None) in arguments_of(["-gqn", "BEGIN"]).settings
    assert arguments_of(["-g", "-n", "BEGIN"]).flags == frozenset()
    with pytest.raises(UsageError, match="illegal option -- g"):
        parse(["-g", "-n", "BEGIN"])


def test_an_object_writes_its_records_as_it_was_compiled_to():
    found = arguments_of(["--object", "prog.o", "--program", "a=off", "-g", "--", "true"])
    assert (found.bpf_object, found.recording, found.chosen("program")) == ("prog.o", "perf.data", ["a=off"])
    assert found.settings == (SCOPE, Setting("-g", "callchain", None))


@pytest.mark.parametrize("words", [["-c", "true"], ["-p", "1"], ["--", "true"]])
def test_samples_are_of_the_processes_named_unless_a_scope_is_given(words):
    assert arguments_of(["-n", "BEGIN", *words]).settings == (SCOPE, OUTPUT)
    given = Setting("-x scope", "scope", "system")
    assert arguments_of(["-xscope=system", "-n", "BEGIN", *words]).settings == (SCOPE, given, OUTPUT)
    assert arguments_of(["-n", "BEGIN"]).settings == (OUTPUT,)


def test_options_compiled_into_a_spec_file_are_left_alone():
    assert arguments_of(["--spec", "file", "-c", "true"]).settings == ()


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["-o", "-", "-n", "BEGIN"], "cannot go through a pipe"),
        (["-l"], "lists, compiles and saves nothing"),
        (["--save", "file", "-n", "BEGIN"], "lists, compiles and saves nothing"),
        (["-e", "-n", "BEGIN"], "lists, compiles and saves nothing"),
        (["-xoutput=ringbuf", "-n", "BEGIN"], "no other way"),
    ],
)
def test_what_record_does_not_do_is_refused(words, reason):
    with pytest.raises(FatalError, match=reason):
        arguments_of(words)


def test_no_command_behind_two_dashes_is_a_mistake():
    with pytest.raises(UsageError, match="behind --"):
        arguments_of(["-n", "BEGIN", "--"])
