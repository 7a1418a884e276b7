"""-k with what is not the vmlinux of this kernel: the message says why it is not."""

import pytest

from sonde.cli.main import main

REASONS = {
    "missing": ("{}/missing", "failed to open {}/missing: No such file or directory"),
    "directory": ("{}", "failed to open {}: it is a directory"),
    "text": ("{}/text", "{}/text is no vmlinux: not a little-endian ELF file"),
    "program": ("/bin/true", "/bin/true is another's: its build id is"),
    "BTF": ("/sys/kernel/btf/vmlinux", "/sys/kernel/btf/vmlinux is this kernel's BTF, which sonde reads by itself"),
}


@pytest.mark.share(3)
@pytest.mark.parametrize("words", [["--object", "program.o"], ["-n", "BEGIN { exit(0); }"]], ids=["object", "program"])
@pytest.mark.parametrize(("path", "reason"), REASONS.values(), ids=REASONS)
def test_the_reason_is_told(tmp_path, capfd, words, path, reason):
    (tmp_path / "text").write_text("no ELF")
    assert main(["sonde", *words, "-k", path.format(tmp_path)]) == 1
    told = " ".join(capfd.readouterr().err.split())
    assert "this kernel's own vmlinux, and " + reason.format(tmp_path) in told
