"""Write the section of docs/reference.md about options from their records (sonde/model/known_options.py).

Usage: python3 tools/options.py
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

from support.d.option_page import section  # noqa: E402

PAGE = ROOT / "docs" / "reference.md"
HEADING = "\n## Options\n\n"


def main() -> int:
    before, _, rest = PAGE.read_text().partition(HEADING)
    behind = rest.partition("\n## ")[2]
    PAGE.write_text(f"{before}{HEADING}{section()}\n## {behind}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
