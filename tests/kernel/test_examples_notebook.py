"""The notebook of examples/, executed by nbclient."""

import nbclient
import nbformat
import pytest
from support.command.example_run import EXAMPLES


@pytest.mark.long
def test_reads():
    notebook = nbformat.read(EXAMPLES / "reads.ipynb", 4)
    codes = [each for each in notebook.cells if each.cell_type == "code"]
    assert not any(each.outputs for each in codes), "an example has no outputs: clear them"
    nbclient.NotebookClient(notebook, timeout=None, kernel_name="python3").execute()
    shown = ["".join(output.get("data", {}).get("text/plain", "") for output in each.outputs) for each in codes]
    assert "@bytes" in shown[1]
    assert "Flame graph of @" in shown[2]
    assert "heat" in codes[3].source
    assert any("Heat map of @bytes" in output.data["text/html"] for output in codes[3].outputs)
    assert "mean" in shown[4]
    assert "@asked" in shown[6]
