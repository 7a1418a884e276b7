"""What -V and --version print."""

from __future__ import annotations

import os
import platform
from collections.abc import Set

from sonde import __version__
from sonde.library.settings import LANGUAGE_VERSION


def version(program: str, flags: Set[str]) -> str:
    """-V: the version of the D language, in dtrace's words; more with -v. --version: that of sonde."""
    if "version_of_sonde" in flags:
        return f"sonde {__version__}\n"
    text = f"{program}: Oracle D {'.'.join(map(str, LANGUAGE_VERSION))}\n"
    if "verbose" in flags:
        system = os.uname()
        text += f"This is sonde {__version__}, Python {platform.python_version()}\n"
        text += f"on {system.sysname} {system.release} ({system.machine})\n"
    return text
