"""Scripts from files: source, or compiled before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sonde.library.engines import engine_for
from sonde.library.errors import ScriptError
from sonde.library.script import Script, made
from sonde.library.settings import OptionValue, option_table, option_texts
from sonde.library.sources import Source, source_of
from sonde.library.spec_file import content_of, content_of_spec, is_spec_file
from sonde.model.options import OptionTable
from sonde.session.harm import harm


def load(
    path: str, *, options: Mapping[str, OptionValue] | None = None, arguments: Sequence[object] = (),
    engine: str = "auto",
) -> Script:  # fmt: skip
    """The script in a file of source, or in a spec file, which takes no arguments. Raises CompileError, or Error."""
    data = content_of(path)
    if not is_spec_file(data):
        source = source_of("file", path, "d", options, arguments, None)
        return made(source, engine_for(engine, option_table(source.options), only_compiles=True))
    if arguments:
        raise ScriptError(f"{path} is compiled already: it takes no arguments")
    content, made_for = content_of_spec(path, data.decode(errors="surrogateescape"))
    source = Source("d", "spec", path, option_texts(options), (), None)
    # Whoever has written the file cannot permit what only whoever runs it can.
    kept = {each.name: each.value for each in content.options if OptionTable.is_kept(each.name)}
    return Script(source, made_for, content.spec, kept, content.destructive or bool(harm(content.spec)))
