"""Modules of sonde and hypothesis are loaded as they are compiled.

pytest rewrites the asserts of every package that brings a plugin. It parses and compiles each of 1,400 modules for
that, in each process, some ten seconds, and their asserts are not what tests fail by.
"""

import sys

for finder in sys.meta_path:
    getattr(finder, "_must_rewrite", set()).difference_update(("sonde", "hypothesis"))
