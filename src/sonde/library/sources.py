"""What is to be compiled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sonde.frontends.languages import LANGUAGES
from sonde.library.errors import Error
from sonde.library.settings import OptionValue, option_texts
from sonde.typed import NamedTuple


class Source(NamedTuple):
    """What was compiled: a text of a language (`kind`: `text`, or `file`, whose path it is), options as on the command
    line behind -x, the macro arguments $1 ..., and the BTF of another kernel, if it is for that."""

    language: str
    kind: str
    text: str
    options: tuple[tuple[str, str | None], ...]
    arguments: tuple[str, ...]
    target: str | None


def source_of(
    kind: str, text: str, language: str, options: Mapping[str, OptionValue] | None, arguments: Sequence[object],
    target: str | None,
) -> Source:  # fmt: skip
    """What is to be compiled. Raises Error."""
    if language not in LANGUAGES:
        raise Error(f"there is no language {language!r}", f"sonde has {', '.join(LANGUAGES)}")
    return Source(language, kind, text, option_texts(options), tuple(map(str, arguments)), target)
