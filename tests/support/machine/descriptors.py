"""What the kernel tells of another process's descriptors."""

import re
from contextlib import suppress
from pathlib import Path


def bpf_objects(pid):
    """The BPF objects that a process holds, as ("prog_id", "7"). A descriptor closed meanwhile holds nothing."""
    found = set()
    for path in Path(f"/proc/{pid}/fdinfo").iterdir():
        with suppress(FileNotFoundError):
            found |= set(re.findall(r"^(prog_id|map_id|link_id):\s*(\d+)$", path.read_text(), re.MULTILINE))
    return found
