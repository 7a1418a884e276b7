"""Errors of the library: what helps is said in its own words, and all that they have is kept by pickle."""

import pickle

import pytest

import sonde


def refusal(function, *arguments, **named):
    with pytest.raises(sonde.Error) as raised:
        function(*arguments, **named)
    return raised.value


@pytest.mark.parametrize(
    ("name", "value", "remedy"),
    [("bufsiz", "4m", "bufsize"), ("bufsize", "x", "number of bytes"), ("unwind", "up", "auto, dwarf, frames")],
)
def test_an_option_that_is_refused_says_what_it_takes(name, value, remedy):
    error = refusal(sonde.compile, "BEGIN { }", options={name: value})
    assert isinstance(error, sonde.OptionRefusedError)
    assert (error.name, error.value) == (name, value)
    assert remedy in error.remedy


@pytest.mark.parametrize(
    "made",
    [
        sonde.Error("what", "help"),
        sonde.NotPermittedError("what", "help"),
        sonde.DestructiveError("it calls system()"),
        sonde.DestructiveError(),
        sonde.ScriptError("what"),
        sonde.TracingError("what", "a\nb"),
        sonde.OptionRefusedError("bufsiz", None, "Invalid option name"),
        sonde.CompileError("what", "help", "message", "D_SYNTAX", "a.d", 3, 4, "line", "full", True),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_is_the_same_behind_pickle(made):
    again = pickle.loads(pickle.dumps(made))
    assert type(again) is type(made)
    assert vars(again) == vars(made)
    assert str(again) == str(made)
    assert again.args == made.args


def test_the_remedy_of_a_destructive_program_is_no_option_of_the_command():
    assert "-w" not in sonde.DestructiveError().remedy
    assert "option destructive" in sonde.DestructiveError().remedy
