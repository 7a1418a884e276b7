"""Programs through the C preprocessor (-C)."""

from __future__ import annotations

import os
import subprocess

from sonde.arch import languages
from sonde.frontends.d.source import INPUT
from sonde.model.options import OptionTable


class PreprocessorError(Exception):
    """There is no preprocessor, or it fails; `hint` is what helps."""

    def __init__(self, text: str, hint: str = "") -> None:
        super().__init__(text)
        self.text = text
        self.hint = hint


_DEFINITIONS = (
    "-D__linux", "-D__unix", "-D__SVR4", "-D__SUNW_D=1", "-U__GNUC__", "-D__SUNW_D_64", "-D__Linux",
)  # fmt: skip


def preprocessor_command(options: OptionTable) -> list[str]:
    """The command line of the preprocessor as the options make it; its first word is only its name."""
    command = [os.path.basename(options.text("cpppath")), *_DEFINITIONS]
    command += [f"-D{each}" for each in languages.MACROS]
    command += [f"-D{each}" for each in options.texts("define")]
    command += [f"-U{each}" for each in options.texts("undef")]
    command += [f"-I{each}" for each in options.texts("incdir")]
    for each in options.texts("cppargs"):
        command += each.split()
    if options.on("cpphdrs"):
        command.append("-H")
    if options.text("stdc") == "s":
        command.append("-traditional-cpp")
    return [*command, INPUT]


_LARGEST = 4 << 20
"""Bytes of what the preprocessor makes: a few lines of macros can become any number."""


def preprocess(text: str, options: OptionTable) -> str:
    """The text as the preprocessor leaves it; its messages go to the error output. Raises PreprocessorError."""
    # Few programs are preprocessed, and the module is a large one.

    path = options.text("cpppath")
    # A file in memory, not a pipe: writing to one that a failed preprocessor no longer reads would end us.
    with open(os.memfd_create("program"), "w+b") as file:
        file.write(without_interpreter(text).encode(errors="surrogateescape"))
        file.seek(0)
        try:
            command = preprocessor_command(options)
            with subprocess.Popen(command, executable=path, stdin=file, stdout=subprocess.PIPE) as done:
                assert done.stdout is not None
                found = done.stdout.read(_LARGEST + 1)
                if len(found) > _LARGEST:
                    done.kill()
        except OSError as error:
            hint = f"{path}: {error.strerror}; install the C preprocessor, or name one with -xcpppath=PATH"
            raise PreprocessorError("Preprocessor not found", hint=hint) from None
    if len(found) > _LARGEST:
        raise PreprocessorError(f"the preprocessor makes more than {_LARGEST >> 20} MiB of the program")
    if done.returncode:
        raise PreprocessorError("Preprocessor failed to process input program")
    return found.decode(errors="surrogateescape")


def without_interpreter(text: str) -> str:
    """A `#!` line is no directive of C; an empty one in its place keeps the numbers of the others."""
    return "\n" + text.partition("\n")[2] if text.startswith("#!") else text
