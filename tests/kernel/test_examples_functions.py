"""Scripts of examples/ that probe the kernel's functions, where it lets them be probed."""

import pytest
from support.command.example_run import rows, run

from sonde.engines.kernel.features import FEATURES, is_available

pytestmark = pytest.mark.every_kernel


@pytest.fixture(autouse=True)
def needs_functions():
    for name in ("kprobe", "functions"):
        if not is_available(next(feature for feature in FEATURES if feature.name == name)):
            pytest.skip("this kernel does not let its functions be probed")


def test_file_bytes(tmp_path):
    workload = """
with open("first", "wb", buffering=0) as file:
    for n in range(11): file.write(bytes(1001))
with open("first", "rb", buffering=0) as file:
    while file.read(700): pass
with open("second", "wb", buffering=0) as file: file.write(bytes(13))
"""
    output = run("file-bytes.d", workload, tmp_path)
    found = {words[0]: [int(word) for word in words[1:]] for words in rows(output)}
    assert found["first"] == [11011, 11011]
    assert found["second"] == [0, 13]
