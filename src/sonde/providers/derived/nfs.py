"""What nfsv3 and nfsv4 have in common: reading and writing of the kernel's NFS server (fs/nfsd/trace.h).

An operation starts, for these probes, when its file has been found and opened, as only then the server knows which it
is. Its last values are for the translators: where the transfer begins, the file's handle, and the error, less than 0.
"""

from __future__ import annotations

from sonde.providers.derived.definition import Absent, Definition, Definitions, NativeArgument, ShownArgument

_CONNECTION = ShownArgument("conninfo_t *", 0)


def _operation(event: str, version: int, shown: str, count: str, status: str = "0", *more: Definition) -> Definition:
    values = (
        NativeArgument("struct svc_rqst *", "args->rqstp"),
        NativeArgument("struct svc_rqst *", "args->rqstp"),
        NativeArgument("uint32_t", count),
        NativeArgument("uint64_t", "args->offset"),
        NativeArgument("struct svc_fh *", "args->fhp"),
        NativeArgument("int", status),
    )
    arguments = (_CONNECTION, ShownArgument(f"nfsv{version}opinfo_t *", 1), ShownArgument(f"{shown} *", 2))
    return Definition(event, f"args->rqstp->rq_vers == {version}", values, arguments, (), more)


def definitions(version: int) -> Definitions:
    """The probes of the server's operations in that version of the protocol."""
    read, write = f"READ{version}", f"WRITE{version}"
    read_vector = _operation("nfsd_read_vector", version, f"{read}args", "args->len")
    read_failed = _operation("nfsd_read_err", version, f"{read}res", "0", "args->status")
    write_failed = _operation("nfsd_write_err", version, f"{write}res", "0", "args->status")
    return {
        "op-read-start": (_operation("nfsd_read_splice", version, f"{read}args", "args->len", "0", read_vector),),
        "op-read-done": (_operation("nfsd_read_io_done", version, f"{read}res", "args->len", "0", read_failed),),
        "op-write-start": (_operation("nfsd_write_opened", version, f"{write}args", "args->len"),),
        "op-write-done": (_operation("nfsd_write_io_done", version, f"{write}res", "args->len", "0", write_failed),),
    }


ABSENT: Absent = {
    "op-*": "Linux's NFS server has tracepoints for reading and writing: op-read-start, -done, op-write-start, -done;\n"
    "rawtp:::nfsd_compound_status fires for each operation of version 4, args->name is which"
}
