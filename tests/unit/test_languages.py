"""The table of languages: each entry is a front end, and the library compiles by it alone."""

import inspect

import pytest

import sonde
from sonde.frontends import languages
from sonde.frontends.languages import FrontEnd, front_end
from sonde.library import compiling


@pytest.mark.parametrize("language", sorted(languages.LANGUAGES))
def test_each_language_has_a_front_end(language):
    found = inspect.signature(front_end(language).check)
    assert found.parameters.keys() == inspect.signature(FrontEnd.check).parameters.keys()


def test_another_language_is_an_entry(monkeypatch):
    """A front end of another notation for the same program: all else is the library's."""
    asked = []

    class Backwards:
        @staticmethod
        def check(programs, options, catalog, arguments, target, name):
            asked.append((*programs, arguments))
            forwards = [(kind, text[::-1]) for kind, text in programs]
            return front_end("d").check(forwards, options, catalog, arguments, target, name)

    monkeypatch.setitem(languages.LANGUAGES, "backwards", "sonde.frontends.d.programs.front_end")
    monkeypatch.setattr(
        compiling, "front_end", lambda language: Backwards if language == "backwards" else front_end(language)
    )
    forwards = "BEGIN { exit(3); }"
    script = sonde.compile(forwards[::-1], "backwards", arguments=[])
    assert asked == [(("text", forwards[::-1]), ())]
    assert script.spec == sonde.compile(forwards).spec


def test_a_language_that_there_is_not():
    with pytest.raises(sonde.Error, match="no language 'lua'"):
        sonde.compile("", "lua")
