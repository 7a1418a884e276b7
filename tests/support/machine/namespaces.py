"""Namespaces of a test's own, where the user may make them: an ordinary user may not below another root directory."""

import os
import subprocess

import pytest

from support.machine import packages


def unshared(*options, in_user_namespace=False):
    """The words before a command that runs it in new namespaces, an ordinary user's in a user namespace, too."""
    packages.require("unshare")
    words = ["unshare", *(["-Ur"] if in_user_namespace or os.getuid() else []), *options]
    done = subprocess.run([*words, "true"], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"this user may not make such namespaces: {done.stderr.strip()}")
    return words
