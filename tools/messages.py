"""Write docs/messages.md: every error tag with its condition, an example and the message, from the tests' table.

Usage: python3 tools/messages.py [--check]
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

from support.d.message_page import page  # noqa: E402

PAGE = ROOT / "docs" / "messages.md"


def main() -> int:
    text = page()
    if sys.argv[1:] == ["--check"]:
        return int(PAGE.read_text() != text)
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
