"""Scripts from files: source, or compiled before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sonde.library.engines import engine_for
from sonde.library.errors import ScriptError
from sonde.library.given import path_of
from sonde.library.script import Script, made
from sonde.library.settings import OptionValue, option_table, option_texts
from sonde.library.sources import Source, source_of
from sonde.library.spec_file import content_of, engine_of, is_spec_file, options_of, require_suitable, spec_of
from sonde.session.harm import harm
from sonde.untrusted import read_start


def load(
    path: str, *, options: Mapping[str, OptionValue] | None = None, arguments: Sequence[object] = (),
    engine: str = "auto",
) -> Script:  # fmt: skip
    """The script in a file of source, in bpftrace's language if its name ends in .bt, or in a spec file, which takes no
    arguments. Raises CompileError, or Error."""
    path = path_of(path)
    data = content_of(path)
    if not is_spec_file(data):
        language = "bpftrace" if path.endswith(".bt") else "d"
        source = source_of([("file", path)], language, options, arguments, None)
        return made(source, engine_for(engine, option_table(source.options), only_compiles=True))
    if arguments:
        raise ScriptError(f"{path} is compiled already: it takes no arguments")
    content = spec_of(path, data)
    made_for = engine_of(content)
    require_suitable(path, content, made_for)
    source = Source("d", (("spec", path),), option_texts(options), (), None)
    return Script(source, made_for, content.spec, options_of(content), content.destructive or bool(harm(content.spec)))


def beginning_of(path: str, most: int) -> bytes:
    """The first bytes of a file, none of one that cannot be read or is none."""
    try:
        return read_start(path, most)
    except OSError:
        return b""
