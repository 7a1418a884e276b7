"""The `nfsv4` provider: what clients ask the kernel's NFS server for in version 4 of the protocol."""

from __future__ import annotations

from sonde.providers.derived import nfs
from sonde.providers.derived.definition import Definitions

DEFINITIONS: Definitions = nfs.definitions(4)
ABSENT = nfs.ABSENT
