"""The short suite: `python tests [OPTIONS OF PYTEST]`; with `--all` the long one, which has the other tests, or a share
of them that `--whole` has all of."""

import sys

from support.suite.suite import main

sys.exit(main(sys.argv[1:]))
