"""`python -m sonde`, and where a zip file of the package starts (python -m zipapp -m sonde.__main__:start)."""

from __future__ import annotations

import os
import sys

from sonde.cli.start import main
from sonde.typed import NoReturn


def start() -> NoReturn:
    """The file's name without its suffix is the command's: sonde.pyz, dtrace.pyz."""
    name = os.path.basename(sys.argv[0]).partition(".")[0]
    sys.argv[0] = "sonde" if name == "__main__" else name
    main()


if __name__ == "__main__":
    start()
