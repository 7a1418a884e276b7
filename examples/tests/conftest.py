"""As in tests/: what the cases here start is noted where somebody wants to know which modules are executed. The
`python3` of their commands is the interpreter itself: a version manager's would be a shell script, whose calls are
counted, too."""

import os
import sys

from support.suite.executed import pytest_runtest_protocol  # noqa: F401 - a hook of pytest

os.environ["PATH"] = os.pathsep.join((os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)))
