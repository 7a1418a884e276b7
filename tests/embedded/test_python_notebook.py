"""Probe functions in cells of a notebook, executed by nbclient, and in IPython's terminal; without privilege."""

import subprocess
import sys

import nbclient
import nbformat
import pytest

DEFINED = """%time number = 3
from sonde import probe, count
calls = count("writes of few bytes")

@probe("syscall::write:entry")
def entered(p):
    if p.arg2 < number:
        calls[p.execname].add()
"""
RUN = """import sonde
with sonde.run(entered, command="echo a", engine="embedded") as run:
    run.wait()
dict(run.aggregations["calls"])
"""
WRONG = """# wrong
@probe("syscall::write:entry")
def entered(p):
    print(p.nothing)
"""
MISTAKE = """try:
    sonde.compile(entered, engine="embedded")
except sonde.CompileError as error:
    told = error.line, error.column, error.message
told
"""


@pytest.mark.long
def test_cells_are_sources():
    notebook = nbformat.v4.new_notebook()
    cells = (DEFINED, RUN, "number = 1", RUN, WRONG, MISTAKE)
    notebook.cells = [nbformat.v4.new_code_cell(each) for each in cells]
    nbclient.NotebookClient(notebook, timeout=None, kernel_name="python3").execute()
    said = [[output.data["text/plain"] for output in cell.outputs if "data" in output] for cell in notebook.cells]
    assert said[1] == ["{('echo',): Count(1)}"]
    assert said[3] == ["{}"]
    assert said[5] == ["(4, 13, 'a firing has no nothing')"]


TERMINAL = f"""
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
for cell in {(DEFINED.partition(chr(10))[2].replace("< number", "< 3"), RUN, WRONG, MISTAKE)!r}:
    result = shell.run_cell(cell, store_history=True)
    result.raise_error()
    print("OUT", result.result)
"""


def test_what_is_typed_in_ipython_is_a_source(tmp_path):
    words = [sys.executable, "-c", TERMINAL]
    done = subprocess.run(words, capture_output=True, text=True, env={"HOME": str(tmp_path)})
    assert done.returncode == 0, done.stderr
    outs = [line.partition("OUT ")[2] for line in done.stdout.splitlines() if line.startswith("OUT ")]
    assert outs == ["None", "{('echo',): Count(1)}", "None", "(4, 13, 'a firing has no nothing')"]
