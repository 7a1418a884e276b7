"""Write docs/sonde.1, the manual page, from what --help is made of: `python3 tools/manual.py`."""

from pathlib import Path

from sonde.cli.manual.commands import OTHERS
from sonde.cli.manual.man import page
from sonde.cli.manual.tracing import TRACING

PATH = Path(__file__).parents[1] / "docs" / "sonde.1"


def main():
    PATH.write_text(page(TRACING, OTHERS))


if __name__ == "__main__":
    main()
