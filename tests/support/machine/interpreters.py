"""Interpreters of Python on this machine, by version: whatever is called so, or that pyenv has made."""

import glob
import os
import shutil

import pytest

VERSIONS = ("3.9", "3.10", "3.11", "3.12", "3.13", "3.14")
DISTRIBUTIONS = "the distribution's"
"""Stripped, and all of it one program."""


def interpreter(version):
    """The path of an interpreter; skips where there is none."""
    if version == DISTRIBUTIONS:
        found = next((each for each in ("/usr/bin/python3",) if os.access(each, os.X_OK)), None)
    else:
        # What is on the path may be a script that chooses among versions.
        made = glob.glob(os.path.expanduser(f"~/.pyenv/versions/{version}.*/bin/python{version}"))
        found = max(made, default=None) or shutil.which(f"python{version}")
    if found is None:
        pytest.skip(f"there is no Python {version} here")
    return found
