"""Directories of the checkout, as absolute paths."""

from pathlib import Path

SUPPORT = Path(__file__).resolve().parent
TESTS = SUPPORT.parent
ROOT = TESTS.parent
SOURCES = ROOT / "src"
EXAMPLES = ROOT / "examples"
PAGES = ROOT / "docs"
TOOLS = ROOT / "tools"
PROGRAMS = TESTS / "programs"
"""Programs that tests compile or run."""
