"""The manual as a script that completes the command line in bash."""

from __future__ import annotations

from sonde.cli.manual.entries import DIRECTORY, FILE, PROCESS, Command, ManualOption

_SCRIPT = """\
# Completes the command line of sonde in bash: source <(sonde completion bash)
_sonde() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} command="" at
    for ((at = 1; at < COMP_CWORD; at++)); do
        case ${{COMP_WORDS[at]}} in {names}) command=${{COMP_WORDS[at]}} ;; esac
        break
    done
    COMPREPLY=()
    case $command:$before in
{values}
    esac
    case $command:$word in
{options}
{operands}
    esac
}}
complete -F _sonde sonde
"""
_WORDS = "COMPREPLY=($(compgen -W '{words}' -- \"$word\"))"
_BY_KIND = {
    FILE: "compopt -o filenames; COMPREPLY=($(compgen -f -- \"$word\"))",
    DIRECTORY: "compopt -o filenames; COMPREPLY=($(compgen -d -- \"$word\"))",
    PROCESS: "COMPREPLY=($(compgen -W \"$(cd /proc && echo [0-9]*)\" -- \"$word\"))",
    "command": "COMPREPLY=($(compgen -c -- \"$word\"))",
}  # fmt: skip


def bash(commands: tuple[Command, ...], settings: tuple[str, ...]) -> str:
    """The script; `settings` are the names of -x."""
    others = [each.name for each in commands if each.name]
    return _SCRIPT.format(
        names="|".join(others),
        values="\n".join(line for each in commands for line in _values(each, settings)),
        options="\n".join(_line(f"{each.name}:-*", _words(_names(each))) for each in commands),
        operands="\n".join(_operands(each, others) for each in commands),
    )


def _options(of: Command) -> tuple[ManualOption, ...]:
    return tuple(option for section in of.sections for option in section.options)


def _names(of: Command) -> list[str]:
    names = [name for option in _options(of) for name in option.names]
    return names if "--help" in names else [*names, "--help"]


def _values(of: Command, settings: tuple[str, ...]) -> list[str]:
    """A line for each option with a value."""
    lines = []
    for option in _options(of):
        if option.value and option.names != ("--",) and not option.value.startswith("["):
            pattern = "|".join(f"{of.name}:{name}" for name in option.names)
            lines.append(_line(pattern, _completes(option, settings) + "; return"))
    return lines


def _completes(option: ManualOption, settings: tuple[str, ...]) -> str:
    if not option.choices:
        return ":"
    kind = option.choices[0]
    if kind == "setting":
        return _words(settings)
    return _BY_KIND[kind] if kind in _BY_KIND else _words(option.choices)


def _operands(of: Command, others: list[str]) -> str:
    if not of.name:
        first = '[ "$COMP_CWORD" = 1 ] && COMPREPLY+=($(compgen -W \'' + " ".join(others) + '\' -- "$word"))'
        return _line(":*", f"{_BY_KIND[FILE]}; {first}")
    return _line(f"{of.name}:*", _BY_KIND[FILE] if of.operands == (FILE,) else _words(of.operands))


def _words(words: list[str] | tuple[str, ...]) -> str:
    return _WORDS.format(words=" ".join(words))


def _line(pattern: str, action: str) -> str:
    return f"        {pattern}) {action} ;;"
